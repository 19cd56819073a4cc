//! A budget for retries, shared by all callers of the same service.
//!
//! A limit of attempts applies to one operation. It does not limit all clients of a service together:
//! if the service is down, five attempts each are five times the load, at the worst moment, and a
//! service that just came back is overloaded again. A [`Budget`] is a bucket of tokens that all
//! operations on one service share. A retry takes tokens out, and a success puts some back. While most
//! calls succeed, the bucket is full and changes nothing. In an outage the bucket becomes empty, and
//! each operation is tried once.
//!
//! The table shows a simulated service of 1000/s at a load of 700/s from 20 processes. The service does
//! not answer for 30 s, and each request has up to five attempts. "Attempts per request" are those
//! during the outage. The last column is the share of requests that are answered if 20 % of all calls
//! fail by chance:
//!
//! | budget of each process | attempts per request | recovery | answered at 20 % errors |
//! |---|---|---|---|
//! | none | 4.62 | never recovers | 99.97 % |
//! | [`Budget::ratio(0.2, 100)`](Budget::ratio) | 1.10 | at once | 95.13 % |
//! | [`Budget::aws()`](Budget::aws) | 1.03 | at once | 99.95 % |
//! | [`Budget::grpc(10, 0.1)`](Budget::grpc) | 1.00 | at once | 80.00 % |
//!
//! (`cargo run --release -p examples --example simulation -- outage`, 20 seeds.)

