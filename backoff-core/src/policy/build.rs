//! The constructors and setters of a policy, and the wait that its rules give.

use super::{
    DEFAULT_ATTEMPTS, DEFAULT_MAX_RETRY_AFTER, FastPath, MOST_ATTEMPTS, MOST_DEADLINE, NEVER,
    NO_ATTEMPTS, Policy, log_level::LogLevel,
};
use crate::{
    budget::Budget,
    codes,
    delay::{
        Pace,
        draw::uniform,
        exponential,
        growth::Growth,
        jitter::{Jitter, Spread},
        series, slots,
    },
    facts::{
        codes::Codes,
        fault::{Fault, FaultKind},
    },
    rate::Rate,
    runtime::nanos,
};
use core::time::Duration;

#[cfg(feature = "http-1")]
use crate::facts::idempotence::{is_safe, may_repeat};

impl Policy {
    /// Exponential backoff with the defaults of the table above.
    pub const fn exponential() -> Self {
        Policy {
            base: 1_000_000_000,
            throttled_base: NEVER,
            growth: Growth::Exponential(2.0),
            max_backoff: 64_000_000_000,
            deadline: NEVER,
            max_retry_after: NEVER,
            retry_after_slack: NEVER,
            budget: None,
            #[cfg(feature = "rate")]
            rate: None,
            jitter: Spread::Full,
            codes: codes![429, 500, 502..=504],
            max_attempts: 0,
            attempts: DEFAULT_ATTEMPTS,
            fast_path: FastPath::Full,
            waits: true,
            simple_retries: DEFAULT_ATTEMPTS - 1,
            conflicts: false,
            idempotent: true,
            by_method: true,
            spread_retry_after: false,
            retry_after_alone: false,
            throttled_if: None,
            log_waits: LogLevel::Info,
            name: None,
        }
    }

