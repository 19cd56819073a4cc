//! The facts of an error whose type only the user's code knows, and the values that a derived `Fault`
//! reads.

use crate::facts::{
    fault::{Fault, FaultKind},
    grpc::GrpcCode,
};
use core::{marker::PhantomData, time::Duration};
#[cfg(feature = "std")]
use std::error::Error;

#[cfg(feature = "std")]
pub use crate::clients::boxed::{Cause, Chain};

/// An error whose facts are searched for: see [`via`].
#[derive(Debug)]
pub struct Facts<'e, E>(pub &'e E);

impl<E> Clone for Facts<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Facts<'_, E> {}

/// A type that the key `faults` names, or that derives `Fault`.
#[derive(Debug)]
pub struct Named<T>(PhantomData<T>);

impl<T> Named<T> {
    /// The error as that type.
    #[must_use]
    pub fn of() -> Self {
        Named(PhantomData)
    }
}

/// An error that the key `faults` can search.
#[diagnostic::on_unimplemented(
    message = "`faults(..)` searches the sources of an error, and `{Self}` has none",
    label = "`{Self}` is not a `std::error::Error`",
    note = "return an error that implements `std::error::Error`, or `anyhow::Error`, or `Box<dyn Error + Send + Sync>`; or decide with `when = |error| ..`"
)]
pub trait HasSources {}

#[cfg(feature = "std")]
impl<E: Error + 'static> HasSources for E {}

/// `(&Facts(error)).__backoff_itself()` finds a `Fault`, and returns `None` for any other type: the
/// compiler tries a method for `Facts` before a method for `&Facts`, and that one before a method that
/// takes `Facts` by value.
pub mod via {
    #[cfg(feature = "std")]
    use super::{Cause, HasSources};
    use super::{Facts, Named};
    use crate::facts::fault::{Fault, TimedOut};
    use core::fmt;
    #[cfg(feature = "std")]
    use std::error::Error;

    /// For an error that is a `Fault`.
    pub trait ViaItself<'e> {
        /// The error itself.
        fn __backoff_itself(&self) -> Option<&'e dyn Fault>;
    }

    impl<'e, E: Fault> ViaItself<'e> for Facts<'e, E> {
        fn __backoff_itself(&self) -> Option<&'e dyn Fault> {
            Some(self.0)
        }
    }

    /// For any other error.
    pub trait ViaNobody<'e> {
        /// Nothing.
        fn __backoff_itself(&self) -> Option<&'e dyn Fault>;
    }

    impl<'e, E> ViaNobody<'e> for &Facts<'e, E> {
        fn __backoff_itself(&self) -> Option<&'e dyn Fault> {
            None
        }
    }

    /// For an error that hides its type.
    #[cfg(feature = "std")]
    pub trait ViaHidden<'e> {
        /// The first error of its chain of sources.
        fn __backoff_first(&self) -> Cause<'e>;
    }

    #[cfg(feature = "std")]
    impl<'e, E: super::Chain> ViaHidden<'e> for &Facts<'e, E> {
        fn __backoff_first(&self) -> Cause<'e> {
            self.0.first()
        }
    }

    /// For an error with sources.
    #[cfg(feature = "std")]
    pub trait ViaError<'e> {
        /// The first error of its chain of sources.
        fn __backoff_first(&self) -> Cause<'e>;
    }

    #[cfg(feature = "std")]
    impl<'e, E: Error + 'static> ViaError<'e> for Facts<'e, E> {
        fn __backoff_first(&self) -> Cause<'e> {
            Cause::new(self.0)
        }
    }

    /// For any other error: this method asks for sources, so that the compiler says that there are none.
    #[cfg(feature = "std")]
    pub trait ViaNoError<'e, E> {
        /// Never called.
        fn __backoff_first(self) -> Cause<'e>
        where
            E: HasSources;
    }

    #[cfg(feature = "std")]
    impl<'e, E> ViaNoError<'e, E> for Facts<'e, E> {
        fn __backoff_first(self) -> Cause<'e>
        where
            E: HasSources,
        {
            Cause::new(&core::fmt::Error)
        }
    }

    /// For a type that `anyhow::Error` can hold.
    #[cfg(feature = "std")]
    pub trait ViaShared<T> {
        /// The error as one of this type.
        fn __backoff_as_fault<'e>(&self, cause: Cause<'e>) -> Option<&'e dyn Fault>
        where
            T: Fault + Error;
    }

    #[cfg(feature = "std")]
    impl<T: Send + Sync + 'static> ViaShared<T> for Named<T> {
        fn __backoff_as_fault<'e>(&self, cause: Cause<'e>) -> Option<&'e dyn Fault>
        where
            T: Fault + Error,
        {
            crate::clients::boxed::as_fault::<T>(cause)
        }
    }

    /// For a type that is not `Send`.
    #[cfg(feature = "std")]
    pub trait ViaOwn<T> {
        /// The error as one of this type.
        fn __backoff_as_fault<'e>(&self, cause: Cause<'e>) -> Option<&'e dyn Fault>
        where
            T: Fault + Error;
    }

    #[cfg(feature = "std")]
    impl<T: 'static> ViaOwn<T> for &Named<T> {
        fn __backoff_as_fault<'e>(&self, cause: Cause<'e>) -> Option<&'e dyn Fault>
        where
            T: Fault + Error,
        {
            crate::clients::boxed::as_own_fault::<T>(cause)
        }
    }

    /// For an error that can be made of a call that ends before an attempt.
    pub trait ViaTimedOut<T> {
        /// How the error is made.
        fn __backoff_late(&self) -> Option<fn(TimedOut) -> T>;
    }

    impl<T: From<TimedOut>> ViaTimedOut<T> for Named<T> {
        fn __backoff_late(&self) -> Option<fn(TimedOut) -> T> {
            Some(T::from)
        }
    }

    /// For any other error.
    pub trait ViaNoTimedOut<T> {
        /// None.
        fn __backoff_late(&self) -> Option<fn(TimedOut) -> T>;
    }

    impl<T> ViaNoTimedOut<T> for &Named<T> {
        fn __backoff_late(&self) -> Option<fn(TimedOut) -> T> {
            None
        }
    }

    /// For an error with a text.
    pub trait ViaText<'e> {
        /// The text of the error.
        fn __backoff_text(&self) -> Option<&'e dyn fmt::Display>;
    }

    impl<'e, E: fmt::Display> ViaText<'e> for Facts<'e, E> {
        fn __backoff_text(&self) -> Option<&'e dyn fmt::Display> {
            Some(self.0)
        }
    }

    /// For an error without a text.
    pub trait ViaSilence<'e> {
        /// None.
        fn __backoff_text(&self) -> Option<&'e dyn fmt::Display>;
    }

    impl<'e, E> ViaSilence<'e> for &Facts<'e, E> {
        fn __backoff_text(&self) -> Option<&'e dyn fmt::Display> {
            None
        }
    }
}

