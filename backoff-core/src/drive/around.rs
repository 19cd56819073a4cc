//! What surrounds a running attempt: nothing, or a span of `tracing`.

use core::pin::Pin;

/// Surrounds each attempt. A call that is dropped drops its attempt inside, so this is no rule about
/// outcomes.
pub trait Around {
    /// An attempt, with what surrounds it.
    type Attempt<A>;

    /// Begins an attempt of this operation, after so many failures.
    fn begin<A>(
        &mut self,
        name: &'static str,
        failures: u32,
        begin: impl FnOnce() -> A,
    ) -> Self::Attempt<A>;

    /// The attempt inside.
    fn inner<A>(attempt: Pin<&Self::Attempt<A>>) -> Pin<&A>;

    /// The attempt inside.
    fn inner_mut<A>(attempt: Pin<&mut Self::Attempt<A>>) -> Pin<&mut A>;

    /// Polls the attempt.
    fn within<T>(&self, poll: impl FnOnce() -> T) -> T;
}

impl Around for () {
    type Attempt<A> = A;

    #[inline]
    fn begin<A>(&mut self, _: &'static str, _: u32, begin: impl FnOnce() -> A) -> A {
        begin()
    }

    #[inline]
    fn inner<A>(attempt: Pin<&A>) -> Pin<&A> {
        attempt
    }

    #[inline]
    fn inner_mut<A>(attempt: Pin<&mut A>) -> Pin<&mut A> {
        attempt
    }

    #[inline]
    fn within<T>(&self, poll: impl FnOnce() -> T) -> T {
        poll()
    }
}
