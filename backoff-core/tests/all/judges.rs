//! If the operation must not be made twice, no judge retries an attempt that may have been applied: neither a
//! function nor a pattern, in any form.
use crate::common::Scripted;
use backoff_core::{Delivery, Fault, FaultKind, Jitter, Policy, StopReason, Verdict};
use std::{
    cell::Cell,
    future::{Future, ready},
    pin::pin,
    task::{Context, Poll, Waker},
};

const CAREFUL: Policy = Policy::exponential()
    .jitter(Jitter::None)
    .max_attempts(3)
    .idempotent(false);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Failure {
    Reset,
    Refused,
    Status(u16),
    Stop,
}
use Failure::{Refused, Reset, Status, Stop};

impl Fault for Failure {
    fn status(&self) -> Option<u16> {
        match self {
            Status(status) => Some(*status),
            _ => None,
        }
    }
    fn delivery(&self) -> Option<Delivery> {
        match self {
            Reset => Some(Delivery::MaybeSent),
            Refused => Some(Delivery::NotSent),
            _ => None,
        }
    }
    fn must_stop(&self) -> bool {
        *self == Stop
    }
}

/// How often each is tried that a judge would always repeat, and why it ends.
const CASES: [(Failure, u32, StopReason); 6] = [
    (Reset, 1, StopReason::MaybeApplied),
    // No status of a transport's failure: what the server did is not known.
    (Status(500), 1, StopReason::MaybeApplied),
    (Status(404), 1, StopReason::MaybeApplied),
    // Surely nothing was done.
    (Refused, 3, StopReason::Attempts),
    (Status(429), 3, StopReason::Attempts),
    (Stop, 1, StopReason::StoppedByServer),
];

fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it waits"),
    }
}

#[test]
fn a_function_has_nothing_repeated_that_may_have_been_applied() {
    for (failure, attempts, reason) in CASES {
        let calls = Cell::new(0);
        let fail = || {
            calls.set(calls.get() + 1);
            Err::<(), _>(failure)
        };
        let verdicts = [
            Verdict::from(true),
            // Nor does a hint or a kind of its own say what was applied.
            Verdict::from(true).after(Some(std::time::Duration::from_secs(1))),
            Verdict::Retry {
                kind: FaultKind::Throttled,
                retry_after: None,
            },
        ];
        for verdict in verdicts {
            let judged = CAREFUL.when(move |_: &Failure| verdict);
            let retry = judged.retry(|| ready(fail())).runtime(Scripted::default());
            let gave_up = now(retry.reported()).unwrap_err();
            assert_eq!((calls.take(), gave_up.reason), (attempts, reason));

            let blocking = judged.blocking(fail).runtime(Scripted::default());
            let gave_up = blocking.reported().unwrap_err();
            assert_eq!((calls.take(), gave_up.reason), (attempts, reason));

            // Of an update: the write, and not the read.
            let write = judged.update(|| ready(Ok(())), |()| true, |()| ready(fail()));
            let gave_up = now(write.runtime(Scripted::default()).reported()).unwrap_err();
            assert_eq!((calls.take(), gave_up.reason), (attempts, reason));
            let read = judged.blocking_update(fail, |()| true, |()| Ok(()));
            let gave_up = read.runtime(Scripted::default()).reported().unwrap_err();
            let of_read = match reason {
                StopReason::MaybeApplied => (3, StopReason::Attempts),
                _ => (attempts, reason),
            };
            assert_eq!((calls.take(), gave_up.reason), of_read, "{failure:?}");
        }
        // Where it may be made twice, it is.
        let twice = CAREFUL.idempotent(true);
        let judged = twice.when(|_: &Failure| true);
        let blocking = judged.blocking(fail).runtime(Scripted::default());
        assert!(blocking.call().is_err());
        assert_eq!(calls.take(), if failure == Stop { 1 } else { 3 });
    }
}

