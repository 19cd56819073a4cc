//! `Fault` for errors whose type is hidden: the chain of sources is searched for what is known.

use crate::{Fault, RetryError, TimedOut};
use core::fmt;
use std::{error::Error, io};

/// The first error, from the outside in, that says something about itself: one that `named` knows,
/// or one of the types that this crate knows.
pub(crate) fn first_known<'e>(
    first: &'e (dyn Error + 'static),
    named: &impl Fn(&'e (dyn Error + 'static)) -> Option<&'e dyn Fault>,
) -> Option<&'e dyn Fault> {
    let mut next = Some(first);
    while let Some(error) = next {
        if let Some(fault) = named(error) {
            return Some(fault);
        }
        if let Some(io) = error.downcast_ref::<io::Error>() {
            // An error made with `io::Error::new` hides another one, which its `source` leaves out.
            let hidden = io.get_ref().map(|inner| inner as &(dyn Error + 'static));
            let inner = hidden.and_then(|inner| first_known(inner, named));
            return Some(inner.unwrap_or(io));
        }
        if let Some(fault) = of_a_client(error) {
            return Some(fault);
        }
        next = error.source();
    }
    None
}

fn of_a_client<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e dyn Fault> {
    macro_rules! first_of {
        ($($(#[$when:meta])* $known:ty),+ $(,)?) => {
            $(
                $(#[$when])*
                if let Some(fault) = as_fault::<$known>(error) {
                    return Some(fault);
                }
            )+
        };
    }
    first_of![
        TimedOut,
        RetryError<io::Error>,
        #[cfg(feature = "reqwest-013")]
        reqwest_013::Error,
    ];
    None
}

/// The error as one of this type, or as what a retry of it that was given up hands back.
pub fn as_fault<'e, T: Fault + Error + 'static>(
    error: &'e (dyn Error + 'static),
) -> Option<&'e dyn Fault> {
    let itself = error.downcast_ref::<T>().map(|fault| fault as &dyn Fault);
    itself.or_else(|| {
        let given_up = error.downcast_ref::<RetryError<T>>();
        given_up.map(|fault| fault as &dyn Fault)
    })
}

/// An error that hides its type, or one that has sources.
pub trait Chain {
    /// Where the chain begins.
    fn first(&self) -> &(dyn Error + 'static);
}

macro_rules! hidden {
    ($($hidden:ty),+) => {
        $(
            impl Chain for $hidden {
                fn first(&self) -> &(dyn Error + 'static) {
                    &**self
                }
            }

            /// What is known of it is looked for along its chain of sources: [`TimedOut`],
            /// `io::Error`, the errors of the clients whose features are on, and the
            /// [`RetryError`] of each. If nothing is found it says nothing, and is permanent to a
            /// policy; the key `faults(..)` of `#[retry]` names types of your own.
            impl Fault for $hidden {
                fn inner(&self) -> Option<&dyn Fault> {
                    first_known(self.first(), &|_| None)
                }

                fn message(&self) -> Option<&dyn fmt::Display> {
                    Some(self)
                }
            }
        )+
    };
}

hidden!(
    Box<dyn Error>,
    Box<dyn Error + Send>,
    Box<dyn Error + Send + Sync>
);

#[cfg(feature = "anyhow-1")]
hidden!(anyhow_1::Error);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Policy, Report, StopReason, Transport, Verdict, codes};
    use io::ErrorKind;

    const POLICY: Policy = Policy::exponential().on(codes![503]);

    #[derive(Debug)]
    struct Around<E>(E);

    impl<E> fmt::Display for Around<E> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("around another error")
        }
    }

    impl<E: Error + 'static> Error for Around<E> {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[derive(Debug)]
    struct Api(u16);

    impl fmt::Display for Api {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "status {}", self.0)
        }
    }

    impl Error for Api {}

    impl Fault for Api {
        fn status(&self) -> Option<u16> {
            Some(self.0)
        }
    }

    fn hide(error: impl Error + Send + Sync + 'static) -> Box<dyn Error + Send + Sync> {
        Box::new(error)
    }

    fn given_up<E>(error: E) -> RetryError<E> {
        let report = Report {
            attempts: 3,
            elapsed: Default::default(),
            slept: Default::default(),
        };
        RetryError::new(error, StopReason::Attempts, report)
    }

    #[test]
    fn what_is_known_is_found_anywhere_in_the_chain() {
        let late = || TimedOut::new(Default::default());
        for error in [hide(late()), hide(Around(Around(late())))] {
            assert_eq!(error.transport(), Some(Transport::MaybeSent));
            assert_ne!(POLICY.judge(&error), Verdict::Permanent);
        }
        let refused = || io::Error::from(ErrorKind::ConnectionRefused);
        assert_eq!(
            hide(Around(refused())).transport(),
            Some(Transport::NotSent)
        );
        let plain: Box<dyn Error> = Box::new(Around(refused()));
        assert_eq!(plain.transport(), Some(Transport::NotSent));
    }

    #[test]
    fn what_is_found_nowhere_says_nothing() {
        let error = hide(Around(Api(503)));
        assert_eq!(POLICY.judge(&error), Verdict::Permanent);
        assert_eq!(error.message().unwrap().to_string(), "around another error");
    }

    #[test]
    fn a_named_type_is_found_too_also_inside_an_io_error() {
        let status = |error: Box<dyn Error + Send + Sync>| {
            first_known(error.first(), &as_fault::<Api>).and_then(|fault| fault.status())
        };
        assert_eq!(status(hide(Api(503))), Some(503));
        assert_eq!(status(hide(Around(Api(503)))), Some(503));
        assert_eq!(
            status(hide(Around(io::Error::other(Around(Api(429)))))),
            Some(429)
        );
        assert_eq!(status(hide(Around(io::Error::other("plain")))), None);
    }

    #[test]
    fn an_inner_retry_that_was_given_up_is_not_repeated() {
        let error = hide(Around(given_up(io::Error::from(ErrorKind::TimedOut))));
        assert_eq!(POLICY.judge(&error), Verdict::Permanent);
        let error = hide(given_up(Api(503)));
        let fault = first_known(error.first(), &as_fault::<Api>).unwrap();
        assert_eq!(POLICY.judge(fault), Verdict::Permanent);
    }
}
