//! The chain behind a client's error, and checks of its text for types that cannot be named.

// The features decide which of these are used.
#![allow(dead_code)]

use core::fmt;
use std::{error::Error, io, iter};

/// An error and its sources, from the outside in. The chain includes the inner error of an `io::Error`,
/// which its `source` leaves out.
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

/// The beginnings of the texts of failures that the program's own configuration causes, so that no wait
/// helps. The texts decide, because the types are private, or would add their crates for users of other
/// clients.
const OWN_CONFIGURATION: [&str; 10] = [
    // hyper-util: an `https` URL without TLS, a URL without a scheme or a host.
    "invalid URL, ",
    // hyper-rustls.
    "unsupported scheme",
    "missing scheme",
    "invalid dns name",
    // tonic.
    "Connecting to HTTPS without TLS enabled",
    // rustls: not trusted, expired, or of another server.
    "invalid peer certificate",
    // hyper-util's proxies; the first one is the proxy's 407.
    "tunnel error: proxy authorization required",
    "tunnel error: missing destination host",
    "SOCKS error: missing destination",
    "SOCKS error: credentials not accepted",
];

/// Whether no connection was made because of the program's own configuration. OpenSSL gives its reason in
/// the middle of a text.
pub(crate) fn is_own_configuration(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(|link| {
        let text = link.to_string();
        OWN_CONFIGURATION.iter().any(|it| text.starts_with(it))
            || text.contains("certificate verify failed")
    })
}

/// Whether the text of an error begins with `beginning`.
pub(crate) fn begins_with(error: &(impl fmt::Display + ?Sized), beginning: &str) -> bool {
    error.to_string().starts_with(beginning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_io_error_was_made_of_is_a_link_of_the_chain() {
        let inside = io::Error::other("the cause");
        let around = io::Error::other(io::Error::other(inside));
        let texts: Vec<_> = chain(&around).map(|link| link.is::<io::Error>()).collect();
        assert_eq!(texts, [true, true, true, false]);
        assert_eq!(chain(&around).last().unwrap().to_string(), "the cause");
    }

    #[test]
    fn a_failure_of_ones_own_configuration_is_known_by_its_text() {
        let behind = |text: &str| io::Error::other(io::Error::other(text.to_owned()));
        let openssl = "error:0A000086:SSL routines:tls_post_process_server_certificate:certificate \
                       verify failed:../ssl/statem/statem_clnt.c:1889: (self-signed certificate)";
        for text in OWN_CONFIGURATION.into_iter().chain([openssl]) {
            assert!(is_own_configuration(&behind(text)), "{text}");
        }
        for text in [
            "tls handshake eof",
            "tunnel error: unsuccessful",
            "tunnel error: unexpected end of file",
            "SOCKS error: host unreachable",
            "received fatal alert: InternalError",
            "failed to lookup address information: Name or service not known",
        ] {
            assert!(!is_own_configuration(&behind(text)), "{text}");
        }
    }
}
