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
            /// The first wait, before jitter. With zero, a retry follows without a wait, unless the jitter adds one.
            base(base: Duration): u64 = 1_000_000_000 => nanos(base),
                key first_wait r#"a time with its unit: `"250ms"`, `"64s"`, `"1m 30s"`"#;

            /// The first wait after throttling, in place of `base`.
            throttled_base(base: Duration): u64 = NEVER => limited(nanos(base)),
                key time "a time";

            /// The longest wait, jitter included. Only a server's hint makes a wait longer.
            max_backoff(max_backoff: Duration): u64 = 64_000_000_000 => nanos(max_backoff),
                key time "a time";

            /// The random part of a wait.
            ///
            /// # Panics
            /// If the share of a proportional jitter is not within 0 to 1.
            #[track_caller]
            jitter(jitter: Jitter): Spread = Spread::Full => Spread::new(jitter),
                key jitter r#"`"full"`, `"equal"`, `"decorrelated"`, `"none"`, `"slots"`, `"whole_seconds"`, `"additive(1s)"`, `"additive_within(1s)"`, `"proportional(0.2)"`"#;

            /// The highest number of calls of the operation, the first call included; at most 262,143, or
            /// [`UNLIMITED`](Self::UNLIMITED). Without this number, a policy whose waits from one of its bases are all zero makes 5
            /// attempts, even with a deadline. Where another library says `max_retries(n)`, write `max_attempts(n + 1)`.
            ///
            /// # Panics
            /// If `max_attempts` is 0.
            #[doc(alias("max_retries", "max retries", "retry count"))]
            #[track_caller]
            max_attempts(max_attempts: u32): u32 = 0 => checked_attempts(max_attempts),
                key attempts r#"a whole number from 1, the first call included, or `"unlimited"`"#;

            /// The time limit for all attempts and waits, from before the first attempt; at most a year. A wait that would end later
            /// does not begin: the call returns the last error at once. A running attempt goes on;
            /// [`timeout`](crate::Retrying::timeout) cuts it. See also [late timers](crate::how_it_works#late-timers).
            ///
            /// A deadline allows many short waits: see [`max_attempts`](Self::max_attempts) and [`budget`](Self::budget).
            ///
            /// ```
            /// # use backoff_core::Policy;
            /// # use std::time::Duration;
            /// const PATIENT: Policy = Policy::exponential().deadline(Duration::from_secs(300));
            /// # const NEVER_WAITS: Policy = PATIENT.base(Duration::ZERO);
            /// # assert!(NEVER_WAITS.to_string().contains("gives up after 5 attempts, because it does not always wait"));
            /// ```
            deadline(deadline: Duration): u64 = NEVER => within_a_year(nanos(deadline)),
                key time "a time";

            /// A reply for which this function returns `true` counts as throttled and is retried. The policy asks about each error that has
            /// a status and neither a [kind](crate::Fault::kind) nor a gRPC code. GitHub answers 403 at a limit:
            ///
            /// ```
            /// # use backoff_core::{Fault, Policy, Verdict};
            /// # struct Reply { status: u16, left: &'static str }
            /// # impl Fault for Reply {
            /// #     fn status(&self) -> Option<u16> { Some(self.status) }
            /// #     fn header(&self, name: &str) -> Option<&str> { (name == "x-left").then_some(self.left) }
            /// # }
            /// fn is_limit(fault: &dyn Fault) -> bool {
            ///     fault.status() == Some(403) && fault.header("x-left") == Some("0")
            /// }
            /// const LIMITED: Policy = Policy::exponential().throttled_if(is_limit);
            /// # let judged = |left| LIMITED.judge(&Reply { status: 403, left });
            /// # assert!(matches!(judged("0"), Verdict::Retry { .. }));
            /// # assert_eq!(judged("7"), Verdict::Permanent);
            /// ```
            throttled_if(rule: fn(&dyn Fault) -> bool): Option<fn(&dyn Fault) -> bool> = None => Some(rule);

            /// Whether an error of the kind [`Conflict`](crate::FaultKind::Conflict) is retried: only for an operation that reads again
            /// before it writes.
            retry_conflicts(retry: bool): bool = false => retry,
                key yes_or_no "`true`, `false`";

            /// The longest `Retry-After` (or similar hint) that the policy waits for. A longer hint ends the call with
            /// [`StopReason::RetryAfter`](crate::StopReason::RetryAfter); a call that nothing else ends
            /// ([`UNLIMITED`](Self::UNLIMITED)) waits so long instead. The limit applies to each wait, not to their sum.
            ///
            /// ```
            /// # use backoff_core::{Decision, Policy, RetryState, StopReason, Verdict};
            /// # use std::time::Duration;
            /// # let an_hour = Verdict::from(true).after(Some(Duration::from_secs(3_600)));
            /// # let decide = |policy: Policy| {
            /// #     let mut retry = RetryState::start(&policy, || Duration::ZERO);
            /// #     retry.failed(&policy, an_hour, || Duration::ZERO, || 0)
            /// # };
            /// # assert_eq!(decide(Policy::exponential()), Decision::Stop(StopReason::RetryAfter));
            /// let patient = Policy::exponential().max_retry_after(Duration::from_secs(7_200));
            /// # assert!(matches!(decide(patient), Decision::Wait(_)));
            /// ```
            max_retry_after(longest: Duration): u64 = NEVER => limited(nanos(longest)),
                key time "a time; without it the deadline is the limit, else 5 minutes";

            /// How much longer than the backoff a hint may make a wait. The rest of the hint is ignored. The AWS SDKs allow 5 s.
            retry_after_slack(slack: Duration): u64 = NEVER => limited(nanos(slack)),
                key time "a time";

            /// Whether a hint that is longer than the backoff is added to the backoff. So clients that get the same hint do not come
            /// back together.
            ///
            /// ```
            /// # use backoff_core::{Decision, Policy, RetryState, Verdict};
            /// # use std::time::Duration;
            /// # let second = Duration::from_secs(1);
            /// let policy = Policy::exponential().spread_retry_after(true);
            /// # let hinted = Verdict::from(true).after(Some(30 * second));
            /// # let mut retry = RetryState::start(&policy, || Duration::ZERO);
            /// # let Decision::Wait(wait) = retry.failed(&policy, hinted, || Duration::ZERO, || u64::MAX)
            /// # else { unreachable!() };
            /// # assert_eq!(wait.delay, 31 * second);
            /// ```
            spread_retry_after(spread: bool): bool = false => spread,
                key yes_or_no "`true`, `false`";

            /// Whether, after throttling, the wait is the hint, even if the backoff is longer; at least the first wait from
            /// [`base`](Self::base), with its jitter.
            ///
            /// ```
            /// # use backoff_core::{Decision, FaultKind, Policy, RetryState, Verdict};
            /// # use std::time::Duration;
            /// # let minute = Duration::from_secs(60);
            /// # let policy = Policy::exponential().throttled_base(minute);
            /// let policy = policy.retry_after_alone(true);
            /// # let second = Duration::from_secs(1);
            /// # // The first wait is 1 s at most.
            /// # for (hint, waits) in [(5 * second, 5 * second), (Duration::ZERO, second)] {
            /// #     let limited = Verdict::Retry { kind: FaultKind::Throttled, retry_after: Some(hint) };
            /// #     let mut retry = RetryState::start(&policy, || Duration::ZERO);
            /// #     let Decision::Wait(wait) = retry.failed(&policy, limited, || Duration::ZERO, || u64::MAX)
            /// #     else { unreachable!() };
            /// #     assert_eq!(wait.delay, waits);
            /// # }
            /// ```
            retry_after_alone(alone: bool): bool = false => alone,
                key yes_or_no "`true`, `false`";

            /// The [`Budget`] whose tokens all retries of one service take. Without tokens, the call ends with
            /// [`StopReason::Budget`](crate::StopReason::Budget).
            budget(budget: &'static Budget): Option<&'static Budget> = None => Some(budget);

            /// The level of the log event before each wait, with the feature `tracing`. [Telemetry](crate::telemetry) has the levels of
            /// the other events.
            ///
            /// ```
            /// # use backoff_core::{LogLevel, Policy};
            /// const CACHE: Policy = Policy::exponential().log_waits(LogLevel::Off);
            /// ```
            #[doc(alias = "log level")]
            #[cfg_attr(
                not(feature = "tracing"),
                deprecated = "nothing is logged: turn on the feature `tracing` of `backoff-core` or `backoff-cloud`"
            )]
            log_waits(level: LogLevel): LogLevel = LogLevel::Info => level,
                key level r#"`"off"`, `"error"`, `"warn"`, `"info"`, `"debug"`, `"trace"`"#;

            /// The name of the policy in metrics: the label `retry.policy`. A policy made from this one keeps the name.
            ///
            /// ```
            /// # use backoff_core::Policy;
            /// const IAM: Policy = Policy::exponential().name("iam");
            /// ```
            name(name: &'static str): Option<&'static str> = None => Some(name);
        }
    };
}
