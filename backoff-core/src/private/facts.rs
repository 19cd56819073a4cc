//! What is known of an error whose type only the user's code knows, and what a derived `Fault` reads.

use crate::{Class, Fault, GrpcCode, judge::Known};
use core::time::Duration;
#[cfg(feature = "std")]
use std::error::Error;

#[cfg(feature = "std")]
pub use crate::clients::boxed::{Chain, as_fault};

/// An error whose facts are looked for: see [`via`].
#[derive(Debug)]
pub struct Facts<'e, E>(pub &'e E);

/// `(&Facts(error)).known()` finds the facts of a `Fault`, and none of any other type: a method for
/// `Facts` itself is tried before one for a reference to it.
pub mod via {
    use super::Facts;
    use crate::{Fault, judge::Known};
    use core::fmt;
    #[cfg(feature = "std")]
    use std::error::Error;

    /// For an error that is a `Fault`.
    pub trait ViaFault<'e> {
        /// All it tells.
        fn known(&self) -> Known<'e>;
    }

    impl<'e, E: Fault> ViaFault<'e> for Facts<'e, E> {
        fn known(&self) -> Known<'e> {
            Known::of(self.0)
        }
    }

    /// For any other error.
    pub trait ViaNothing<'e> {
        /// Nothing.
        fn known(&self) -> Known<'e>;
    }

    impl<'e, E> ViaNothing<'e> for &Facts<'e, E> {
        fn known(&self) -> Known<'e> {
            Known::default()
        }
    }

    /// For an error that is a `Fault`.
    pub trait ViaItself<'e> {
        /// Itself.
        fn itself(&self) -> Option<&'e dyn Fault>;
    }

    impl<'e, E: Fault> ViaItself<'e> for Facts<'e, E> {
        fn itself(&self) -> Option<&'e dyn Fault> {
            Some(self.0)
        }
    }

    /// For any other error.
    pub trait ViaNobody<'e> {
        /// Nothing.
        fn itself(&self) -> Option<&'e dyn Fault>;
    }

    impl<'e, E> ViaNobody<'e> for &Facts<'e, E> {
        fn itself(&self) -> Option<&'e dyn Fault> {
            None
        }
    }

    /// For an error that hides its type.
    #[cfg(feature = "std")]
    pub trait ViaHidden<'e> {
        /// Where its chain of sources begins.
        fn first(&self) -> &'e (dyn Error + 'static);
    }

    #[cfg(feature = "std")]
    impl<'e, E: super::Chain> ViaHidden<'e> for &Facts<'e, E> {
        fn first(&self) -> &'e (dyn Error + 'static) {
            self.0.first()
        }
    }

    /// For an error with sources.
    #[cfg(feature = "std")]
    pub trait ViaError<'e> {
        /// Where its chain of sources begins.
        fn first(&self) -> &'e (dyn Error + 'static);
    }

    #[cfg(feature = "std")]
    impl<'e, E: Error + 'static> ViaError<'e> for Facts<'e, E> {
        fn first(&self) -> &'e (dyn Error + 'static) {
            self.0
        }
    }

    /// For an error with a text.
    pub trait ViaText<'e> {
        /// Its text.
        fn text(&self) -> Option<&'e dyn fmt::Display>;
    }

    impl<'e, E: fmt::Display> ViaText<'e> for Facts<'e, E> {
        fn text(&self) -> Option<&'e dyn fmt::Display> {
            Some(self.0)
        }
    }

    /// For any other.
    pub trait ViaSilence<'e> {
        /// None.
        fn text(&self) -> Option<&'e dyn fmt::Display>;
    }

    impl<'e, E> ViaSilence<'e> for &Facts<'e, E> {
        fn text(&self) -> Option<&'e dyn fmt::Display> {
            None
        }
    }
}

/// What is found along the sources of an error, by the key `faults`; `None` if it is nothing.
#[cfg(feature = "std")]
pub fn among<'e>(
    first: &'e (dyn Error + 'static),
    named: impl Fn(&'e (dyn Error + 'static)) -> Option<&'e dyn Fault>,
) -> Option<&'e dyn Fault> {
    crate::clients::boxed::first_known(first, &named)
}

/// What is known of a fault, or nothing.
pub fn known_of(fault: Option<&dyn Fault>) -> Known<'_> {
    fault.map_or_else(Known::default, Known::of)
}

/// A number, a code or a time that a derived `Fault` reads from a field or an expression.
#[diagnostic::on_unimplemented(
    message = "a fault reads `{T}` here, or `Option<{T}>`, and not `{Self}`",
    label = "this is `{Self}`",
    note = "write an expression: `status = u16::from(self.code)`, `retry_after = Duration::from_secs(self.seconds)`"
)]
pub trait Fact<T> {
    /// The value, if there is one.
    fn fact(&self) -> Option<T>;
}

macro_rules! facts {
    ($($fact:ty),+) => {
        $(
            impl Fact<$fact> for $fact {
                #[inline]
                fn fact(&self) -> Option<$fact> {
                    Some(*self)
                }
            }

            impl Fact<$fact> for Option<$fact> {
                #[inline]
                fn fact(&self) -> Option<$fact> {
                    *self
                }
            }
        )+
    };
}

facts!(u16, GrpcCode, Duration, Class);
