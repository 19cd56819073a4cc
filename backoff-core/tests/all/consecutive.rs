//! The awaited value several times in a row: exact schedules, in every form.
use crate::common::Scripted;
use backoff_core::{
    Budget, Event, Fault, Jitter, NotYet, Policy, StopReason, TimedOut, retry, retry_block,
};
use proptest::prelude::*;
use std::{
    cell::Cell,
    future::{pending, ready},
    pin::pin,
    task::{Context, Poll, Waker},
    time::Duration,
};
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);
const POLL: Policy = Policy::exponential().jitter(Jitter::None).max_attempts(100);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Failure {
    NotYet(NotYet),
    TimedOut,
    Status(u16),
}

impl Failure {
    /// How many values in a row there were, where that is what failed.
    fn seen(&self) -> Option<u32> {
        match self {
            Failure::NotYet(not_yet) => Some(not_yet.consecutive()),
            _ => None,
        }
    }
}

impl Fault for Failure {
    fn status(&self) -> Option<u16> {
        match self {
            Failure::Status(status) => Some(*status),
            _ => None,
        }
    }
}

impl From<NotYet> for Failure {
    fn from(not_yet: NotYet) -> Self {
        Failure::NotYet(not_yet)
    }
}

impl From<TimedOut> for Failure {
    fn from(_: TimedOut) -> Self {
        Failure::TimedOut
    }
}

/// What a read finds.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Read {
    No,
    Yes,
    Fails,
}

use Read::{Fails, No, Yes};

/// A value, and which read found it.
type Seen = (bool, usize);

/// Reads that find this one after the other, and `No` ever after.
struct Replicas<'r> {
    reads: &'r [Read],
    calls: Cell<usize>,
}

impl<'r> Replicas<'r> {
    fn new(reads: &'r [Read]) -> Self {
        Replicas {
            reads,
            calls: Cell::new(0),
        }
    }

    fn read(&self) -> Result<Seen, Failure> {
        let call = self.calls.get();
        self.calls.set(call + 1);
        match self.reads.get(call).unwrap_or(&No) {
            Fails => Err(Failure::Status(503)),
            read => Ok((*read == Yes, call)),
        }
    }
}

/// What a call came to, and the waits in it.
type Came = (Result<Seen, Failure>, Vec<u64>);

fn came(outcome: Result<Seen, Failure>, time: &Scripted) -> Came {
    let waits = time.waits.borrow();
    (outcome, waits.iter().map(Duration::as_secs).collect())
}

/// The output of a future whose waits are over at once.
fn at_once<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("time passes by itself"),
    }
}

/// A form's name, and the call in that form.
type Form<'f> = (
    &'static str,
    &'f dyn Fn(&Replicas<'_>, &Scripted) -> Result<Seen, Failure>,
);

/// The same call in every form.
fn in_every_form(policy: &Policy, reads: &[Read], values: u32) -> Vec<(&'static str, Came)> {
    #[retry(policy = *policy, until = |seen| seen.0, consecutive = values, runtime = time.clone())]
    async fn annotated(
        policy: &Policy,
        replicas: &Replicas<'_>,
        values: u32,
        time: &Scripted,
    ) -> Result<Seen, Failure> {
        replicas.read()
    }
    #[retry(policy = *policy, until = |seen| seen.0, consecutive = values, runtime = time.clone())]
    fn annotated_blocking(
        policy: &Policy,
        replicas: &Replicas<'_>,
        values: u32,
        time: &Scripted,
    ) -> Result<Seen, Failure> {
        replicas.read()
    }
    let forms: [Form<'_>; 6] = [
        ("retry", &|replicas, time| {
            let call = policy.retry(|| ready(replicas.read()));
            let call = call.until(|seen| seen.0).consecutive(values);
            at_once(call.runtime(time.clone()).into_future())
        }),
        ("blocking", &|replicas, time| {
            let call = policy.blocking(|| replicas.read());
            let call = call.until(|seen| seen.0).consecutive(values);
            call.runtime(time.clone()).call()
        }),
        ("#[retry]", &|replicas, time| {
            at_once(annotated(policy, replicas, values, time))
        }),
        ("#[retry] of a blocking function", &|replicas, time| {
            annotated_blocking(policy, replicas, values, time)
        }),
        ("retry_block!", &|replicas, time| {
            at_once(retry_block!(
                policy = *policy,
                until = |seen| seen.0,
                consecutive = values,
                runtime = time.clone(),
                async { replicas.read() }
            ))
        }),
        ("retry_block! that blocks", &|replicas, time| {
            retry_block!(
                policy = *policy,
                until = |seen| seen.0,
                consecutive = values,
                runtime = time.clone(),
                { replicas.read() }
            )
        }),
    ];
    forms
        .map(|(name, form)| {
            let (replicas, time) = (Replicas::new(reads), Scripted::default());
            (name, came(form(&replicas, &time), &time))
        })
        .into()
}

