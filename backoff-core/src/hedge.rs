//! When a slow attempt gets a second request, and how many do: what the calls of one service share.
//!
//! A [`Hedge`] has two parts. A delay says when the second request begins: a fixed one, or the 95th percentile of
//! the last answers. A bucket of tokens says how often: each call puts a twentieth of a token in, and each second
//! request takes a whole one out. So the calls make at most 5 % more requests, however slow the service becomes.

use core::{
    fmt,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};

/// A second request for an attempt whose first request is slow, shared by the calls of one service. Declare one
/// `static` for calls that take about the same time, and give it to each call by
/// [`hedge`](crate::Retrying::hedge).
///
/// ```
/// use backoff_core::{Hedge, Policy, TimedOut};
///
/// static READS: Hedge = Hedge::p95();
/// const POLICY: Policy = Policy::exponential();
///
/// # #[cfg(feature = "tokio")]
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let get = || std::future::ready(Ok::<_, TimedOut>(42));
/// assert_eq!(POLICY.retry(get).hedge(&READS).await, Ok(42));
/// # }
/// # #[cfg(not(feature = "tokio"))] fn main() {}
/// ```
///
/// # When a second request begins
/// If the first request of an attempt has not answered after the delay, and all of these hold:
///
/// - The policy of the call is [idempotent](crate::Policy::idempotent). A request of `send` of `backoff-cloud` or of the
///   layer of tower also changes nothing (`GET`, `HEAD`), and has a copy. A `PUT` or a `DELETE` gets none, because a
///   second one would meet the effect of the first: of two `DELETE`s, one is answered with 404.
/// - The bucket of the hedge has a token. Each call adds a twentieth of a token, each second request takes one, and
///   the bucket holds at most 10 tokens; it is full at the start. So of `n` calls, at most `n / 20 + 10` send a
///   second request.
/// - The [`Budget`](crate::Budget) of the call has the tokens for a retry after a transient failure. The tokens do
///   not come back. In gRPC's bucket, more than half of the tokens must be left.
/// - The [`Rate`](crate::Rate) of the call delays no call at this moment, a quota that replies state has room for one more,
///   and the `Breaker` of the call is closed.
/// - The deadline of the call is not over, and no `stop_on` has come.
///
/// If one of these does not hold, the first request goes on alone. An attempt has at most one second request.
///
/// # Which request decides
/// - The first success is the outcome of the attempt. The other request is dropped at once.
/// - A failure that the call would not retry (a 404, an error that nothing is known about, a server that asks not to
///   be called again) decides at once, too: the other request would get the same answer.
/// - After any other failure the other request goes on. If both fail, the attempt fails, with the failure that asks
///   for the longer wait (`Retry-After`), or else with the later one.
/// - If the first request fails before the second one begins, the attempt fails, and the call waits and tries again
///   as without a hedge: a hedge is for slow answers, and a retry is for failures.
///
/// A rate hears of the request that decides, and not of the other one.
///
/// A reply that [`responses`](crate::Retrying::responses) judges as a failure is a failure here. Time limits and
/// signals cut both requests. The two requests are one attempt: they share its number, its id, its limit of time,
/// its span and its line in the log.
///
/// # When not
/// A hedge harms a busy fleet whose servers go on with a request that the client has dropped: at 80 % load, the 99th
/// percentile rose in a simulation from 223 ms to between 263 and 293 ms. [The
/// guide](https://docs.rs/backoff-cloud/latest/backoff_cloud/guide/hedging/#when-not) names other cases.
///
/// # Sources
/// Dean and Barroso, "The Tail at Scale" (Communications of the ACM, 2013), propose the 95th percentile, which limits
/// the additional load to about 5 %. gRPC proposal A6 has the delay, the fatal failures, and the budget.
pub struct Hedge {
    /// The delay; without one, the percentile of the answers.
    after: Option<Duration>,
    /// In twentieths.
    tokens: AtomicU32,
    /// How long the last answers took, in microseconds, without a lock. A thread that reads while others write sees some
    /// answers of before, which does not matter for a percentile.
    took: [AtomicU32; LAST],
    /// How many answers were measured.
    count: AtomicU32,
    p95: AtomicU32,
}

/// A second request costs as many parts of a token as this.
const TOKEN: u32 = 20;
/// The most tokens.
const BURST: u32 = 10;
/// How many answers are remembered.
const LAST: usize = 100;
/// The percentile is computed anew after so many answers.
const EACH: u32 = 10;
/// No percentile yet.
const UNKNOWN: u32 = u32::MAX;

