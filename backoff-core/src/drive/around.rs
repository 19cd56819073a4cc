//! What surrounds a running attempt: nothing, or a span of `tracing`.

use super::context::Context;
use core::pin::Pin;

/// Surrounds each attempt. A call that is dropped drops its attempt inside, so this is no rule about
/// outcomes.
pub trait Around {
    /// An attempt, with its span if it has one.
    type Attempt<A>;
    /// While this is alive, the attempt runs.
    type Entered<'a>
    where
        Self: 'a;

    /// An attempt of this call is about to begin, after so many failures.
    fn begins(&mut self, context: &Context<'_>, failures: u32);

    /// The attempt, with its span if it has one.
    fn around<A>(&self, attempt: A) -> Self::Attempt<A>;

    /// The attempt begins, or is polled.
    fn enter(&self) -> Self::Entered<'_>;

    /// The attempt inside.
    fn inner<A>(attempt: Pin<&Self::Attempt<A>>) -> Pin<&A>;

    /// The attempt inside.
    fn inner_mut<A>(attempt: Pin<&mut Self::Attempt<A>>) -> Pin<&mut A>;
}

impl Around for () {
    type Attempt<A> = A;
    type Entered<'a> = ();

    #[inline]
    fn begins(&mut self, _: &Context<'_>, _: u32) {}

    #[inline]
    fn around<A>(&self, attempt: A) -> A {
        attempt
    }

    #[inline]
    fn enter(&self) {}

    #[inline]
    fn inner<A>(attempt: Pin<&A>) -> Pin<&A> {
        attempt
    }

    #[inline]
    fn inner_mut<A>(attempt: Pin<&mut A>) -> Pin<&mut A> {
        attempt
    }
}