    /// The same policy, with all computed fields computed again.
    const fn settled(mut self) -> Self {
        self.waits = !self.never_waits();
        self.attempts = if self.deadline == NEVER && self.max_attempts == 0 {
            DEFAULT_ATTEMPTS
        } else {
            self.attempts_in_time()
        };
        self.fast_path = match (self.growth, self.jitter) {
            _ if self.throttled_base != NEVER => FastPath::None,
            (Growth::Exponential(2.0), Spread::Full) => FastPath::Full,
            (Growth::Exponential(2.0), Spread::Additive(most)) => FastPath::Additive(most),
            _ => FastPath::None,
        };
        let limited = self.deadline != NEVER || self.budget.is_some();
        self.simple_retries = if limited || matches!(self.fast_path, FastPath::None) {
            0
        } else {
            self.attempts - 1
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

    /// The same wait before each retry, up to `max_backoff`, with full jitter and the other
    /// defaults of the table above. [`delay::Constant`](crate::delay::Constant) in a policy.
    pub const fn constant(wait: Duration) -> Self {
        Self::growing(Growth::Constant, wait)
    }

    /// Waits that grow by `step` each time, up to a `max_backoff` of 64 s.
    /// [`delay::Linear`](crate::delay::Linear) in a policy.
    pub const fn linear(first: Duration, step: Duration) -> Self {
        Self::growing(Growth::Linear(nanos(step)), first)
    }

    /// Waits that grow like the Fibonacci numbers, up to a `max_backoff` of 64 s.
    /// [`delay::Fibonacci`](crate::delay::Fibonacci) in a policy.
    pub const fn fibonacci(first: Duration) -> Self {
        Self::growing(Growth::Fibonacci, first)
    }

    /// Random slots as on Ethernet, and 16 attempts. `max_backoff` is 64 s and limits the longest waits
    /// if a slot is longer than 62 ms. [`delay::Slots`](crate::delay::Slots) in a policy.
    pub const fn slots(slot: Duration) -> Self {
        Self::growing(Growth::Slots, slot)
            .jitter(Jitter::Slots)
            .max_attempts(slots::ATTEMPTS)
    }

    /// Celery's backoff with its own defaults: a maximum of 600 s, full jitter in whole seconds, 3
    /// retries. [`delay::Celery`](crate::delay::Celery) in a policy.
    pub const fn celery(factor: u32) -> Self {
        Self::growing(Growth::Exponential(2.0), Duration::from_secs(factor as u64))
            .max_backoff(Duration::from_secs(600))
            .jitter(Jitter::WholeSeconds)
            .max_attempts(4)
    }

    /// The waits between attempts to connect a socket: 1, 2, 4, …, 32 s, seven attempts, no jitter.
    /// [`delay::ConnectRetry`](crate::delay::ConnectRetry) in a policy.
    pub const fn connect_retry() -> Self {
        Self::exponential()
            .jitter(Jitter::None)
            .max_attempts(series::CONNECT_ATTEMPTS)
    }

    /// An algorithm of your own: a function of the number of the retry, counted from 0. `max_backoff`
    /// limits the function's result, and the policy's jitter is applied to it. `base` is used only if
    /// the jitter needs it.
    ///
    /// If an algorithm is more than a function, give it to one operation:
    /// [`Retrying::delays`](crate::Retrying::delays).
    ///
    /// ```
    /// use backoff_core::{Jitter, Policy};
    /// use std::time::Duration;
    ///
    /// fn squares(n: u32) -> Duration {
    ///     Duration::from_millis(100) * (n + 1).saturating_pow(2)
    /// }
    ///
    /// const POLICY: Policy = Policy::custom(squares).jitter(Jitter::None);
    /// assert_eq!(POLICY.backoff(2, Duration::ZERO, 0), Duration::from_millis(900));
    /// ```
    pub const fn custom(delay: fn(u32) -> Duration) -> Self {
        Self::growing(Growth::Custom(delay), Duration::from_secs(1))
    }

    /// The first wait, before jitter. With a base of zero, a retry follows without a wait, unless the
    /// jitter adds one. Such a policy makes five attempts, even if it has a deadline, unless
    /// [`max_attempts`](Self::max_attempts) sets another number.
    pub const fn base(mut self, base: Duration) -> Self {
        self.base = nanos(base);
        self.settled()
    }

    /// The factor between a wait and the wait before it, at least 1. The factors 1 and 2 are exact.
    /// With any other factor, a wait is rounded by a nanosecond or by one part in 10¹³, whichever is
    /// more.
    ///
    /// # Panics
    /// Panics if `factor` is below 1, infinite or NaN, or if the policy is not exponential. In a
    /// constant, the panic is a compile error.
    #[track_caller]
    pub const fn factor(mut self, factor: f64) -> Self {
        assert!(
            matches!(self.growth, Growth::Exponential(_)),
            "`factor` belongs to exponential backoff: begin with `Policy::exponential()`"
        );
        self.growth = Growth::Exponential(exponential::checked(factor));
        self.settled()
    }

    /// The first wait after throttling, if it differs from `base`: the AWS SDKs wait longer after a 429
    /// than after a 500.
    pub const fn throttled_base(mut self, base: Duration) -> Self {
        self.throttled_base = limited(nanos(base));
        self.settled()
    }

    /// The longest wait of the backoff, jitter included. Only a server's hint can make a wait longer.
    pub const fn max_backoff(mut self, max_backoff: Duration) -> Self {
        self.max_backoff = nanos(max_backoff);
        self.settled()
    }

    /// The random part of a wait.
    ///
    /// # Panics
    /// Panics if the share of a proportional jitter is not within 0 to 1. In a constant, the panic is a
    /// compile error.
    #[track_caller]
    pub const fn jitter(mut self, jitter: Jitter) -> Self {
        self.jitter = Spread::new(jitter);
        self.settled()
    }

    /// The highest number of calls of the operation, the first call included: 1 means no retry.
    ///
    /// The default is 5 attempts without a deadline, and as many attempts as fit with a deadline. A
    /// policy whose waits are all zero makes 5 attempts even with a deadline: without a pause, the
    /// policy would call a failing service some hundred thousand times a second. A number above
    /// 1,048,575 is reduced to 1,048,575.
    ///
    /// # Panics
    /// Panics if `max_attempts` is 0. In a constant, the panic is a compile error.
    #[track_caller]
    pub const fn max_attempts(mut self, max_attempts: u32) -> Self {
        assert!(max_attempts > 0, "{}", NO_ATTEMPTS);
        self.max_attempts = if max_attempts > MOST_ATTEMPTS {
            MOST_ATTEMPTS
        } else {
            max_attempts
        };
        self.settled()
    }

    /// The time limit for all attempts and waits together. The time starts before the first attempt.
    ///
    /// A wait that would end after the deadline does not begin: the call returns the last error at
    /// once. The deadline does not cut a running attempt; for that, set an attempt timeout. If an async
    /// timer wakes late, the next attempt begins late, perhaps after the deadline; a blocking retry
    /// stops in that case. A deadline of more than a year is reduced to a year.
    ///
    /// # How many calls a deadline allows
    ///
    /// A deadline alone does not limit the number of calls: with short waits, many calls fit. If each
    /// call fails at once, 300 s hold about 15 calls with the waits of `Policy::exponential()`, and
    /// with a [`max_backoff`](Self::max_backoff) of 10 ms about 60,000 (about 54,600 with tokio's
    /// timer, which rounds each wait up to a millisecond). [`explain`](Self::explain) shows the number
    /// for a policy without jitter. [`max_attempts`](Self::max_attempts) limits the number for one operation, and a
    /// [`budget`](Self::budget) limits the calls of a whole program. If all waits of the policy are
    /// zero, five attempts are made and no more. (A server's hint can make such a wait longer, but the
    /// five attempts stay the limit. The waits of [`Policy::custom`] are not known beforehand, so the
    /// deadline alone limits them.)
    ///
    /// ```
    /// use backoff_core::Policy;
    /// use std::time::Duration;
    ///
    /// const HASTY: Policy = Policy::exponential()
    ///     .max_backoff(Duration::from_millis(10))
    ///     .deadline(Duration::from_secs(300));
    /// const NEVER_WAITS: Policy = HASTY.base(Duration::ZERO);
    /// assert!(NEVER_WAITS.to_string().contains("gives up after 5 attempts, because it never waits"));
    /// ```
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        let deadline = nanos(deadline);
        self.deadline = if deadline > MOST_DEADLINE {
            MOST_DEADLINE
        } else {
            deadline
        };
        self.settled()
    }

    /// The HTTP statuses and gRPC codes that are retried. They replace the codes set so far.
    pub const fn on(mut self, codes: Codes) -> Self {
        self.codes = codes;
        self
    }

    /// HTTP statuses and gRPC codes that are retried in addition to the codes set so far.
    ///
    /// ```
    /// use backoff_core::{Codes, Policy, codes};
    ///
    /// const POLICY: Policy = Policy::exponential().on(codes![503]).also_on(codes![Codes::ABORTED]);
    /// assert_eq!(POLICY, Policy::exponential().on(codes![503, Codes::ABORTED]));
    /// ```
    pub const fn also_on(mut self, codes: Codes) -> Self {
        self.codes = self.codes.union(codes);
        self
    }

    /// A reply for which this rule returns `true` is throttled, and so the reply is retried, whatever its status is. The
    /// policy asks the rule about each error that has a status and has neither a [kind](crate::Fault::kind) nor a gRPC
    /// code. The setting is for a service that says a limit in a way of its own: GitHub sends a 403. Without this call
    /// there is no rule.
    ///
    /// ```
    /// use backoff_core::{Fault, Policy, Verdict};
    ///
    /// struct Reply { status: u16, left: &'static str }
    /// impl Fault for Reply {
    ///     fn status(&self) -> Option<u16> { Some(self.status) }
    ///     fn header(&self, name: &str) -> Option<&str> { (name == "x-left").then_some(self.left) }
    /// }
    ///
    /// fn is_limit(fault: &dyn Fault) -> bool {
    ///     fault.status() == Some(403) && fault.header("x-left") == Some("0")
    /// }
    /// const POLICY: Policy = Policy::exponential().throttled_if(is_limit);
    ///
    /// let judged = |left| POLICY.judge(&Reply { status: 403, left });
    /// assert!(matches!(judged("0"), Verdict::Retry { .. }));
    /// assert_eq!(judged("7"), Verdict::Permanent);
    /// ```
    pub const fn throttled_if(mut self, rule: fn(&dyn Fault) -> bool) -> Self {
        self.throttled_if = Some(rule);
        self
    }

    /// Whether an error whose kind is [`FaultKind::Conflict`](crate::FaultKind::Conflict) is retried.
    ///
    /// Set this to `true` only if the operation reads again before it writes: without a new read, the
    /// same write fails every time.
    pub const fn retry_conflicts(mut self, retry: bool) -> Self {
        self.conflicts = retry;
        self
    }

    /// Whether the operation may be applied twice without harm, or carries a precondition (an etag, a
    /// generation, a request id).
    ///
    /// With `false`, a failure is retried only if the request was surely not applied, or if the server
    /// says that it did not apply the request. Any other retryable failure ends with
    /// [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied):
    ///
    /// | failure | applied? | retried if not idempotent |
    /// |---|---|---|
    /// | no such name, refused, connect timeout, stream refused ([`Delivery::NotSent`](crate::Delivery)) | no | yes |
    /// | 429, `RESOURCE_EXHAUSTED`, [`FaultKind::Throttled`] | no: the server says so | yes |
    /// | 409, 412, `ABORTED`, `FAILED_PRECONDITION`, [`FaultKind::Conflict`] | no: the server says so | if the policy retries them |
    /// | 403, `PERMISSION_DENIED`, 408, 425, 449 | no: the server says so | if the policy names the code |
    /// | 409, 449 with [`FaultKind::Transient`] | no: the server says so | yes |
    /// | any error in a [`NotApplied`](crate::NotApplied) | no: the caller says so | if the policy retries the error |
    /// | [`FaultKind::Pending`] | nothing failed | yes |
    /// | reset, reply lost or cut, attempt timed out ([`Delivery::MaybeSent`](crate::Delivery)) | perhaps | no |
    /// | 500, 502, 503, 504, `UNAVAILABLE`, `INTERNAL`, [`FaultKind::Transient`] | perhaps: a proxy may have sent it | no |
    ///
    /// If an error states several of these facts, the transport failure is used first, then the kind,
    /// then the gRPC code, then the HTTP status. The table applies to [`when`](Self::when) too. A
    /// function given to [`when_any`](Self::when_any) sees no such facts and decides alone.
    ///
    /// ```
    /// use backoff_core::{Fault, Policy, Delivery, Verdict};
    ///
    /// struct Reset;
    /// impl Fault for Reset {
    ///     fn delivery(&self) -> Option<Delivery> { Some(Delivery::MaybeSent) }
    /// }
    ///
    /// const PAYMENT: Policy = Policy::exponential().idempotent(false);
    /// assert_eq!(PAYMENT.judge(&Reset), Verdict::MaybeApplied);
    /// assert!(matches!(Policy::exponential().judge(&Reset), Verdict::Retry { .. }));
    /// ```
    pub const fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = idempotent;
        self.by_method = idempotent;
        self
    }