impl Hedge {
    /// The second request begins when the first one has not answered after `delay`. Choose about the 95th percentile
    /// of the service's response time.
    ///
    /// # Panics
    /// If `delay` is zero. In a constant, the panic is a compile error.
    ///
    /// ```
    /// use backoff_core::Hedge;
    /// use std::time::Duration;
    ///
    /// static READS: Hedge = Hedge::after(Duration::from_millis(50));
    /// assert_eq!(READS.delay(), Some(Duration::from_millis(50)));
    /// ```
    #[must_use]
    #[track_caller]
    pub const fn after(delay: Duration) -> Self {
        assert!(
            !delay.is_zero(),
            "a hedge without a delay would send each request twice: write `Duration::from_millis(50)` or `Hedge::p95()`"
        );
        Self::new(Some(delay))
    }

    /// The second request begins when the first one has not answered after the 95th percentile of the last 100
    /// answers of the calls that share this hedge, and after at least a millisecond. The first 100 successful
    /// attempts are only measured. The percentile is computed anew after ten answers.
    ///
    /// The clock of the call is read when an attempt is first pending, and at its success. An attempt that ends by
    /// its second request counts with the time that it took: this is above the percentile, as its first request was.
    ///
    /// ```
    /// use backoff_core::Hedge;
    ///
    /// static READS: Hedge = Hedge::p95();
    /// assert_eq!(READS.delay(), None); // nothing is measured yet
    /// ```
    #[must_use]
    pub const fn p95() -> Self {
        Self::new(None)
    }

    const fn new(after: Option<Duration>) -> Self {
        Hedge {
            after,
            tokens: AtomicU32::new(BURST * TOKEN),
            took: [const { AtomicU32::new(UNKNOWN) }; LAST],
            count: AtomicU32::new(0),
            p95: AtomicU32::new(UNKNOWN),
        }
    }

    /// After how long a second request begins now; `None` while too few answers are measured.
    pub fn delay(&self) -> Option<Duration> {
        let p95 = self.p95.load(Relaxed);
        let measured = (p95 != UNKNOWN).then(|| Duration::from_micros(p95.into()));
        self.after.or(measured)
    }

    /// This time, if answers are measured.
    pub(crate) fn measured(&self, now: impl FnOnce() -> Duration) -> Duration {
        self.after.map_or_else(now, |_| Duration::ZERO)
    }

    /// An attempt was answered after this time.
    pub(crate) fn answered(&self, took: &dyn Fn() -> Duration) {
        if self.after.is_some() {
            return;
        }
        let took = u32::try_from(took().as_micros()).unwrap_or(UNKNOWN);
        let number = self.count.fetch_add(1, Relaxed);
        self.took[number as usize % LAST].store(took, Relaxed);
        // The count repeats after 2³² answers, and is then measured anew.
        let count = number.wrapping_add(1);
        if count as usize >= LAST && count.is_multiple_of(EACH) {
            let mut all = self.took.each_ref().map(|took| took.load(Relaxed));
            let (_, p95, _) = all.select_nth_unstable(LAST * 95 / 100);
            self.p95.store((*p95).max(1_000), Relaxed);
        }
    }

    /// A call begins: adds a part of a token.
    pub(crate) fn called(&self) {
        self.change(|tokens| (tokens < BURST * TOKEN).then_some(tokens + 1));
    }

    /// Takes a token, if there is one. Returns whether it took one.
    pub(crate) fn take(&self) -> bool {
        self.change(|tokens| tokens.checked_sub(TOKEN))
    }

    fn change(&self, to: impl FnMut(u32) -> Option<u32>) -> bool {
        self.tokens.fetch_update(Relaxed, Relaxed, to).is_ok()
    }
}

impl fmt::Debug for Hedge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tokens = f64::from(self.tokens.load(Relaxed)) / f64::from(TOKEN);
        f.debug_struct("Hedge")
            .field("delay", &self.delay())
            .field("tokens", &tokens)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of answers repeats after 2³².
    #[test]
    fn answers_are_counted_for_ever() {
        let hedge = Hedge::p95();
        hedge.count.store(u32::MAX - 50, Relaxed);
        for took in [5, 7] {
            for _ in 0..200 {
                hedge.answered(&|| Duration::from_millis(took));
            }
            assert_eq!(hedge.delay(), Some(Duration::from_millis(took)));
        }
    }
}
