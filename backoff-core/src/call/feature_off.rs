//! Setters whose feature is off: the message of the compiler says which feature to turn on.

#[cfg(not(all(feature = "rate", feature = "breaker")))]
use super::{Driver, Plan, Surrounds, retrying::Retrying};
#[cfg(not(all(feature = "rate", feature = "breaker")))]
use crate::policy::Policy;

macro_rules! needs {
    ($($feature:literal: $Needs:ident, $setter:ident, $needed:literal;)+) => {
        $(
            /// Implemented by nothing.
            #[cfg(not(feature = $feature))]
            #[diagnostic::on_unimplemented(
                message = $needed,
                label = "the feature is off",
                note = "in Cargo.toml, at `backoff-core` or `backoff-cloud`: add it to `features = [..]`"
            )]
            pub trait $Needs {}

            #[cfg(not(feature = $feature))]
            impl Policy {
                #[doc(hidden)]
                pub const fn $setter<T: $Needs>(self, _shared: &'static T) -> Self {
                    self
                }
            }

            #[cfg(not(feature = $feature))]
            impl<P: Plan, O, S: Surrounds, R, W: Driver<O, R>> Retrying<P, O, S, R, W> {
                #[doc(hidden)]
                pub fn $setter<T: $Needs>(self, _shared: &T) -> Self {
                    self
                }
            }
        )+
    };
}

needs! {
    "rate": NeedsRate, rate, "`rate` needs the feature `rate`: turn it on";
    "breaker": NeedsBreaker, breaker, "`breaker` needs the feature `breaker`: turn it on";
}