    /// Lets the method and the headers of an HTTP request say whether it may be made twice, wherever the
    /// library sees the request: in `send` of the crate `backoff-cloud`, and in the layer of tower. A `PUT`
    /// may, a `POST` only with a key or a precondition.
    ///
    /// Everywhere else (in an attribute, around a closure, inside a client) nobody sees a request, and the
    /// policy counts as [`idempotent(false)`](Self::idempotent). So the policy is safe around any request. A
    /// policy that is idempotent asks the request too where it is seen, and repeats everything elsewhere.
    ///
    /// The last call of this and of [`idempotent`](Self::idempotent) counts.
    ///
    /// ```
    /// use backoff_core::{Fault, Policy, Delivery, Verdict};
    ///
    /// struct Reset;
    /// impl Fault for Reset {
    ///     fn delivery(&self) -> Option<Delivery> { Some(Delivery::MaybeSent) }
    /// }
    ///
    /// const REST: Policy = Policy::exponential().idempotent_by_method();
    /// assert_eq!(REST.judge(&Reset), Verdict::MaybeApplied);
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

    /// The longest `Retry-After` (or similar hint) that the policy waits for. A longer hint ends the
    /// retries at once, with [`StopReason::RetryAfter`](crate::StopReason::RetryAfter).
    ///
    /// The default is the deadline or the [timeout](crate::Retrying::timeout) of the call. Without
    /// either, the limit is 5 minutes.
    ///
    /// The limit applies to each wait, not to the sum of the waits: if every reply asks for 5 minutes,
    /// a policy waits 5 minutes before each of its retries. `Policy::exponential()` (4 retries) then
    /// waits 20 minutes in all, and a policy of 10 attempts, such as `memorystore::REQUEST` of the
    /// crate `backoff-cloud`, waits 45 minutes. A [`deadline`](Self::deadline) limits the sum.
    ///
    /// ```
    /// use backoff_core::{Decision, Policy, RetryState, StopReason, Verdict};
    /// use std::time::Duration;
    ///
    /// let an_hour = Verdict::from(true).after(Some(Duration::from_secs(3_600)));
    /// let decide = |policy: Policy| {
    ///     let mut retry = RetryState::start(&policy, || Duration::ZERO);
    ///     retry.failed(&policy, an_hour, || Duration::ZERO, || 0)
    /// };
    /// let policy = Policy::exponential();
    /// assert_eq!(decide(policy), Decision::Stop(StopReason::RetryAfter));
    /// let patient = policy.max_retry_after(Duration::from_secs(7_200));
    /// assert!(matches!(decide(patient), Decision::Wait(_)));
    /// ```
    pub const fn max_retry_after(mut self, longest: Duration) -> Self {
        self.max_retry_after = limited(nanos(longest));
        self
    }

