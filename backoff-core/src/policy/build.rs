//! The constructors and setters of a policy, and the wait that its rules give.

use super::{
    DEFAULT_ATTEMPTS, DEFAULT_MAX_RETRY_AFTER, EXPONENTIAL, NEVER, Policy, limited, within_a_year,
};
use crate::{
    breaker::Breaker,
    delay::{
        Pace, exponential,
        growth::Growth,
        jitter::{Jitter, Spread},
        series, slots,
    },
    facts::{codes::Codes, fault::FaultKind},
    rate::Rate,
    runtime::nanos,
};
use core::time::Duration;

#[cfg(feature = "std")]
use crate::delay::Waits;
#[cfg(feature = "http-1")]
use crate::facts::idempotence::{is_safe, may_repeat};

impl Policy {
    /// No limit in [`max_attempts`](Self::max_attempts): the call is repeated until it succeeds, or until a failure is not
    /// retried. A deadline, a budget and a breaker end it too. A hint beyond `max_retry_after` is shortened to that limit.
    ///
    /// A policy whose waits from one of its bases are all zero makes 5 attempts all the same. Failures are counted up to
    /// 262,143, so all later attempts have the number 262,144.
    ///
    /// ```
    /// # use backoff_core::Policy;
    /// # use std::time::Duration;
    /// const DAEMON: Policy = Policy::exponential().max_attempts(Policy::UNLIMITED);
    /// # assert_eq!(DAEMON.schedule().nth(1_000_000).unwrap().greatest, Duration::from_secs(64));
    /// ```
    pub const UNLIMITED: u32 = u32::MAX;

    /// Exponential backoff, with the defaults of the table above.
    pub const fn exponential() -> Self {
        EXPONENTIAL
    }

    /// The same policy, with all computed fields computed again.
    pub(super) const fn settled(mut self) -> Self {
        self.waits = self.always_waits();
        self.attempts = match self.max_attempts {
            0 if !self.has_no_number() => DEFAULT_ATTEMPTS,
            _ => self.attempts_in_time(),
        };
        self
    }

    const fn growing(growth: Growth, base: Duration) -> Self {
        Self::exponential().base(base).growth(growth)
    }

    /// The same policy with another growth.
    pub(crate) const fn growth(mut self, growth: Growth) -> Self {
        self.growth = growth;
        self.settled()
    }

    /// The same wait before each retry, drawn by the jitter. [`delay::Constant`](crate::delay::Constant) in a policy.
    pub const fn constant(wait: Duration) -> Self {
        Self::growing(Growth::Constant, wait)
    }

    /// Waits that grow by `step`. [`delay::Linear`](crate::delay::Linear) in a policy.
    pub const fn linear(first: Duration, step: Duration) -> Self {
        Self::growing(Growth::Linear(nanos(step)), first)
    }

    /// Waits that grow like the Fibonacci numbers. [`delay::Fibonacci`](crate::delay::Fibonacci) in a policy.
    pub const fn fibonacci(first: Duration) -> Self {
        Self::growing(Growth::Fibonacci, first)
    }

    /// Random slots as on Ethernet, and 16 attempts. [`delay::Slots`](crate::delay::Slots) in a policy.
    pub const fn slots(slot: Duration) -> Self {
        Self::growing(Growth::Slots, slot)
            .jitter(Jitter::Slots)
            .max_attempts(slots::ATTEMPTS)
    }

    /// Celery's backoff with its defaults: `factor` in seconds, at most 600 s, full jitter in whole seconds, 3 retries.
    /// [`delay::Celery`](crate::delay::Celery) in a policy.
    pub const fn celery(factor: u32) -> Self {
        Self::growing(Growth::Exponential(2.0), Duration::from_secs(factor as u64))
            .max_backoff(Duration::from_secs(600))
            .jitter(Jitter::WholeSeconds)
            .max_attempts(4)
    }

    /// Waits of 1, 2, 4, …, 32 s, seven attempts, no jitter. [`delay::ConnectRetry`](crate::delay::ConnectRetry) in a policy.
    pub const fn connect_retry() -> Self {
        Self::exponential()
            .jitter(Jitter::None)
            .max_attempts(series::CONNECT_ATTEMPTS)
    }

    /// Waits from a function of the number of the retry, counted from 0. `max_backoff` and the jitter apply to the result.
    ///
    /// ```
    /// # use backoff_core::{Jitter, Policy};
    /// # use std::time::Duration;
    /// # fn squares(n: u32) -> Duration { Duration::from_millis(100) * (n + 1).saturating_pow(2) }
    /// const POLICY: Policy = Policy::custom(squares).jitter(Jitter::None);
    /// # assert_eq!(POLICY.backoff(2, Duration::ZERO, 0), Duration::from_millis(900));
    /// ```
    pub const fn custom(delay: fn(u32) -> Duration) -> Self {
        Self::growing(Growth::Custom(delay), Duration::from_secs(1))
    }