fn assert_in_every_form(policy: &Policy, reads: &[Read], values: u32, expected: &Came) {
    for (form, came) in in_every_form(policy, reads, values) {
        assert_eq!(came, *expected, "{form}: {values} of {reads:?}");
    }
}

#[test]
fn a_flap_begins_the_row_anew_and_does_not_lengthen_the_waits() {
    for (reads, values, waits) in [
        (&[No, Yes, No, Yes, Yes, Yes][..], 3, &[1, 1, 2, 1, 1][..]),
        (&[Yes, Yes, Yes], 3, &[1, 1]),
        (&[No, No, No, No, Yes, Yes], 2, &[1, 2, 4, 8, 1]),
        (
            &[Yes, No, Yes, No, Yes, No, Yes, Yes],
            2,
            &[1, 1, 1, 2, 1, 4, 1],
        ),
        (&[Yes, Yes, No, No, Yes, Yes, Yes], 3, &[1, 1, 1, 2, 1, 1]),
        // An error is between them as a value is.
        (
            &[Yes, Yes, Fails, Yes, Yes, Fails, Yes, Yes, Yes],
            3,
            &[1, 1, 1, 1, 1, 2, 1, 1],
        ),
        (&[No, Fails, Yes], 1, &[1, 2]),
        (&[Yes], 1, &[]),
    ] {
        let last = reads.len() - 1;
        let expected = (Ok((true, last)), waits.to_vec());
        assert_in_every_form(&POLL, reads, values, &expected);
    }
}