    /// How much longer than the backoff a hint may make a wait. The part of the hint beyond this limit
    /// is ignored. Unlike [`max_retry_after`](Self::max_retry_after), this limit does not end the
    /// retries. The AWS SDKs allow 5 s.
    pub const fn retry_after_slack(mut self, slack: Duration) -> Self {
        self.retry_after_slack = limited(nanos(slack));
        self
    }

    /// Whether a wait is the sum of the hint and the backoff if the hint is longer than the backoff.
    /// With `false`, the wait is the hint alone.
    ///
    /// If a server tells all clients `Retry-After: 1`, all clients come back at once: the hint undoes
    /// the jitter. In the simulation of 500 calls against a limit of 50 a second, the largest number of
    /// calls within 0.1 s is then 450. With `spread_retry_after(true)`, this number is 55, fewer calls
    /// are made, and all calls are done sooner
    /// (`cargo run --release -p examples --example simulation -- batch`). If a server gives each client
    /// a different time, the setting costs a second.
    ///
    /// ```
    /// use backoff_core::{Decision, Policy, RetryState, Verdict};
    /// use std::time::Duration;
    ///
    /// let second = Duration::from_secs(1);
    /// let policy = Policy::exponential().spread_retry_after(true);
    /// let hinted = Verdict::from(true).after(Some(30 * second));
    /// let mut retry = RetryState::start(&policy, || Duration::ZERO);
    /// let Decision::Wait(wait) = retry.failed(&policy, hinted, || Duration::ZERO, || u64::MAX)
    /// else { unreachable!() };
    /// assert_eq!(wait.delay, 31 * second);
    /// ```
    pub const fn spread_retry_after(mut self, spread: bool) -> Self {
        self.spread_retry_after = spread;
        self
    }

