//! A policy in the three roles that gax knows: it decides about errors, says how long to wait, and
//! hears of successes.

use backoff_core::{__private::ForeignCall, Clock, Decision, Policy, Random, StopReason, Tokio};
use google_cloud_gax_1::{
    backoff_policy::BackoffPolicy, error::Error, retry_policy::RetryPolicy,
    retry_result::RetryResult, retry_state::RetryState as Loop, retry_throttler::RetryThrottler,
    throttle_result::ThrottleResult,
};
use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

/// Makes a retry policy, a backoff policy and a throttler of gax from a policy, for an interface that takes
/// them one by one.
///
/// Set all three. Without the retry policy, hints of the server are ignored. Without the throttler, the budget
/// gets no tokens for successes, and gax's own throttler may refuse a retry: then the call ends at once with
/// the last error, and the budget does not get back the tokens for the wait before.
///
/// # With other parts of gax
///
/// Set limits in the policy ([`Policy::max_attempts`], [`Policy::deadline`]). If a part of gax wraps the retry
/// policy, or replaces one of the other two, less is known:
///
/// - A limit around the retry policy (`adapted.with_attempt_limit(3)`) ends a call that the policy would have
///   continued. The log then has an event of the wait. If the throttler is this one, logs and metrics get the end
///   with the reason `attempts`, and the budget gets its tokens back. With another throttler, or if
///   `with_time_limit` ends the call because the wait is too long, logs and metrics get no end, and the budget
///   gets no tokens back.
/// - If your own retry policy wraps this one, it must forward `remaining_time` too. Otherwise the deadline
///   does not limit the attempts.
/// - With another backoff policy the log shows this policy's wait, not the real one.
///
/// ```
/// use backoff_cloud::{gax, memorystore};
/// # use google_cloud_gax_1 as google_cloud_gax;
/// use google_cloud_gax::options::RequestOptions;
///
/// let adapted = gax::adapt(memorystore::REQUEST);
/// let mut options = RequestOptions::default();
/// options.set_retry_policy(adapted.clone());
/// options.set_backoff_policy(adapted.clone());
/// options.set_retry_throttler(adapted);
/// ```
pub fn adapt(policy: Policy) -> Adapted {
    Adapted {
        policy: Arc::new(policy),
        operation: None,
    }
}

/// A policy as `RetryPolicy`, `BackoffPolicy` and `RetryThrottler` of gax. Made by [`adapt`]. Use clones of
/// one `Adapted` for the three.
#[derive(Clone, Debug)]
pub struct Adapted {
    policy: Arc<Policy>,
    operation: Option<&'static str>,
}

impl Adapted {
    /// Names the operation in log events and metrics. Without this call the name is the one that
    /// [`with_policy`](super::WithPolicy::with_policy) gives, or `google_cloud_gax`.
    ///
    /// ```
    /// use backoff_cloud::{gax, memorystore};
    ///
    /// let adapted = gax::adapt(memorystore::REQUEST).operation("secrets");
    /// ```
    #[must_use]
    pub fn operation(mut self, name: &'static str) -> Self {
        self.operation = Some(name);
        self
    }

    /// Sets this name, unless there is one.
    pub(super) fn named(mut self, name: &'static str) -> Self {
        self.operation.get_or_insert(name);
        self
    }
}

/// The same as [`adapt`].
impl From<Policy> for Adapted {
    fn from(policy: Policy) -> Self {
        adapt(policy)
    }
}

/// The decision of `on_error`, kept for the calls that gax makes next. `on_failure` needs it because a backoff
/// policy does not see the error with its hint. Then `on_retry_failure` learns whether the loop goes on, and
/// `remaining_time` says, before the wait, how long the attempt after the wait may take.
///
/// gax makes these four calls in one task without an await between them, so nothing else on this thread
/// overwrites the decision. It has the loop's start and attempt, so that a backoff policy beside another retry
/// policy does not take the decision about another loop.
struct Handed {
    /// The policy's address, for the throttler, which does not see the loop.
    owner: usize,
    start: Instant,
    attempt: u32,
    delay: Duration,
    /// Whether the loop waits for `delay`, because the backoff policy is ours too.
    is_waited: bool,
    /// A policy around ours may still end the call.
    call: ForeignCall,
}