#[test]
fn the_limits_end_a_row_that_is_too_short() {
    let yes = [Yes; 9];
    let ended = |policy: &Policy, reads: &[Read]| {
        let mut all = in_every_form(policy, reads, 9).into_iter();
        let (_, first) = all.next().unwrap();
        assert!(all.all(|(_, came)| came == first));
        first
    };
    let (error, waits) = ended(&POLL.max_attempts(4), &yes);
    assert_eq!((error.unwrap_err().seen(), waits), (Some(4), vec![1; 3]));
    let (error, waits) = ended(&POLL.max_attempts(4), &[Yes, Yes, Yes, No]);
    assert_eq!((error.unwrap_err().seen(), waits), (Some(0), vec![1; 3]));
    // The wait that would end after it is not begun.
    let (error, waits) = ended(&POLL.deadline(5 * SECOND), &yes);
    assert_eq!((error.unwrap_err().seen(), waits), (Some(6), vec![1; 5]));
    let (error, waits) = ended(&POLL, &[Yes, Yes, Yes, Fails, Yes, Yes, Yes, Yes]);
    assert_eq!(error.unwrap_err().seen(), Some(0));
    assert_eq!(waits[..9], [1, 1, 1, 1, 1, 1, 1, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn every_value_is_an_attempt_of_the_report() {
    let replicas = Replicas::new(&[No, Yes, No, Yes, Yes, Yes]);
    let start = Instant::now();
    let (seen, report) = POLL
        .retry(|| ready(replicas.read()))
        .until(|seen| seen.0)
        .consecutive(3)
        .reported()
        .await
        .unwrap();
    assert_eq!((seen, report.attempts), ((true, 5), 6));
    assert_eq!((report.slept, start.elapsed()), (6 * SECOND, 6 * SECOND));
    let replicas = Replicas::new(&[Yes; 2]);
    let gave_up = POLL
        .max_attempts(2)
        .retry(|| ready(replicas.read()))
        .until(|seen| seen.0)
        .consecutive(3)
        .reported()
        .await
        .unwrap_err();
    assert_eq!(gave_up.reason, StopReason::Attempts);
    assert_eq!(gave_up.report.attempts, 2);
}

#[tokio::test(start_paused = true)]
async fn a_hook_hears_how_many_there_are() {
    let mut texts = Vec::new();
    let replicas = Replicas::new(&[No, Yes, Yes, Yes]);
    let _: Result<_, NotYet> = POLL
        .retry(|| ready(replicas.read().map_err(|_| unreachable!())))
        .until(|seen| seen.0)
        .consecutive(3)
        .notify(|event: &Event<'_, NotYet>| texts.push(event.to_string()))
        .await;
    let said = [
        "has not come yet",
        "has come once, and must come again",
        "has come 2 times in a row, and must come again",
        "succeeded after 4 attempts",
    ];
    assert_eq!(texts.len(), said.len());
    for (text, said) in texts.iter().zip(said) {
        assert!(text.contains(said), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_cut_begins_the_row_anew() {
    // The third attempt hangs.
    let reads = || {
        let mut calls = 0;
        move || {
            calls += 1;
            let hangs = calls == 3;
            async move {
                if hangs {
                    pending::<()>().await;
                }
                Ok::<_, Failure>(calls)
            }
        }
    };
    let limit = 10 * SECOND;
    let inside = POLL.retry(reads()).attempt_timeout(limit).until(|_| true);
    assert_eq!(inside.consecutive(3).await, Ok(6));
    let around = POLL.retry(reads()).until(|_| true).consecutive(3);
    assert_eq!(around.attempt_timeout(limit).await, Ok(6));

    #[retry(policy = POLL, until = |_| true, consecutive = 3, attempt_timeout = "10s")]
    async fn annotated(calls: &Cell<u32>) -> Result<u32, Failure> {
        calls.set(calls.get() + 1);
        if calls.get() == 3 {
            pending::<()>().await;
        }
        Ok(calls.get())
    }
    assert_eq!(annotated(&Cell::new(0)).await, Ok(6));
}

#[test]
fn the_waits_that_grow_from_the_one_before_are_not_disturbed() {
    let policy = Policy::exponential()
        .jitter(Jitter::Decorrelated)
        .max_attempts(100);
    let waits = |reads: &[Read], values| {
        let time = Scripted::drawing(u64::MAX);
        let replicas = Replicas::new(reads);
        let call = policy.blocking(|| replicas.read()).until(|seen| seen.0);
        let _ = call.consecutive(values).runtime(time.clone()).call();
        time.waits.take()
    };
    let plain = waits(&[No, No, No, Yes], 1);
    assert!(plain[0] < plain[1] && plain[1] < plain[2], "{plain:?}");
    let flapping = waits(&[No, Yes, No, Yes, No, Yes, Yes], 2);
    let [first, second, third] = plain[..] else {
        unreachable!("three waits")
    };
    assert_eq!(flapping, [first, first, second, first, third, first]);
}

#[test]
fn waits_of_ones_own_begin_with_the_first_one_too() {
    let time = Scripted::default();
    let replicas = Replicas::new(&[No, Yes, No, Yes, No, Yes, Yes, Yes]);
    let outcome = POLL
        .blocking(|| replicas.read())
        .until(|seen| seen.0)
        .consecutive(3)
        .delays([5 * SECOND, 7 * SECOND, 9 * SECOND])
        .runtime(time.clone())
        .call();
    let waits = vec![5, 5, 7, 5, 9, 5, 5];
    assert_eq!(came(outcome, &time), (Ok((true, 7)), waits));
}

#[test]
fn a_row_costs_no_budget_and_errors_in_it_do() {
    static BUDGET: Budget = Budget::ratio(0.5, 2);
    let policy = POLL.budget(&BUDGET);
    let came = in_every_form(&policy, &[Yes, Yes, No, Yes, Yes, Yes], 3);
    assert!(came.iter().all(|(_, (outcome, _))| outcome.is_ok()));
    assert_eq!(BUDGET.tokens(), 2.0);
    let replicas = Replicas::new(&[Yes, Fails, Fails, Fails, Fails, Fails]);
    let gave_up = policy
        .blocking(|| replicas.read())
        .until(|seen| seen.0)
        .consecutive(3)
        .runtime(Scripted::default())
        .reported()
        .unwrap_err();
    assert_eq!(gave_up.reason, StopReason::Budget);
}

/// A response that is a value.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Response(u16);

impl Fault for Response {
    fn status(&self) -> Option<u16> {
        Some(self.0)
    }
}

#[test]
fn a_response_that_the_codes_refuse_does_not_count() {
    const STATUSES: [u16; 7] = [200, 503, 200, 503, 200, 200, 200];
    let waits = [1, 1, 1, 2, 1, 1];
    let seconds =
        |time: &Scripted| -> Vec<_> { time.waits.take().iter().map(Duration::as_secs).collect() };
    let time = Scripted::default();
    let mut replies = STATUSES.into_iter().map(Response);
    let call = POLL.blocking(|| Ok::<_, Failure>(replies.next().unwrap()));
    let call = call.responses().until(|_| true).consecutive(3);
    assert_eq!(call.runtime(time.clone()).call(), Ok(Response(200)));
    assert_eq!((replies.next(), &seconds(&time)[..]), (None, &waits[..]));

    #[retry(policy = POLL, until = |_| true, consecutive = 3, runtime = time.clone())]
    fn annotated(
        replies: &mut impl Iterator<Item = Response>,
        time: &Scripted,
    ) -> Result<Response, Failure> {
        Ok(replies.next().unwrap())
    }
    let mut replies = STATUSES.into_iter().map(Response);
    assert_eq!(annotated(&mut replies, &time), Ok(Response(200)));
    assert_eq!((replies.next(), &seconds(&time)[..]), (None, &waits[..]));
}

#[tokio::test(start_paused = true)]
async fn a_refused_response_does_not_count_wherever_responses_is_written() {
    fn replies() -> impl Iterator<Item = Response> {
        [200, 503, 200, 503, 200, 200, 200]
            .into_iter()
            .map(Response)
    }
    fn done(_: &Response) -> bool {
        true
    }
    /// The same rules in both forms. They end with the last reply.
    macro_rules! ends {
        ($($rule:ident($($argument:expr)?)).+) => {
            let mut left = replies();
            let call = POLL.retry(|| ready(Ok::<_, Failure>(left.next().unwrap())));
            let call = call.$($rule($($argument)?)).+;
            assert_eq!(call.await, Ok(Response(200)));
            assert_eq!(left.next(), None);

            let mut left = replies();
            let call = POLL.blocking(|| Ok::<_, Failure>(left.next().unwrap()));
            let call = call.$($rule($($argument)?)).+;
            assert_eq!(call.runtime(Scripted::default()).call(), Ok(Response(200)));
            assert_eq!(left.next(), None);
        };
    }
    ends!(responses().until(done).consecutive(3));
    ends!(until(done).responses().consecutive(3));
    ends!(until(done).consecutive(3).responses());
    ends!(
        until(done)
            .consecutive(3)
            .until(done)
            .responses()
            .responses()
    );

    let mut left = replies();
    let call = POLL.retry_with(|_| ready(Ok::<_, Failure>(left.next().unwrap())));
    let call = call.until(done).consecutive(3).timeout(600 * SECOND);
    assert_eq!(call.responses().await, Ok(Response(200)));
    assert_eq!(left.next(), None);
}

#[test]
fn a_value_awaited_inside_begins_the_row_anew() {
    let mut values = [1, 2, 0, 1, 2, 3].into_iter();
    let time = Scripted::default();
    let call = POLL.blocking(|| Ok::<_, Failure>(values.next().unwrap()));
    let call = call.until(|value| *value > 0).until(|value| *value < 9);
    assert_eq!(call.consecutive(3).runtime(time).call(), Ok(3));
    assert_eq!(values.next(), None);
}

#[test]
#[should_panic(expected = "write a number from 1")]
fn no_value_at_all_is_refused() {
    let call = POLL.retry(|| ready(Ok::<_, Failure>(1)));
    drop(call.until(|_| true).consecutive(0));
}

#[test]
#[should_panic(expected = "write a number from 1")]
fn no_value_at_all_is_refused_at_run_time_in_the_attribute() {
    #[retry(until = |_| true, consecutive = values)]
    fn annotated(values: u32) -> Result<(), Failure> {
        unreachable!("no call is made")
    }
    let _ = annotated(0);
}

/// The rules, said anew: what a call comes to.
fn by_the_rules(reads: &[Read], values: u32, attempts: usize) -> (Result<usize, ()>, Vec<u64>) {
    let (mut row, mut others, mut waits) = (0, 0, Vec::new());
    for call in 0..attempts {
        let yes = reads.get(call) == Some(&Yes);
        row = if yes { row + 1 } else { 0 };
        if row == values {
            return (Ok(call), waits);
        }
        if yes {
            waits.push(1);
        } else {
            waits.push((1 << others).min(64));
            others += 1;
        }
    }
    waits.pop();
    (Err(()), waits)
}

proptest! {
    #[test]
    fn a_call_ends_exactly_where_the_row_is_full_or_by_the_limit(
        reads in prop::collection::vec(prop_oneof![Just(No), Just(Yes), Just(Yes), Just(Fails)], 0..40),
        values in 1u32..6,
        attempts in 1u32..50,
    ) {
        let (outcome, waits) = by_the_rules(&reads, values, attempts as usize);
        for (form, (came, waited)) in in_every_form(&POLL.max_attempts(attempts), &reads, values) {
            let ended = came.map(|(_, call)| call).map_err(drop);
            prop_assert_eq!((ended, waited), (outcome, waits.clone()), "{}", form);
        }
    }
}