    /// Whether a hint is the whole wait after throttling, even if the backoff is longer. Then the wait has no jitter. The
    /// setting is for a service whose [`throttled_base`](Self::throttled_base) is meant for a reply that names no time.
    /// The default is `false`: the wait is the longer one of the hint and the backoff.
    ///
    /// ```
    /// use backoff_core::{Decision, FaultKind, Policy, RetryState, Verdict};
    /// use std::time::Duration;
    ///
    /// let minute = Duration::from_secs(60);
    /// let policy = Policy::exponential().throttled_base(minute).retry_after_alone(true);
    /// let second = Duration::from_secs(1);
    /// let limited = Verdict::Retry { kind: FaultKind::Throttled, retry_after: Some(second) };
    /// let mut retry = RetryState::start(&policy, || Duration::ZERO);
    /// let Decision::Wait(wait) = retry.failed(&policy, limited, || Duration::ZERO, || u64::MAX)
    /// else { unreachable!() };
    /// assert_eq!(wait.delay, second);
    /// ```
    pub const fn retry_after_alone(mut self, alone: bool) -> Self {
        self.retry_after_alone = alone;
        self
    }

    /// The budget whose tokens all retries of one service take. Without tokens there is no retry, and the
    /// call ends with [`StopReason::Budget`](crate::StopReason::Budget). See [`Budget`].
    pub const fn budget(mut self, budget: &'static Budget) -> Self {
        self.budget = Some(budget);
        self.settled()
    }

    /// Removes the budget: the policy retries as long as its other limits allow.
    pub const fn without_budget(mut self) -> Self {
        self.budget = None;
        self.settled()
    }

    /// All calls with this rate go as fast as the service allows, which they learn from its 429s. After a 429,
    /// all calls wait in the queue of the [`Rate`], whose page describes the order and the limits.
    ///
    /// ```
    /// use backoff_core::{Policy, Rate};
    ///
    /// static GMAIL: Rate = Rate::new();
    /// const POLICY: Policy = Policy::exponential().rate(&GMAIL);
    /// ```
    #[cfg(feature = "rate")]
    pub const fn rate(mut self, rate: &'static Rate) -> Self {
        self.rate = Some(rate);
        self.settled()
    }