/// A function that sees errors of any type sees no facts, as its documentation says: what it says
/// holds.
#[test]
fn a_function_of_any_type_has_to_know_by_itself() {
    let calls = Cell::new(0);
    let outcome: Result<(), _> = CAREFUL
        .when_any(|_: &Failure| true)
        .blocking(|| {
            calls.set(calls.get() + 1);
            Err(Reset)
        })
        .runtime(Scripted::default())
        .call();
    assert_eq!((outcome, calls.get()), (Err(Reset), 3));
}

#[cfg(feature = "macros")]
mod the_attribute {
    use super::*;
    use backoff_core::retry;

    type Calls<'a> = &'a Cell<u32>;

    fn fail(calls: Calls<'_>, failure: Failure) -> Result<(), Failure> {
        calls.set(calls.get() + 1);
        Err(failure)
    }

    #[retry(jitter = none, max_attempts = 3, idempotent = false, when = |_: &Failure| true,
            runtime = Scripted::default())]
    async fn function(calls: Calls<'_>, failure: Failure) -> Result<(), Failure> {
        fail(calls, failure)
    }

    #[retry(jitter = none, max_attempts = 3, idempotent = false, when = |_: &Failure| true,
            runtime = Scripted::default())]
    fn blocking_function(calls: Calls<'_>, failure: Failure) -> Result<(), Failure> {
        fail(calls, failure)
    }

    #[retry(policy = CAREFUL, when = |_: &Failure| Verdict::from(true),
            runtime = Scripted::default())]
    async fn of_a_policy(calls: Calls<'_>, failure: Failure) -> Result<(), Failure> {
        fail(calls, failure)
    }

    #[retry(jitter = none, max_attempts = 3, idempotent = false,
            on = [Failure::Reset, Failure::Refused, Failure::Status(_), Failure::Stop],
            runtime = Scripted::default())]
    async fn patterns(calls: Calls<'_>, failure: Failure) -> Result<(), Failure> {
        fail(calls, failure)
    }

    #[retry(jitter = none, max_attempts = 3, idempotent = false,
            on = [Failure::Reset, Failure::Refused, Failure::Status(_), Failure::Stop],
            runtime = Scripted::default())]
    fn blocking_patterns(calls: Calls<'_>, failure: Failure) -> Result<(), Failure> {
        fail(calls, failure)
    }

    #[retry(jitter = none, max_attempts = 3, idempotent = false,
            on = [503, Failure::Reset, Failure::Refused, Failure::Status(_), Failure::Stop],
            runtime = Scripted::default())]
    async fn patterns_and_codes(calls: Calls<'_>, failure: Failure) -> Result<(), Failure> {
        fail(calls, failure)
    }

    /// Every error is retried where nothing says which.
    #[retry(jitter = none, max_attempts = 3, idempotent = false, runtime = Scripted::default())]
    async fn every(calls: Calls<'_>, failure: Failure) -> Result<(), Failure> {
        fail(calls, failure)
    }

    #[test]
    fn has_nothing_repeated_that_may_have_been_applied() {
        for (failure, attempts, _) in CASES {
            let calls = &Cell::new(0);
            let tried = |outcome: Result<(), Failure>| {
                assert_eq!(outcome, Err(failure));
                calls.take()
            };
            let tries = [
                ("when", tried(now(function(calls, failure)))),
                ("when, sync", tried(blocking_function(calls, failure))),
                ("when, policy", tried(now(of_a_policy(calls, failure)))),
                ("patterns", tried(now(patterns(calls, failure)))),
                ("patterns, sync", tried(blocking_patterns(calls, failure))),
                (
                    "patterns and codes",
                    tried(now(patterns_and_codes(calls, failure))),
                ),
                ("every", tried(now(every(calls, failure)))),
            ];
            for (form, tries) in tries {
                assert_eq!(tries, attempts, "{form}: {failure:?}");
            }
        }
    }
}
