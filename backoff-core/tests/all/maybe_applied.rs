//! Whether an earlier attempt of a call may have been applied. All forms that give an `Attempt` agree.
use crate::common::Scripted;
use backoff_core::{
    Attempt, Delivery, Fault, FaultKind, NotApplied, NotYet, Policy, TimedOut, Verdict, retry,
    retry_block,
};
use std::{
    cell::RefCell,
    future::{pending, ready},
    time::Duration,
};

const POLICY: Policy = Policy::exponential().max_attempts(8).retry_conflicts(true);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Failure {
    Status(u16),
    Lost,
    Refused,
    Conflict,
    Throttled,
    /// A status that the operation knows to have done nothing.
    NotApplied(u16),
    Cut,
}

impl Fault for Failure {
    fn status(&self) -> Option<u16> {
        match self {
            Failure::Status(status) | Failure::NotApplied(status) => Some(*status),
            _ => None,
        }
    }
    fn kind(&self) -> Option<FaultKind> {
        match self {
            Failure::Conflict => Some(FaultKind::Conflict),
            Failure::Throttled => Some(FaultKind::Throttled),
            _ => None,
        }
    }
    fn delivery(&self) -> Option<Delivery> {
        match self {
            Failure::Lost | Failure::Cut => Some(Delivery::MaybeSent),
            Failure::Refused => Some(Delivery::NotSent),
            Failure::NotApplied(status) => NotApplied(Failure::Status(*status)).delivery(),
            _ => None,
        }
    }
}

impl From<TimedOut> for Failure {
    fn from(_: TimedOut) -> Self {
        Failure::Cut
    }
}

impl From<NotYet> for Failure {
    fn from(_: NotYet) -> Self {
        Failure::Status(202)
    }
}

/// Fails as the script says, then succeeds, and records what each `Attempt` says.
struct Script<'s> {
    failures: RefCell<&'s [Failure]>,
    seen: RefCell<Vec<bool>>,
}

impl<'s> Script<'s> {
    fn new(failures: &'s [Failure]) -> Self {
        Script {
            failures: RefCell::new(failures),
            seen: RefCell::default(),
        }
    }

    fn call(&self, attempt: Attempt) -> Result<(), Failure> {
        self.seen.borrow_mut().push(attempt.maybe_applied());
        match self.failures.take() {
            [] => Ok(()),
            [failure, rest @ ..] => {
                self.failures.replace(rest);
                Err(*failure)
            }
        }
    }
}

/// A form of a call, and its name.
type Form = (&'static str, fn(&Script<'_>) -> Result<(), Failure>);

fn run<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    runtime.unwrap().block_on(future)
}

#[retry(policy = POLICY, attempt = n)]
async fn annotated(script: &Script<'_>) -> Result<(), Failure> {
    script.call(n)
}

#[retry(policy = POLICY, attempt = n, when = |_| true, attempt_timeout = "1s")]
async fn with_a_judge(script: &Script<'_>) -> Result<(), Failure> {
    script.call(n)
}

#[cfg(feature = "tracing")]
#[retry(policy = POLICY, attempt = n, attempt_spans)]
async fn in_spans(script: &Script<'_>) -> Result<(), Failure> {
    script.call(n)
}

#[retry(policy = POLICY, attempt = n, sleep = |_| {}, notify = |_| {})]
fn blocking(script: &Script<'_>) -> Result<(), Failure> {
    script.call(n)
}

const FORMS: &[Form] = &[
    ("retry_with", |script| {
        run(POLICY.retry_with(|attempt| ready(script.call(attempt))))
    }),
    ("retry_with, wrapped", |script| {
        let call = POLICY.retry_with(|attempt| ready(script.call(attempt)));
        let call = call
            .attempt_timeout(Duration::from_secs(1))
            .until(|()| true);
        run(call.notify(|_| {}).owned().reported())
            .map(|_| ())
            .map_err(|gave_up| gave_up.error)
    }),
    ("when", |script| {
        let call = POLICY
            .when(|_: &Failure| true)
            .retry_with(|attempt| ready(script.call(attempt)));
        run(call)
    }),
    ("blocking_with", |script| {
        let call = POLICY.blocking_with(|attempt| script.call(attempt));
        call.runtime(Scripted::default()).call()
    }),
    ("the attribute", |script| run(annotated(script))),
    ("the attribute, with a judge and a limit", |script| {
        run(with_a_judge(script))
    }),
    #[cfg(feature = "tracing")]
    ("the attribute, with spans", |script| {
        // Under a subscriber: if a thread without one meets this span first, `tracing` may turn the span off
        // for the tests of spans, which run at the same time.
        let mut outcome = None;
        crate::spans::recorder::recorded(async { outcome = Some(in_spans(script).await) });
        outcome.unwrap()
    }),
    ("the attribute, blocking", |script| blocking(script)),
    ("the block", |script| {
        run(async { retry_block!(policy = POLICY, attempt = n, async { script.call(n) }).await })
    }),
];

