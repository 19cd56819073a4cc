//! The errors that a key makes: each key says which `From` the function's error needs.

use crate::{
    call::{settings::until::NotYet, signal::Stopped},
    facts::fault::{Fault, TimedOut},
};
use core::{marker::PhantomData, time::Duration};

/// How the error is made of a call that ends before an attempt; nothing if no error can be made.
pub(super) type Late<E> = Option<fn(TimedOut) -> E>;

/// A key needs the error.
#[inline]
#[must_use]
pub fn by_key<E: FromTimedOut>() -> Late<E> {
    Some(E::made_from)
}

/// The error of a call that ends before an attempt, without a key that needs it. `W` says whether the error is asked. Both
/// types are known only from the attempt, which is written after the first use of this.
pub struct LateBy<W, E>(PhantomData<fn() -> (W, E)>);

/// Whether an error is asked how it is made.
pub trait Asked<E> {
    /// How it is made.
    fn late() -> Late<E>;
}

/// The error is a `Fault`.
pub struct Itself;

/// Nothing is known about the error.
pub struct Nobody;

impl<E: Fault> Asked<E> for Itself {
    #[inline]
    fn late() -> Late<E> {
        E::late()
    }
}

impl<E> Asked<E> for Nobody {
    #[inline]
    fn late() -> Late<E> {
        None
    }
}

impl<W, E> LateBy<W, E> {
    /// Nothing is known yet.
    #[expect(clippy::new_without_default, reason = "only written code calls this")]
    #[inline]
    #[must_use]
    pub const fn new() -> Self {
        LateBy(PhantomData)
    }

    /// After the attempt: says whether the error is asked.
    #[inline]
    pub fn is(&self, _asked: W) {}

    /// How the error is made.
    #[inline]
    pub fn late(&self) -> Late<E>
    where
        W: Asked<E>,
    {
        W::late()
    }

    /// The longest wait for a turn; nothing if no error can be made when this time is over.
    #[inline]
    pub fn max_queue_time(&self) -> Option<Duration>
    where
        W: Asked<E>,
    {
        W::late().map(|_| Duration::MAX)
    }
}

macro_rules! made_from {
    ($($name:ident($cause:ty): $message:literal, $label:literal, $implementation:literal, $else:literal;)*) => {$(
        #[doc = $message]
        #[diagnostic::on_unimplemented(message = $message, label = $label, note = $implementation, note = $else)]
        pub trait $name {
            /// Makes the error.
            fn made_from(cause: $cause) -> Self;
        }

        impl<E: From<$cause>> $name for E {
            #[inline]
            fn made_from(cause: $cause) -> Self {
                cause.into()
            }
        }
    )*};
}

made_from! {
    FromNotYet(NotYet): "`until` needs `From<NotYet>` for `{Self}`",
        "`{Self}` cannot be made from `NotYet`",
        "`impl From<NotYet> for {Self} {{ fn from(not_yet: NotYet) -> Self {{ .. }} }}`, or a variant with `#[from] NotYet`",
        "an error of another crate needs a wrapper of your own";
    FromTimedOut(TimedOut): "`timeout`, `attempt_timeout`, `max_queue_time`, `rate` and `breaker` need `From<TimedOut>` for `{Self}`",
        "`{Self}` cannot be made from `TimedOut`",
        "`impl From<TimedOut> for {Self} {{ fn from(late: TimedOut) -> Self {{ .. }} }}`, or a variant with `#[from] TimedOut`",
        "for an error of another crate, write an error of your own around it, or use `deadline` with `attempt = n` and pass `n.remaining()` to the client as its timeout";
    FromStopped(Stopped): "`cut_on` needs `From<Stopped>` for `{Self}`",
        "`{Self}` cannot be made from `Stopped`",
        "`impl From<Stopped> for {Self} {{ fn from(stopped: Stopped) -> Self {{ .. }} }}`, or a variant with `#[from] Stopped`",
        "for an error of another crate, write an error of your own around it, or use `stop_on`, which finishes the attempt and needs no `From`";
}