impl Handed {
    /// Takes the decision, if it is about this loop. A decision about another loop is dropped.
    fn take(state: &Loop) -> Option<Self> {
        HANDED
            .take()
            .filter(|it| (it.start, it.attempt) == (state.start, state.attempt_count))
    }
}

thread_local! {
    static HANDED: Cell<Option<Handed>> = const { Cell::new(None) };
}

/// A clock that starts with the loop, and tokio's random numbers. Tokio's clock is that of gax's loop too, so that
/// paused time works.
struct Since(Instant);

impl Clock for Since {
    fn now(&self) -> Duration {
        let now = tokio::time::Instant::now().into_std();
        now.saturating_duration_since(self.0)
    }
}

impl Random for Since {
    fn random(&self) -> u64 {
        #[cfg(test)]
        if let Some(drawn) = tests::DRAWN.get() {
            return drawn;
        }
        Tokio.random()
    }
}

impl Adapted {
    /// The call of this loop, after this number of failed attempts. gax may know that the request is idempotent.
    fn call(&self, state: &Loop, failures: u32) -> ForeignCall {
        let policy = match state.idempotent {
            true => self.policy.idempotent(true),
            false => *self.policy,
        };
        let operation = self.operation.unwrap_or("google_cloud_gax");
        let clock = Since(state.start);
        ForeignCall::request(policy, operation, Duration::ZERO, failures, &clock)
    }

    fn owner(&self) -> usize {
        Arc::as_ptr(&self.policy).addr()
    }
}

impl RetryPolicy for Adapted {
    fn on_error(&self, state: &Loop, error: Error) -> RetryResult {
        let mut call = self.call(state, state.attempt_count.saturating_sub(1));
        match call.failed(&Since(state.start), &error) {
            Decision::Wait(wait) => {
                HANDED.set(Some(Handed {
                    owner: self.owner(),
                    start: state.start,
                    attempt: state.attempt_count,
                    delay: wait.delay,
                    is_waited: false,
                    call,
                }));
                RetryResult::Continue(error)
            }
            Decision::Stop(reason) => {
                HANDED.set(None);
                match reason.is_final() {
                    true => RetryResult::Permanent(error),
                    false => RetryResult::Exhausted(error),
                }
            }
        }
    }

    /// Another throttler has refused the attempt. To continue would mean to wait without attempts until the time
    /// is over.
    fn on_throttle(&self, state: &Loop, error: Error) -> ThrottleResult {
        let mut call = self.call(state, state.attempt_count);
        call.given_up(&Since(state.start), &error, StopReason::Budget);
        ThrottleResult::Exhausted(error)
    }

    fn remaining_time(&self, state: &Loop) -> Option<Duration> {
        let remaining = self.call(state, 0).remaining(&Since(state.start));
        let handed = Handed::take(state).filter(|handed| handed.is_waited);
        let wait = handed.map_or(Duration::ZERO, |handed| handed.delay);
        // gax gives up if this is less than the wait, even if there is time for the attempt.
        (remaining != Duration::MAX).then(|| remaining.saturating_sub(wait).max(wait))
    }
}

impl BackoffPolicy for Adapted {
    fn on_failure(&self, state: &Loop) -> Duration {
        match Handed::take(state) {
            Some(mut handed) => {
                handed.is_waited = true;
                let delay = handed.delay;
                HANDED.set(Some(handed));
                delay
            }
            // The call ends, or another retry policy decides.
            None => {
                let retry = state.attempt_count.saturating_sub(1);
                let random = Tokio.random();
                self.policy.backoff(retry, Duration::ZERO, random)
            }
        }
    }
}

/// Refuses no attempt: the retry has taken its tokens before the wait.
impl RetryThrottler for Adapted {
    fn throttle_retry_attempt(&self) -> bool {
        false
    }