    /// The factor between a wait and the wait before it. [`delay::Exponential`](crate::delay::Exponential) says how waits are
    /// rounded.
    ///
    /// # Panics
    /// If `factor` is below 1, infinite or NaN, or if the policy is not exponential.
    #[track_caller]
    pub const fn factor(mut self, factor: f64) -> Self {
        assert!(
            matches!(self.growth, Growth::Exponential(_)),
            "`factor` belongs to exponential backoff: begin with `Policy::exponential()`"
        );
        self.growth = Growth::Exponential(exponential::checked(factor));
        self.settled()
    }

    /// The HTTP statuses and gRPC codes that are retried, instead of the codes so far.
    pub const fn on(mut self, codes: Codes) -> Self {
        self.codes = codes;
        self
    }

    /// HTTP statuses and gRPC codes that are retried in addition to the codes so far.
    ///
    /// ```
    /// # use backoff_core::{Codes, Policy, codes};
    /// const POLICY: Policy = Policy::exponential().also_on(codes![408, Codes::ABORTED]);
    /// # assert_eq!(POLICY, Policy::exponential().on(codes![408, 429, 500, 502..=504, Codes::ABORTED]));
    /// ```
    pub const fn also_on(mut self, codes: Codes) -> Self {
        self.codes = self.codes.union(codes);
        self
    }