use crate::{facts::fault::FaultKind, name::Name};
use core::{
    fmt,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

/// Tokens are kept in thousandths.
const TOKEN: u32 = 1_000;

/// A lock-free bucket of tokens, of which each retry takes some. Declare one `static` for each service (and
/// region), and name it in a policy with [`Policy::budget`](crate::Policy::budget).
///
/// Conflicts between writers cost no tokens: a conflict shows that the service works.
///
/// ```
/// use backoff_core::{Budget, Policy};
///
/// static STORAGE: Budget = Budget::aws();
/// const POLICY: Policy = Policy::exponential().budget(&STORAGE);
///
/// assert_eq!(STORAGE.tokens(), 500.0);
/// ```
pub struct Budget {
    tokens: AtomicU32,
    capacity: u32,
    algorithm: Algorithm,
    pub(crate) name: Name,
}

#[derive(Clone, Copy, Debug)]
enum Algorithm {
    /// The kind of the failure decides the cost of a retry. A success returns the cost of the last
    /// retry, or one token if there was no retry.
    Costs { transient: u32, throttled: u32 },
    /// Every failure costs a token, with or without a retry; a success returns this many thousandths.
    /// Retries are allowed above half of the capacity.
    Throttle { success: u32 },
    /// A retry costs a token; a success returns this many thousandths.
    Share { success: u32 },
}

impl Budget {
    /// The bucket of the AWS SDKs' "standard" mode, revision 2.1: 500 tokens. A retry costs 14 tokens,
    /// or 5 after throttling. A success returns the cost of its last retry, or 1 token if there was no
    /// retry.
    pub const fn aws() -> Self {
        Self::costs(500, 14, 5)
    }

    /// Like [`aws`](Self::aws), with other numbers. `costs(500, 5, 5)` is revision 2.0, except that
    /// revision 2.0 has a higher cost for time-outs.
    ///
    /// # Panics
    /// Panics if a cost is 0 or a number is above 4,000,000. In a constant, the panic is a compile error.
    #[track_caller]
    pub const fn costs(capacity: u32, transient: u32, throttled: u32) -> Self {
        assert!(
            transient > 0 && throttled > 0,
            "a retry must cost at least 1 token"
        );
        let transient = thousandths(transient);
        let throttled = thousandths(throttled);
        Self::full(
            thousandths(capacity),
            Algorithm::Costs {
                transient,
                throttled,
            },
        )
    }

    /// gRPC's retry throttling: every retryable failure costs 1 token, with or without a retry. A
    /// success returns `token_ratio`. Retries are allowed only while more than half of `max_tokens` is
    /// left.
    ///
    /// Source: gRPC proposal A6, "Throttling Retry Attempts and Hedged RPCs". As in the proposal, the
    /// ratio has three decimals, and further decimals are ignored.
    ///
    /// # Panics
    /// Panics if `max_tokens` is not in 1 to 1000 or `token_ratio` is not within 0.001 to 1000. In a
    /// constant, the panic is a compile error.
    #[track_caller]
    pub const fn grpc(max_tokens: u32, token_ratio: f64) -> Self {
        assert!(
            max_tokens >= 1 && max_tokens <= 1_000,
            "`max_tokens` of a gRPC budget must be from 1 to 1000"
        );
        Self::full(
            thousandths(max_tokens),
            Algorithm::Throttle {
                success: share(token_ratio),
            },
        )
    }

    /// Allows retries for a share of the successes: each success adds `share_of_successes` tokens, a
    /// retry costs 1 token, and at most `reserve` tokens are saved. `Budget::ratio(0.2, 100)` allows
    /// one retry for five successes, and a hundred retries at once after a quiet time. A failure adds
    /// no token, so some calls are not retried if more than a sixth of all calls fail for a long time.
    ///
    /// # Panics
    /// Panics if `share_of_successes` is not within 0.001 to 1000, or `reserve` is 0 or above 4,000,000. In
    /// a constant, the panic is a compile error.
    #[track_caller]
    pub const fn ratio(share_of_successes: f64, reserve: u32) -> Self {
        assert!(
            reserve > 0,
            "a budget without a reserve never allows the first retry: write 10"
        );
        Self::full(
            thousandths(reserve),
            Algorithm::Share {
                success: share(share_of_successes),
            },
        )
    }

    const fn full(capacity: u32, algorithm: Algorithm) -> Self {
        Budget {
            tokens: AtomicU32::new(capacity),
            capacity,
            algorithm,
            name: Name::NONE,
        }
    }

    /// The same budget with a name. Metrics report the number of tokens left under this name. A budget
    /// without a name is not reported.
    ///
    /// ```
    /// use backoff_core::Budget;
    ///
    /// static STORAGE: Budget = Budget::aws().name("storage");
    /// ```
    #[must_use]
    pub const fn name(mut self, name: &'static str) -> Self {
        self.name = Name::literal(name);
        self
    }

    /// The same budget with a name that is made at run time, such as that of a host. A process keeps 10,000
    /// such names; further ones are `other`.
    ///
    /// ```
    /// use backoff_core::Budget;
    ///
    /// let host = String::from("api.example.com");
    /// let budget = Budget::aws().named(host);
    /// assert!(format!("{budget:?}").contains("api.example.com"));
    /// ```
    #[cfg(feature = "std")]
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Name::made(name.into());
        self
    }

    /// The name, if the budget has one.
    pub(crate) const fn label(&self) -> Option<&'static str> {
        self.name.get()
    }

    /// The same budget with this number of tokens at the start, limited by the capacity.
    #[must_use]
    pub const fn starting_with(self, tokens: u32) -> Self {
        let tokens = tokens.saturating_mul(TOKEN);
        let tokens = if tokens < self.capacity {
            tokens
        } else {
            self.capacity
        };
        Budget {
            tokens: AtomicU32::new(tokens),
            capacity: self.capacity,
            algorithm: self.algorithm,
            name: self.name,
        }
    }

    /// The number of tokens left.
    pub fn tokens(&self) -> f64 {
        f64::from(self.tokens.load(Relaxed)) / f64::from(TOKEN)
    }

    /// The highest number of tokens that the budget can hold.
    pub fn capacity(&self) -> f64 {
        f64::from(self.capacity) / f64::from(TOKEN)
    }

    /// Fills the bucket again, for example before a test.
    pub fn refill(&self) {
        self.tokens.store(self.capacity, Relaxed);
    }

    /// Called after a retryable failure, and after a reply in which the server asked not to be called
    /// again.
    #[inline]
    pub(crate) fn failed(&self) {
        if let Algorithm::Throttle { .. } = self.algorithm {
            self.change(|tokens| Some(tokens.saturating_sub(TOKEN)));
        }
    }

    /// Takes the tokens for a retry, if enough tokens are left. Returns whether it took them.
    #[inline]
    pub(crate) fn take(&self, kind: FaultKind) -> bool {
        match self.algorithm {
            Algorithm::Throttle { .. } => self.tokens.load(Relaxed) > self.capacity / 2,
            Algorithm::Costs { .. } | Algorithm::Share { .. } => {
                let cost = self.cost(kind);
                self.change(|tokens| tokens.checked_sub(cost))
            }
        }
    }

    /// Returns the tokens that were taken for a retry of this kind, because the retry was not made. The
    /// function is inlined, so that the compiler sees that it does not unwind: each place that drops a
    /// call becomes cheaper.
    #[cold]
    #[inline]
    pub(crate) fn give_back(&self, kind: FaultKind) {
        // In gRPC's bucket a failure costs a token, and a retry costs nothing.
        let back = self.cost(kind);
        self.change(|tokens| Some(tokens.saturating_add(back).min(self.capacity)));
    }

    /// The cost of a retry of this kind.
    #[inline]
    fn cost(&self, kind: FaultKind) -> u32 {
        match self.algorithm {
            Algorithm::Costs { throttled, .. } if kind == FaultKind::Throttled => throttled,
            Algorithm::Costs { transient, .. } => transient,
            Algorithm::Share { .. } => TOKEN,
            Algorithm::Throttle { .. } => 0,
        }
    }

    /// Called after an operation succeeded. `last` is the kind of the last failure for whose
    /// retry tokens were taken.
    pub(crate) fn succeeded(&self, last: Option<FaultKind>) {
        // A full bucket is the common case and needs no write, so threads do not wait for each other.
        if self.tokens.load(Relaxed) >= self.capacity {
            return;
        }
        let back = match self.algorithm {
            Algorithm::Costs { .. } => last.map_or(TOKEN, |kind| self.cost(kind)),
            Algorithm::Throttle { success } | Algorithm::Share { success } => success,
        };
        self.change(|tokens| Some(tokens.saturating_add(back).min(self.capacity)));
    }

    #[inline]
    fn change(&self, to: impl FnMut(u32) -> Option<u32>) -> bool {
        self.tokens.fetch_update(Relaxed, Relaxed, to).is_ok()
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget")
            .field("name", &self.name)
            .field("tokens", &self.tokens())
            .field("capacity", &self.capacity())
            .field("algorithm", &self.algorithm)
            .finish()
    }
}