    /// Ends the call if we have continued it and a policy around ours, such as `with_attempt_limit`, ends it.
    fn on_retry_failure(&mut self, flow: &RetryResult) {
        let (reason, error) = match flow {
            RetryResult::Continue(_) => return,
            RetryResult::Permanent(error) => (StopReason::Permanent, error),
            RetryResult::Exhausted(error) => (StopReason::Attempts, error),
        };
        let handed = HANDED.take().filter(|it| it.owner == self.owner());
        if let Some(mut handed) = handed {
            let clock = Since(handed.start);
            unless_panicking(|| handed.call.given_up(&clock, error, reason));
        }
    }

    fn on_success(&mut self) {
        unless_panicking(|| ForeignCall::one_succeeded(&self.policy));
    }
}

/// Reports to logs and metrics. gax holds its lock meanwhile, and makes no call to us after it. A panic of a
/// subscriber or a recorder must not leave this function: it would poison the lock, and every later call of
/// the client would panic.
fn unless_panicking(report: impl FnOnce()) {
    drop(catch_unwind(AssertUnwindSafe(report)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use backoff_core::{Budget, Jitter, codes};
    use google_cloud_gax_1::error::rpc::{Code, Status};

    const SECOND: Duration = Duration::from_secs(1);
    const PLAIN: Policy = Policy::exponential().jitter(Jitter::None);

    thread_local! {
        /// The number that this thread draws instead of a random one.
        pub(super) static DRAWN: Cell<Option<u64>> = const { Cell::new(None) };
    }

    fn grpc(code: Code) -> Error {
        Error::service(Status::default().set_code(code))
    }

    fn unavailable() -> Error {
        grpc(Code::Unavailable)
    }

    /// A loop of gax that asks the policy.
    struct Asked {
        adapted: Adapted,
        start: tokio::time::Instant,
    }

    impl Asked {
        fn begin(policy: Policy) -> Self {
            Asked {
                adapted: adapt(policy),
                start: tokio::time::Instant::now(),
            }
        }

        /// The loop's state after this number of attempts.
        fn state(&self, attempts: u32) -> Loop {
            let state = Loop::new(true).set_start(self.start.into_std());
            state.set_attempt_count(attempts)
        }

        fn remaining(&self, attempts: u32) -> Option<Duration> {
            self.adapted.remaining_time(&self.state(attempts))
        }

        /// The wait after this attempt has failed.
        fn wait(&self, attempt: u32) -> Option<Duration> {
            let state = self.state(attempt);
            let flow = self.adapted.on_error(&state, unavailable());
            let delay = self.adapted.on_failure(&state);
            self.adapted.clone().on_retry_failure(&flow);
            flow.is_continue().then_some(delay)
        }
    }

    /// A row: the policy, whether gax says that the request is idempotent, the error, and whether the call
    /// goes on. If it does not go on, the error is permanent.
    #[tokio::test(start_paused = true)]
    async fn what_follows_from_an_error() {
        let conflicts = codes![409, 412, 503, backoff_core::Codes::FAILED_PRECONDITION];
        // Conflicts are not repeated, whatever the policy says.
        let eager = PLAIN.on(conflicts).retry_conflicts(true);
        let careful = PLAIN.idempotent(false);
        let page = |status| Error::http(status, Default::default(), "<html>".into());
        for (policy, is_idempotent, error, goes_on) in [
            (eager, true, grpc(Code::Aborted), false),
            (eager, true, grpc(Code::FailedPrecondition), false),
            (eager, true, page(409), false),
            (eager, true, page(412), false),
            (eager, true, unavailable(), true),
            (careful, true, unavailable(), true),
            (careful, false, unavailable(), false),
            (careful, false, Error::connect("refused"), true),
            (PLAIN, false, unavailable(), true),
            (PLAIN.on(codes![429]), true, unavailable(), false),
        ] {
            let asked = Asked::begin(policy);
            let what = format!("{policy:?}, {is_idempotent}, {error}");
            let state = asked.state(1).set_idempotent(is_idempotent);
            let flow = asked.adapted.on_error(&state, error);
            assert_eq!(flow.is_continue(), goes_on, "{what}");
            assert_eq!(flow.is_permanent(), !goes_on, "{what}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_ends_it_before_the_wait_and_bounds_the_attempts() {
        let asked = Asked::begin(PLAIN.deadline(10 * SECOND));
        assert_eq!(asked.remaining(0), Some(10 * SECOND));
        tokio::time::advance(8 * SECOND).await;
        assert_eq!(asked.remaining(0), Some(2 * SECOND));
        assert_eq!(asked.wait(1), Some(SECOND));
        let flow = asked.adapted.on_error(&asked.state(2), unavailable());
        assert!(flow.is_exhausted(), "{flow:?}");
        assert_eq!(Asked::begin(PLAIN).remaining(0), None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_after_a_wait_gets_what_the_wait_leaves() {
        let asked = Asked::begin(PLAIN.base(2 * SECOND).deadline(10 * SECOND));
        assert_eq!(asked.remaining(0), Some(10 * SECOND));
        assert_eq!(asked.wait(1), Some(2 * SECOND));
        assert_eq!(asked.remaining(1), Some(8 * SECOND));
        // The wait counts only once: it is over when gax asks again.
        tokio::time::advance(2 * SECOND).await;
        assert_eq!(asked.remaining(1), Some(8 * SECOND));
        // Not less than the wait; otherwise gax would give up before it.
        tokio::time::advance(3 * SECOND).await;
        assert_eq!(asked.wait(2), Some(4 * SECOND));
        assert_eq!(asked.remaining(2), Some(4 * SECOND));
        // The wait of another backoff policy is unknown.
        let flow = asked.adapted.on_error(&asked.state(1), unavailable());
        assert!(flow.is_continue());
        assert_eq!(asked.remaining(1), Some(5 * SECOND));
    }

    #[tokio::test(start_paused = true)]
    async fn decorrelated_waits_grow_from_the_wait_before() {
        // From a second up to three times the wait before.
        for (drawn, expected) in [(0, [1, 1, 1, 1]), (u64::MAX, [3, 9, 27, 64])] {
            DRAWN.set(Some(drawn));
            let asked = Asked::begin(PLAIN.jitter(Jitter::Decorrelated));
            for (n, expected) in (1..).zip(expected) {
                let wait = asked.wait(n).unwrap();
                // gax asks this before each wait.
                assert_eq!(asked.remaining(n), None);
                assert_eq!(wait, expected * SECOND, "wait {n}");
                tokio::time::advance(wait).await;
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn loops_that_began_together_keep_their_own_count() {
        let asked = Asked::begin(PLAIN.max_attempts(4));
        for (n, seconds) in (1..).zip([Some(1), Some(2), Some(4), None]) {
            for _ in 0..3 {
                assert_eq!(asked.wait(n), seconds.map(Duration::from_secs));
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_decision_about_one_loop_is_not_taken_by_another() {
        let mut headers = http_1::HeaderMap::new();
        headers.insert("retry-after", http_1::HeaderValue::from_static("30"));
        let hinted = Error::http(503, headers, "".into());
        let asked = Asked::begin(PLAIN);
        let adapted = &asked.adapted;
        assert!(adapted.on_error(&asked.state(1), hinted).is_continue());
        let later = (asked.start + SECOND).into_std();
        assert_eq!(adapted.on_failure(&asked.state(1).set_start(later)), SECOND);
        // The decision is dropped, not kept for later.
        assert_eq!(adapted.on_failure(&asked.state(1)), SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_another_policys_loop_gives_nothing_back() {
        static BUDGET: Budget = Budget::costs(20, 10, 5);
        let policy = PLAIN.budget(&BUDGET);
        let asked = Asked::begin(policy);
        let flow = asked.adapted.on_error(&asked.state(1), unavailable());
        assert!(flow.is_continue());
        adapt(policy).on_retry_failure(&RetryResult::Exhausted(unavailable()));
        assert_eq!(BUDGET.tokens(), 10.0);
    }
}