/// The facts that the key `faults` finds along the sources of an error; `None` if it finds nothing.
#[cfg(feature = "std")]
pub fn among<'e>(
    first: Cause<'e>,
    named: impl Fn(Cause<'e>) -> Option<&'e dyn Fault>,
) -> Option<&'e dyn Fault> {
    crate::clients::boxed::first_known(first, &named)
}

/// A number, a code or a time that a derived `Fault` reads from a field or an expression.
#[diagnostic::on_unimplemented(
    message = "this key of `#[fault]` needs `{T}` or `Option<{T}>`, not `{Self}`",
    label = "this is `{Self}`",
    note = "write an expression of that type: `status = self.code.as_u16()`, `retry_after = Duration::from_secs(self.seconds)`"
)]
pub trait Fact<T> {
    /// The value, if the field or expression has one.
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

facts!(u16, GrpcCode, Duration, FaultKind);

macro_rules! statuses {
    ($($number:ty),+) => {
        $(
            /// A number beyond `u16` counts as no status.
            impl Fact<u16> for $number {
                #[inline]
                fn fact(&self) -> Option<u16> {
                    u16::try_from(*self).ok()
                }
            }

            impl Fact<u16> for Option<$number> {
                #[inline]
                fn fact(&self) -> Option<u16> {
                    (*self)?.fact()
                }
            }
        )+
    };
}

statuses!(i16, i32, i64, isize, u32, u64, usize);

/// A field whose error has the facts that the attributes do not give.
#[diagnostic::on_unimplemented(
    message = "`forward` needs a field that is a `Fault`, and `{Self}` is not",
    label = "this is neither a `Fault` nor an `Option` of one",
    note = "derive `Fault` for it, or remove `forward` and write the facts here: `#[fault(status = 503)]`"
)]
pub trait Forward {
    /// The error inside, if there is one.
    fn forward(&self) -> Option<&dyn Fault>;
}

impl<E: Fault> Forward for E {
    #[inline]
    fn forward(&self) -> Option<&dyn Fault> {
        Some(self)
    }
}

impl<E: Fault> Forward for Option<E> {
    #[inline]
    fn forward(&self) -> Option<&dyn Fault> {
        self.as_ref().map(|error| error as &dyn Fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_may_be_any_integer() {
        assert_eq!(Fact::<u16>::fact(&503_i32), Some(503));
        assert_eq!(Fact::<u16>::fact(&Some(503_u64)), Some(503));
        assert_eq!(Fact::<u16>::fact(&-1_i16), None);
        assert_eq!(Fact::<u16>::fact(&70_000_usize), None);
        assert_eq!(Fact::<u16>::fact(&None::<u32>), None);
    }

    #[test]
    fn an_option_is_asked_for_what_it_holds() {
        let late = crate::TimedOut::new(Duration::ZERO);
        assert!(late.forward().is_some() && Some(late).forward().is_some());
        assert!(None::<crate::TimedOut>.forward().is_none());
    }
}
