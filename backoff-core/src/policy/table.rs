//! Each rule of a policy, once: the documentation and name of its setter, its field, its default, and its key in a
//! configuration.

/// Gives all rules to a macro. A row is `setter(argument): type of the field = default => value of the field`. A rule
/// that a configuration may name has a key too: the function that reads the value, and the values in the documentation.
///
/// The other rules have setters in `build.rs` and keys in `config.rs`: the growth and its factor, the codes, whether the
/// operation may run twice, and the rate.
macro_rules! rules {
    ($define:ident) => {
        $define! {
            /// The first wait, before jitter. With a base of zero, a retry follows without a wait, unless the
            /// jitter adds one. Such a policy makes five attempts, even if it has a deadline, unless
            /// [`max_attempts`](Self::max_attempts) sets another number.
            base(base: Duration): u64 = 1_000_000_000 => nanos(base),
                key first_wait r#"a time with its unit: `"250ms"`, `"64s"`, `"1m 30s"`"#;

            /// The first wait after throttling, if it differs from `base`: the AWS SDKs wait longer after a 429
            /// than after a 500. With a base of zero, a policy makes five attempts, as with a [`base`](Self::base)
            /// of zero.
            throttled_base(base: Duration): u64 = NEVER => limited(nanos(base)),
                key time "a time";

            /// The longest wait of the backoff, jitter included. Only a server's hint can make a wait longer.
            max_backoff(max_backoff: Duration): u64 = 64_000_000_000 => nanos(max_backoff),
                key time "a time";

            /// The random part of a wait.
            ///
            /// # Panics
            /// Panics if the share of a proportional jitter is not within 0 to 1. In a constant, the panic is a
            /// compile error.
            #[track_caller]
            jitter(jitter: Jitter): Spread = Spread::Full => Spread::new(jitter),
                key jitter r#"`"full"`, `"equal"`, `"decorrelated"`, `"none"`, `"slots"`, `"whole_seconds"`, `"additive(1s)"`, `"additive_within(1s)"`, `"proportional(0.2)"`"#;

            /// The highest number of calls of the operation, the first call included: 1 means no retry.
            ///
            /// The default is 5 attempts without a deadline, and as many attempts as fit with a deadline. A
            /// policy whose waits after some failures are all zero, because its [`base`](Self::base) or its
            /// [`throttled_base`](Self::throttled_base) is zero, makes 5 attempts even with a deadline: without a
            /// pause, the policy would call a failing service some hundred thousand times a second. A number
            /// above 262,143 is reduced to 262,143.
            ///
            /// # Panics
            /// Panics if `max_attempts` is 0. In a constant, the panic is a compile error.
            #[doc(alias = "max_retries")]
            #[track_caller]
            max_attempts(max_attempts: u32): u32 = 0 => checked_attempts(max_attempts),
                key attempts "a whole number from 1, the first call included";

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
            /// [`budget`](Self::budget) limits the calls of a whole program. If the waits of the policy from one
            /// of its bases are zero, five attempts are made and no more. (A server's hint can make such a wait
            /// longer, but the five attempts stay the limit. The waits of [`Policy::custom`] are not known
            /// beforehand, so the deadline alone limits them.)
            ///
            /// ```
            /// use backoff_core::Policy;
            /// use std::time::Duration;
            ///
            /// const HASTY: Policy = Policy::exponential()
            ///     .max_backoff(Duration::from_millis(10))
            ///     .deadline(Duration::from_secs(300));
            /// const NEVER_WAITS: Policy = HASTY.base(Duration::ZERO);
            /// assert!(NEVER_WAITS.to_string().contains("gives up after 5 attempts, because it does not always wait"));
            /// ```
            deadline(deadline: Duration): u64 = NEVER => within_a_year(nanos(deadline)),
                key deadline "a time";

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
            throttled_if(rule: fn(&dyn Fault) -> bool): Option<fn(&dyn Fault) -> bool> = None => Some(rule);

            /// Whether an error whose kind is [`FaultKind::Conflict`](crate::FaultKind::Conflict) is retried.
            ///
            /// Set this to `true` only if the operation reads again before it writes: without a new read, the
            /// same write fails every time.
            retry_conflicts(retry: bool): bool = false => retry,
                key yes_or_no "`true`, `false`";

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
            max_retry_after(longest: Duration): u64 = NEVER => limited(nanos(longest)),
                key time "a time; without it the deadline is the limit, else 5 minutes";

            /// How much longer than the backoff a hint may make a wait. The part of the hint beyond this limit
            /// is ignored. Unlike [`max_retry_after`](Self::max_retry_after), this limit does not end the
            /// retries. The AWS SDKs allow 5 s.
            retry_after_slack(slack: Duration): u64 = NEVER => limited(nanos(slack)),
                key time "a time";

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
            spread_retry_after(spread: bool): bool = false => spread,
                key yes_or_no "`true`, `false`";

            /// Whether, after throttling, a hint takes the place of the backoff, even if the backoff is longer. The wait
            /// is then the hint, and at least the first wait from [`base`](Self::base), with its jitter: a hint of zero
            /// does not mean a retry at once. The setting is for a service whose
            /// [`throttled_base`](Self::throttled_base) is meant for a reply that names no time. The default is
            /// `false`: the wait is the longer one of the hint and the backoff.
            ///
            /// ```
            /// use backoff_core::{Decision, FaultKind, Policy, RetryState, Verdict};
            /// use std::time::Duration;
            ///
            /// let minute = Duration::from_secs(60);
            /// let policy = Policy::exponential().throttled_base(minute).retry_after_alone(true);
            /// let second = Duration::from_secs(1);
            /// // The first wait is 1 s at most.
            /// for (hint, waits) in [(5 * second, 5 * second), (Duration::ZERO, second)] {
            ///     let limited = Verdict::Retry { kind: FaultKind::Throttled, retry_after: Some(hint) };
            ///     let mut retry = RetryState::start(&policy, || Duration::ZERO);
            ///     let Decision::Wait(wait) = retry.failed(&policy, limited, || Duration::ZERO, || u64::MAX)
            ///     else { unreachable!() };
            ///     assert_eq!(wait.delay, waits);
            /// }
            /// ```
            retry_after_alone(alone: bool): bool = false => alone,
                key yes_or_no "`true`, `false`";

            /// The budget whose tokens all retries of one service take. Without tokens there is no retry, and the
            /// call ends with [`StopReason::Budget`](crate::StopReason::Budget). See [`Budget`].
            budget(budget: &'static Budget): Option<&'static Budget> = None => Some(budget);

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
            #[cfg_attr(
                not(feature = "tracing"),
                deprecated = "nothing is logged: turn on the feature `tracing` of `backoff-core` or `backoff-cloud`"
            )]
            log_waits(level: LogLevel): LogLevel = LogLevel::Info => level,
                key level r#"`"off"`, `"error"`, `"warn"`, `"info"`, `"debug"`, `"trace"`"#;

            /// The name of the policy in metrics, as the label `retry.policy`. Without a name, the label is
            /// left out. A policy that is made from this policy keeps the name.
            ///
            /// ```
            /// use backoff_core::Policy;
            ///
            /// const IAM: Policy = Policy::exponential().name("iam").max_attempts(8);
            /// ```
            name(name: &'static str): Option<&'static str> = None => Some(name);
        }
    };
}
