//! The chain behind a client's error, and checks of its text for types that cannot be named.

use core::fmt;
#[cfg(any(
    feature = "aws-smithy-1",
    feature = "gax-1",
    feature = "hyper-util-01",
    feature = "reqwest-012",
    feature = "reqwest-013",
    feature = "tonic-014",
    test
))]
use std::{error::Error, io, iter};

/// An error and its sources, from the outside in. The chain includes the inner error of an `io::Error`,
/// which its `source` leaves out.
#[cfg(any(
    feature = "aws-smithy-1",
    feature = "gax-1",
    feature = "hyper-util-01",
    feature = "reqwest-012",
    feature = "reqwest-013",
    feature = "tonic-014",
    test
))]
pub(crate) fn chain<'e>(
    error: &'e (dyn Error + 'static),
) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    iter::successors(Some(error), |&link| {
        let io = link.downcast_ref::<io::Error>();
        match io.and_then(io::Error::get_ref) {
            Some(hidden) => Some(hidden),
            None => link.source(),
        }
    })
}

/// Whether a TLS handshake failed because the server's certificate is not trusted, has expired or
/// belongs to another server. The beginning of rustls' text decides: naming the type would add rustls
/// for users without TLS.
#[cfg(any(
    feature = "gax-1",
    feature = "hyper-util-01",
    feature = "aws-smithy-1",
    feature = "reqwest-012",
    feature = "reqwest-013",
    feature = "tonic-014"
))]
pub(crate) fn is_untrusted_certificate(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(|link| begins_with(link, "invalid peer certificate"))
}

/// Whether the text begins with `beginning`, without allocating the text.
pub(crate) fn begins_with(text: &(impl fmt::Display + ?Sized), beginning: &str) -> bool {
    struct Awaited<'a>(&'a str);

    impl fmt::Write for Awaited<'_> {
        fn write_str(&mut self, part: &str) -> fmt::Result {
            if let Some(rest) = self.0.strip_prefix(part) {
                self.0 = rest;
                return Ok(());
            }
            if part.starts_with(self.0) {
                self.0 = "";
            }
            // The result is known, so the rest of the text does not matter.
            Err(fmt::Error)
        }
    }

    let mut awaited = Awaited(beginning);
    // The error only ends the writing.
    let _ = fmt::write(&mut awaited, format_args!("{text}"));
    awaited.0.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_found_however_the_text_is_written() {
        let text = format_args!("{}{}: {}", "no", " such", "name");
        for beginning in ["", "n", "no", "no s", "no such", "no such: name"] {
            assert!(begins_with(&text, beginning), "{beginning:?}");
        }
        for other in ["such", "no such: name.", "nos", "No"] {
            assert!(!begins_with(&text, other), "{other:?}");
        }
    }

    #[test]
    fn what_an_io_error_was_made_of_is_a_link_of_the_chain() {
        let inside = io::Error::other("the cause");
        let around = io::Error::other(io::Error::other(inside));
        let texts: Vec<_> = chain(&around).map(|link| link.is::<io::Error>()).collect();
        assert_eq!(texts, [true, true, true, false]);
        assert_eq!(chain(&around).last().unwrap().to_string(), "the cause");
    }
}