    /// Whether the operation may be applied twice without harm, or carries a precondition (an etag, a generation, a request
    /// id). With `false`, a failure after which the request may have been applied ends the call with
    /// [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied). The first fact that the error states decides:
    ///
    /// | the error states | not applied | perhaps applied |
    /// |---|---|---|
    /// | [`delivery`](crate::Delivery) | `NotSent`: no such name, refused, connect timeout | `MaybeSent`: reset, reply lost, attempt timed out |
    /// | [`kind`](FaultKind) | `Throttled`, `Conflict`, `Pending`; any kind with 409 or 449 | `Transient` |
    /// | gRPC code | `RESOURCE_EXHAUSTED`, `ABORTED`, `FAILED_PRECONDITION`, `PERMISSION_DENIED` | others, as `UNAVAILABLE` |
    /// | HTTP status | 403, 408, 409, 412, 425, 429, 449 | others, as 503: a proxy may have sent it |
    ///
    /// An error in a [`NotApplied`](crate::NotApplied) was not applied, an error that states nothing perhaps. With
    /// [`when_any`](Self::when_any), the function decides alone.
    ///
    /// ```
    /// # use backoff_core::{Fault, Policy, Delivery, Verdict};
    /// # struct Reset;
    /// # impl Fault for Reset {
    /// #     fn delivery(&self) -> Option<Delivery> { Some(Delivery::MaybeSent) }
    /// # }
    /// const PAYMENT: Policy = Policy::exponential().idempotent(false);
    /// assert_eq!(PAYMENT.judge(&Reset), Verdict::MaybeApplied);
    /// # assert!(matches!(Policy::exponential().judge(&Reset), Verdict::Retry { .. }));
    /// ```
    pub const fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = idempotent;
        self.by_method = idempotent;
        self
    }

    /// The method and the headers of an HTTP request decide, where the library sees the request: in `send` of
    /// `backoff-cloud` and in the layer of tower (there for an idempotent policy too). Elsewhere as
    /// [`idempotent(false)`](Self::idempotent). The last call of the two setters counts.
    ///
    /// ```
    /// # use backoff_core::{Fault, Policy, Delivery, Verdict};
    /// # struct Reset;
    /// # impl Fault for Reset {
    /// #     fn delivery(&self) -> Option<Delivery> { Some(Delivery::MaybeSent) }
    /// # }
    /// const REST: Policy = Policy::exponential().idempotent_by_method();
    /// # assert_eq!(REST.judge(&Reset), Verdict::MaybeApplied);
    /// ```
    pub const fn idempotent_by_method(mut self) -> Self {
        self.idempotent = false;
        self.by_method = true;
        self
    }

    /// Whether this policy lets a request with this method and these headers be made twice.
    #[cfg(feature = "http-1")]
    #[inline]
    pub(crate) fn may_send_twice(
        &self,
        method: &http_1::Method,
        headers: &http_1::HeaderMap,
    ) -> bool {
        if self.by_method {
            may_repeat(method.as_str(), headers)
        } else {
            is_safe(method.as_str())
        }
    }

    /// Removes the budget.
    pub const fn without_budget(mut self) -> Self {
        self.budget = None;
        self.settled()
    }

    /// After a 429, all calls with this [`Rate`] wait in its queue.
    ///
    /// ```
    /// # use backoff_core::{Policy, Rate};
    /// static GMAIL: Rate = Rate::new();
    /// const POLICY: Policy = Policy::exponential().rate(&GMAIL);
    /// ```
    #[cfg(feature = "rate")]
    pub const fn rate(mut self, rate: &'static Rate) -> Self {
        self.rate = Some(rate);
        self.settled()
    }

    /// The key `tokens` of an annotated function. A call of the builder has [`Retrying::tokens`](crate::Retrying::tokens).
    #[doc(hidden)]
    #[cfg(feature = "rate")]
    pub const fn tokens(mut self, tokens: u32) -> Self {
        self.tokens = tokens;
        self
    }

    /// While the service of this [`Breaker`] is down, calls end at once.
    ///
    /// ```
    /// # use backoff_core::{Breaker, Policy};
    /// static DOWN: Breaker = Breaker::new();
    /// const POLICY: Policy = Policy::exponential().breaker(&DOWN);
    /// ```
    #[cfg(feature = "breaker")]
    pub const fn breaker(mut self, breaker: &'static Breaker) -> Self {
        self.breaker = Some(breaker);
        self.settled()
    }

    /// The breaker, if there is one.
    #[inline]
    pub(crate) const fn shared_breaker(&self) -> Option<&'static Breaker> {
        #[cfg(feature = "breaker")]
        return self.breaker;
        #[cfg(not(feature = "breaker"))]
        return None;
    }

    /// The rate, if there is one.
    #[inline]
    pub(crate) const fn shared_rate(&self) -> Option<&'static Rate> {
        #[cfg(feature = "rate")]
        return self.rate;
        #[cfg(not(feature = "rate"))]
        return None;
    }

    /// The same policy with all its times multiplied. Limits that are not set stay unset. The waits of a custom function do not
    /// change.
    ///
    /// ```
    /// # use backoff_core::Policy;
    /// # use std::time::Duration;
    /// const FAST: Policy = Policy::exponential().scaled(0.01); // for tests
    /// # let by_hand = Policy::exponential().base(Duration::from_millis(10)).max_backoff(Duration::from_millis(640));
    /// # assert_eq!(FAST, by_hand);
    /// ```
    ///
    /// # Panics
    /// If `by` is not a finite number above 0.
    #[track_caller]
    #[inline]
    pub const fn scaled(mut self, by: f64) -> Self {
        assert!(
            by > 0.0 && by.is_finite(),
            "`scaled` takes a finite number above 0: write 0.01 for a hundredth of every time"
        );
        if by == 1.0 {
            return self;
        }
        self.base = scaled(self.base, by);
        self.max_backoff = scaled(self.max_backoff, by);
        self.deadline = match self.deadline {
            NEVER => NEVER,
            set => within_a_year(scaled(set, by)),
        };
        self.max_retry_after = scaled(self.max_retry_after, by);
        self.retry_after_slack = scaled(self.retry_after_slack, by);
        self.throttled_base = scaled(self.throttled_base, by);
        if let Growth::Linear(step) = self.growth {
            self.growth = Growth::Linear(scaled(step, by));
        }
        match self.jitter {
            Spread::Additive(most) => self.jitter = Spread::Additive(scaled(most, by)),
            Spread::AdditiveWithin(most) => self.jitter = Spread::AdditiveWithin(scaled(most, by)),
            // The unit must not become zero.
            Spread::WholeSeconds(unit) => {
                let unit = scaled(unit, by);
                self.jitter = Spread::WholeSeconds(if unit == 0 { 1 } else { unit });
            }
            _ => {}
        }
        self.settled()
    }

    /// The wait before a retry, from zero to `max_backoff`. `retry` counts from 0. `previous` is the wait
    /// before (zero at first; only decorrelated jitter uses it). `random` is drawn uniformly from all of `u64`.
    pub fn backoff(&self, retry: u32, previous: Duration, random: u64) -> Duration {
        let previous = || nanos(previous);
        let wait = self.backoff_nanos(FaultKind::Transient, retry, previous, || random);
        Duration::from_nanos(wait)
    }

    /// Like [`backoff`](Self::backoff), in nanoseconds. `previous` and `random` are called only if the
    /// wait depends on them.
    #[inline(always)]
    pub(crate) fn backoff_nanos(
        &self,
        kind: FaultKind,
        retry: u32,
        previous: impl FnOnce() -> u64,
        random: impl FnOnce() -> u64,
    ) -> u64 {
        let previous = if self.remembers() { previous() } else { 0 };
        let random = if self.is_random() { random() } else { 0 };
        let base = match kind {
            FaultKind::Throttled if self.throttled_base != NEVER => self.throttled_base,
            _ => self.base,
        };
        let plain = |cap| self.growth.delay(base, cap, retry);
        self.jitter
            .apply(plain, base, self.max_backoff, previous, random)
    }

    /// The longest wait before this retry, if the wait is drawn from 0 up to it and the longest wait doubles each time.
    #[inline]
    pub(crate) fn doubled(&self, retry: u32) -> Option<u64> {
        let doubles = matches!(self.growth, Growth::Exponential(2.0))
            && matches!(self.jitter, Spread::Full)
            && self.throttled_base == NEVER;
        doubles.then(|| exponential::doubled(self.base, self.max_backoff, retry))
    }

    /// Whether a wait depends on the wait before it.
    #[inline]
    pub(crate) const fn remembers(&self) -> bool {
        matches!(self.jitter, Spread::Decorrelated)
    }

    /// Whether a wait is random.
    #[inline]
    const fn is_random(&self) -> bool {
        !matches!(self.jitter, Spread::None)
    }

    /// The waits of the policy, drawn with the thread's random numbers: for a loop of your own. They end with the policy's
    /// last attempt, and never if the attempts are [`UNLIMITED`](Self::UNLIMITED), as they are with a deadline and without
    /// [`max_attempts`](Self::max_attempts): the deadline does not end the waits.
    ///
    /// ```
    /// # use backoff_core::Policy;
    /// # use std::time::Duration;
    /// # #[cfg(feature = "std")] {
    /// let waits = Policy::exponential().max_attempts(Policy::UNLIMITED).waits();
    /// # let most = Duration::from_secs(64);
    /// # assert!(waits.clone().take(1_000).all(|wait| wait <= most));
    /// for (failures, wait) in waits.enumerate() {
    ///     // try; if that fails, sleep for `wait`
    /// #   if failures == 9 { break }
    /// }
    /// # }
    /// ```
    #[cfg(feature = "std")]
    #[doc(alias("iterator", "intervals"))]
    pub const fn waits(&self) -> Waits<Self> {
        Waits::new(*self, crate::runtime::Std)
    }

    /// The highest number of attempts, or [`UNLIMITED`](Self::UNLIMITED).
    #[inline]
    pub(crate) const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// How many conflicts with a pace's wait do not count as attempts. A pace's waits are short, and
    /// the default number of attempts is meant for longer waits.
    pub(crate) const fn more_at_pace(&self) -> u32 {
        if self.max_attempts == 0 && self.deadline == NEVER {
            100 - DEFAULT_ATTEMPTS
        } else {
            0
        }
    }

    /// Tells a pace that an attempt failed. A pace changes only waits that grow by a factor.
    pub(crate) fn keep_pace(
        &self,
        pace: &mut Pace,
        kind: FaultKind,
        now: impl FnOnce() -> Duration,
    ) {
        if let Growth::Exponential(_) = self.growth {
            pace.failed(kind, now);
        }
    }

    /// The highest number of attempts of a call that has a time limit of its own.
    #[inline]
    pub(crate) const fn attempts_in_time(&self) -> u32 {
        match self.max_attempts {
            0 | Self::UNLIMITED if self.waits => Self::UNLIMITED,
            // Calls without a pause would be an attack, not a retry.
            0 | Self::UNLIMITED => DEFAULT_ATTEMPTS,
            set => set,
        }
    }

    /// Whether no number limits the attempts of a policy that always waits.
    pub(crate) const fn has_no_number(&self) -> bool {
        match self.max_attempts {
            0 => self.deadline != NEVER,
            set => set == Self::UNLIMITED,
        }
    }

    /// Whether a call under this deadline ends only with a success or a failure that is not retried.
    #[inline]
    pub(crate) const fn never_ends(&self, deadline: u64) -> bool {
        self.attempts == Self::UNLIMITED && deadline == NEVER
    }

    /// The longest hint that the policy waits for.
    #[inline]
    pub(crate) const fn longest_hint(&self, deadline: u64) -> u64 {
        match self.max_retry_after {
            NEVER if deadline == NEVER => DEFAULT_MAX_RETRY_AFTER,
            set => set,
        }
    }
}

const fn scaled(nanos: u64, by: f64) -> u64 {
    if nanos == NEVER {
        return NEVER;
    }
    // Rounds to the nearest number; the cast limits a number that is too large to the maximum.
    let scaled = (nanos as f64 * by + 0.5) as u64;
    limited(scaled)
}