fn assert_seen(failures: &[Failure], expected: &[bool]) {
    for (name, form) in FORMS {
        let script = Script::new(failures);
        assert_eq!(form(&script), Ok(()), "{name}: {failures:?}");
        assert_eq!(script.seen.take(), expected, "{name}: {failures:?}");
    }
}

#[test]
fn an_attempt_knows_whether_the_one_before_may_have_been_applied() {
    use Failure::{Conflict, Lost, NotApplied, Refused, Status, Throttled};
    for failure in [Lost, Status(500), Status(502), Status(503)] {
        assert_seen(&[failure], &[false, true]);
    }
    for failure in [Refused, Status(429), Throttled, Conflict, NotApplied(503)] {
        assert_seen(&[failure], &[false, false]);
    }
    assert_seen(&[], &[false]);
}

#[test]
fn a_doubt_lasts_until_the_call_ends() {
    use Failure::{Refused, Status};
    let failures = [Refused, Status(502), Refused, Status(429)];
    assert_seen(&failures, &[false, false, true, true, true]);
}

/// What is in doubt is what a policy that is not idempotent does not repeat.
#[test]
fn a_careful_policy_makes_no_attempt_in_doubt() {
    use Failure::{Conflict, Lost, Refused, Status, Throttled};
    for failure in [Lost, Refused, Status(502), Status(429), Throttled, Conflict] {
        let script = Script::new(std::slice::from_ref(&failure));
        let careful = POLICY.idempotent(false);
        let outcome = run(careful.retry_with(|attempt| ready(script.call(attempt))));
        assert!(!script.seen.take().contains(&true));
        let is_in_doubt = careful.judge(&failure) == Verdict::MaybeApplied;
        assert_eq!(outcome.is_err(), is_in_doubt, "{failure:?}");
    }
}

#[test]
fn an_attempt_that_was_cut_may_have_been_applied() {
    const CUT: Duration = Duration::from_secs(1);
    let hangs_once = async |attempt: Attempt| {
        if attempt.number() == 1 {
            pending().await
        } else {
            Ok::<_, Failure>(attempt.maybe_applied())
        }
    };
    let call = POLICY.retry_with(hangs_once).attempt_timeout(CUT);
    assert_eq!(run(call), Ok(true));

    #[retry(policy = POLICY, attempt = n, attempt_timeout = CUT)]
    async fn annotated() -> Result<bool, Failure> {
        if n.number() == 1 {
            pending().await
        } else {
            Ok(n.maybe_applied())
        }
    }
    assert_eq!(run(annotated()), Ok(true));
}

#[derive(Clone, Copy, Debug)]
struct Response(u16, bool);

impl Fault for Response {
    fn status(&self) -> Option<u16> {
        (self.0 >= 400).then_some(self.0)
    }
}

/// The first response has this status; whether the second attempt is in doubt.
fn after_a_response(status: u16) -> [bool; 3] {
    let answer = |attempt: Attempt| {
        let status = if attempt.number() == 1 { status } else { 200 };
        Ok::<_, Failure>(Response(status, attempt.maybe_applied()))
    };
    #[retry(policy = POLICY, attempt = n)]
    async fn annotated(
        answer: impl Fn(Attempt) -> Result<Response, Failure>,
    ) -> Result<Response, Failure> {
        answer(n)
    }
    let function = run(POLICY
        .retry_with(|attempt| ready(answer(attempt)))
        .responses());
    let blocking = POLICY.blocking_with(answer).responses();
    let blocking = blocking.runtime(Scripted::default()).call();
    let responses = [function, blocking, run(annotated(answer))];
    responses.map(|response| response.unwrap().1)
}

#[test]
fn a_response_that_is_retried_is_judged_as_an_error_is() {
    assert_eq!(after_a_response(503), [true; 3]);
    assert_eq!(after_a_response(429), [false; 3]);
}

#[test]
fn a_value_that_is_not_awaited_leaves_no_doubt() {
    let call = POLICY.retry_with(|attempt| {
        ready(Ok::<_, Failure>((
            attempt.number(),
            attempt.maybe_applied(),
        )))
    });
    assert_eq!(run(call.until(|(number, _)| *number == 3)), Ok((3, false)));
}

/// Nobody else knows anything about an error of another type.
#[test]
fn an_error_without_facts_is_in_doubt_unless_the_judge_names_its_kind() {
    let second = |verdict: Verdict| {
        let call = POLICY.when_any(move |_: &&str| verdict).retry_with(|n| {
            ready(if n.number() == 1 {
                Err("an error")
            } else {
                Ok(n.maybe_applied())
            })
        });
        run(call).unwrap()
    };
    assert!(second(true.into()));
    for kind in [
        FaultKind::Throttled,
        FaultKind::Conflict,
        FaultKind::Pending,
    ] {
        let retry_after = None;
        assert!(!second(Verdict::Retry { kind, retry_after }), "{kind:?}");
    }
}