    /// The rate, if there is one.
    #[inline]
    pub(crate) const fn shared_rate(&self) -> Option<&'static Rate> {
        #[cfg(feature = "rate")]
        return self.rate;
        #[cfg(not(feature = "rate"))]
        return None;
    }

    /// The level of the log event before each wait. The default is `INFO`; [`LogLevel::Off`] writes no
    /// event. The events at the end of a call have [fixed levels](crate::telemetry). So has the wait for a
    /// value that is not the awaited one yet, `DEBUG`, unless this level is `TRACE` or `Off`. Without the
    /// feature `tracing`, nothing is logged.
    ///
    /// ```
    /// use backoff_core::{LogLevel, Policy};
    ///
    /// // A cache that often refuses: its retries are no news.
    /// const CACHE: Policy = Policy::exponential().log_waits(LogLevel::Debug);
    /// ```
    pub const fn log_waits(mut self, level: LogLevel) -> Self {
        self.log_waits = level;
        self
    }

    /// The name of the policy in metrics, as the label `retry.policy`. Without a name, the label is
    /// left out. A policy that is made from this policy keeps the name.
    ///
    /// ```
    /// use backoff_core::Policy;
    ///
    /// const IAM: Policy = Policy::exponential().name("iam").max_attempts(8);
    /// ```
    pub const fn name(mut self, name: &'static str) -> Self {
        self.name = Some(name);
        self
    }

    /// The same policy with all its times multiplied: `scaled(0.01)` makes a test a hundred times as
    /// fast, `scaled(2.0)` makes a client twice as patient. Limits that are not set stay unset. The
    /// waits of a custom function do not change.
    ///
    /// ```
    /// use backoff_core::Policy;
    /// use std::time::Duration;
    ///
    /// const FAST: Policy = Policy::exponential().deadline(Duration::from_secs(300)).scaled(0.01);
    /// let by_hand = Policy::exponential()
    ///     .base(Duration::from_millis(10))
    ///     .max_backoff(Duration::from_millis(640))
    ///     .deadline(Duration::from_secs(3));
    /// assert_eq!(FAST, by_hand);
    /// ```
    ///
    /// # Panics
    /// Panics if `by` is not a finite number above 0. In a constant, the panic is a compile error.
    #[track_caller]
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
            set if scaled(set, by) > MOST_DEADLINE => MOST_DEADLINE,
            set => scaled(set, by),
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

    /// The wait before a retry, as a pure function. `retry` counts from 0. `previous` is the wait
    /// before this one (zero at first; only decorrelated jitter uses it). `random` is drawn uniformly
    /// from all of `u64`. The result is between zero and `max_backoff`.
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
        if !matches!(self.fast_path, FastPath::None) {
            return self.simple_backoff(retry, random());
        }
        let previous = if self.remembers() { previous() } else { 0 };
        let random = if self.is_random() { random() } else { 0 };
        self.any_backoff(kind, retry, previous, random)
    }

    /// Whether the number of the retry and a random number suffice to compute the wait. For any other
    /// retry, the state must check whether the retry is allowed.
    #[inline]
    pub(crate) const fn is_simple(&self, retry: u32) -> bool {
        retry < self.simple_retries
    }

    /// The wait, if the policy has a fast path.
    #[inline]
    pub(crate) fn simple_backoff(&self, retry: u32, random: u64) -> u64 {
        let doubled = exponential::doubled(self.base, self.max_backoff, retry);
        match self.fast_path {
            FastPath::Additive(most) => doubled
                .saturating_add(uniform(most, random))
                .min(self.max_backoff),
            FastPath::Full | FastPath::None => uniform(doubled, random),
        }
    }

    /// A separate function, so that the fast paths are inlined.
    #[inline(never)]
    fn any_backoff(&self, kind: FaultKind, retry: u32, previous: u64, random: u64) -> u64 {
        let base = match kind {
            FaultKind::Throttled if self.throttled_base != NEVER => self.throttled_base,
            _ => self.base,
        };
        let plain = |cap| self.growth.delay(base, cap, retry);
        self.jitter
            .apply(plain, base, self.max_backoff, previous, random)
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

    /// The highest number of attempts; `u32::MAX` if only the deadline limits the attempts.
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
            0 if self.waits => u32::MAX,
            // Calls without a pause until the time limit would be an attack, not a retry.
            0 => DEFAULT_ATTEMPTS,
            set => set,
        }
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

/// Keeps a limit below `NEVER`, so that the value stays a limit (584 years at most).
const fn limited(nanos: u64) -> u64 {
    if nanos == NEVER { NEVER - 1 } else { nanos }
}
