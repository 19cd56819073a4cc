//! An id of one call, by which a server recognises repeated attempts.

use crate::runtime::Random;
use core::fmt;

/// An id of one call: the same in every attempt, different in each call. A server that gets the id can
/// apply the request once, even if the request arrives several times.
///
/// The id is written as a random UUID (version 4, RFC 9562), in the form that providers ask for: the
/// header `Idempotency-Key`, the field `request_id` of [AIP-155](https://google.aip.dev/155), a client
/// token of AWS. With such an id the policy may be [idempotent](crate::Policy::idempotent), which is
/// the default.
///
/// [`Attempt::id`](crate::Attempt::id) returns the id of the call. 122 bits come from the random
/// numbers of the call's runtime. The operating system seeds the random numbers of tokio's and of the
/// standard library's runtime, so the ids of all calls differ.
///
/// **A runtime of your own must draw different numbers in each process.** With a fixed seed, or a
/// generator that always returns the same number, two calls have the same id, and a server takes the
/// second call for a copy of the first. The same happens on `wasm32-unknown-unknown` without the feature `wasm`, and after a
/// `fork` without an `exec`. The ids are not secret, because a generator for jitter may be predictable.
///
/// ```
/// use backoff_core::{Policy, TimedOut};
/// use std::time::Duration;
///
/// # #[cfg(feature = "tokio")]
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let mut sent = Vec::new();
/// let _: Result<(), TimedOut> = Policy::exponential()
///     .max_attempts(3)
///     .retry_with(|attempt| {
///         sent.push(attempt.id().to_string()); // .header("Idempotency-Key", ..)
///         std::future::ready(Err(TimedOut::new(Duration::ZERO)))
///     })
///     .await;
/// assert_eq!(sent.len(), 3);
/// assert!(sent[0].len() == 36 && sent.iter().all(|id| *id == sent[0]));
/// # }
/// # #[cfg(not(feature = "tokio"))] fn main() {}
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId([u8; 16]);

impl RequestId {
    /// A new id from these random numbers, for a loop of your own around
    /// [`RetryState`](crate::RetryState).
    pub fn random<R: Random + ?Sized>(random: &R) -> Self {
        let [high, low] = [random.random(), random.random()];
        RequestId::from_u128(u128::from(high) << 64 | u128::from(low))
    }

    /// An id of these bits, except for the six bits that mark a random UUID.
    ///
    /// ```
    /// use backoff_core::RequestId;
    ///
    /// let id = RequestId::from_u128(0);
    /// assert_eq!(id.to_string(), "00000000-0000-4000-8000-000000000000");
    /// assert_eq!(id.as_u128(), 0x4000_8000_0000_0000_0000);
    /// ```
    pub const fn from_u128(bits: u128) -> Self {
        const VERSION: u128 = 0xf << 76;
        const VARIANT: u128 = 0b11 << 62;
        let bits = bits & !(VERSION | VARIANT) | 4 << 76 | 0b10 << 62;
        RequestId(bits.to_be_bytes())
    }

    /// The 128 bits of the id.
    pub const fn as_u128(&self) -> u128 {
        u128::from_be_bytes(self.0)
    }
}

/// Written as a UUID: `xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx`.
impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    struct Counting(Cell<u64>);

    impl Random for Counting {
        fn random(&self) -> u64 {
            self.0.replace(self.0.get() + 1)
        }
    }

    #[test]
    fn it_is_written_as_a_random_uuid() {
        for (bits, id) in [
            (u128::MAX, "ffffffff-ffff-4fff-bfff-ffffffffffff"),
            (
                0x1234_5678_9abc_def0_1234_5678_9abc_def0,
                "12345678-9abc-4ef0-9234-56789abcdef0",
            ),
        ] {
            assert_eq!(RequestId::from_u128(bits).to_string(), id);
        }
    }

    #[test]
    fn each_is_drawn_anew() {
        let random = Counting(Cell::new(1));
        let (first, second) = (RequestId::random(&random), RequestId::random(&random));
        assert_eq!(first.to_string(), "00000000-0000-4001-8000-000000000002");
        assert_eq!(second.to_string(), "00000000-0000-4003-8000-000000000004");
    }
}
