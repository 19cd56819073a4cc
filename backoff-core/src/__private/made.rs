//! The errors that a key makes: each key says which `From` the function's error needs.

use crate::{
    call::{settings::until::NotYet, signal::Stopped},
    facts::fault::TimedOut,
};

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