#[track_caller]
const fn thousandths(tokens: u32) -> u32 {
    assert!(
        tokens <= 4_000_000,
        "a budget holds at most 4,000,000 tokens"
    );
    tokens * TOKEN
}

#[track_caller]
const fn share(ratio: f64) -> u32 {
    assert!(
        ratio >= 0.001 && ratio <= 1_000.0,
        "the tokens that a success gives back must be from 0.001 to 1000: write 0.1 for one retry in ten"
    );
    // Truncated. But 0.29 is 290 thousandths, although `f64` stores a slightly smaller number.
    (ratio * TOKEN as f64 + 1e-6) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_not_cut_to_whole_percents() {
        let shares = [0.75, 0.29, 0.001, 1.5, 0.5466].map(share);
        assert_eq!(shares, [750, 290, 1, 1_500, 546]);
    }

    #[test]
    fn nonsense_is_refused() {
        fn refused<T>(make: impl FnOnce() -> T + std::panic::UnwindSafe) -> bool {
            std::panic::catch_unwind(make).is_err()
        }
        for ratio in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(refused(move || Budget::grpc(10, ratio)), "{ratio}");
            assert!(refused(move || Budget::ratio(ratio, 10)), "{ratio}");
        }
        assert!(refused(|| Budget::grpc(0, 0.1)) && refused(|| Budget::grpc(1_001, 0.1)));
        assert!(refused(|| Budget::ratio(0.1, 0)) && refused(|| Budget::costs(500, 0, 5)));
        assert!(refused(|| Budget::costs(u32::MAX, 1, 1)));
    }

    #[test]
    fn no_token_is_lost_or_made_between_threads() {
        let budget = Budget::ratio(1.0, 1_000);
        let takes = |_: &_| budget.take(FaultKind::Transient);
        let taken: usize = std::thread::scope(|scope| {
            let threads = [(); 8].map(|()| scope.spawn(|| (0..500).filter(takes).count()));
            threads.map(|thread| thread.join().unwrap()).iter().sum()
        });
        assert_eq!((taken, budget.tokens()), (1_000, 0.0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..100).for_each(|_| budget.succeeded(None)));
            }
        });
        assert_eq!(budget.tokens(), 800.0);
    }
}
