//! Read-modify-writes: which failure leads back to the read, and what is written.
use crate::common::{
    error::TestError,
    forms::{PLAIN, SECOND, call, check as check_forms, runs, steps},
    store::{
        Change::{Blind, Recognised},
        Store, Value, add, check, fates, gave_up, increase, now, update,
    },
    time::Time,
};
use backoff_core::{Budget, Policy, StopReason, Updated, codes};
use std::time::Duration;

const POLICY: Policy = PLAIN.max_attempts(8);
const LOST: TestError = TestError::LOST;

// After a failed read, the read again; after a conflict or any other failure of the write, back to the read. Where the
// reply is lost, the change sees its own effect, and writes nothing twice.
#[test]
fn each_failure_leads_where_it_should() {
    let table = "
                  |                | rw; written; applied 1
        503       |                | rrw; written; applied 1
        503, gone |                | rrrw; written; applied 1
                  | overtaken      | rwrw, 1 conflict; written; applied 1
                  | 412            | rwrw, 1 conflict; written; applied 1
                  | 503            | rwrw; written; applied 1
                  | refused        | rwrw; written; applied 1
                  | lost           | rwr; unchanged; applied 1
        well, 500 | lost 503       | rwrr; unchanged; applied 1
        hangs     | hangs          | rrwrw; written; applied 1
        503       | overtaken, 404 | rrwrw, 1 conflict; permanent: 404; applied 0
    ";
    check(&POLICY, Recognised, table);
}

#[test]
fn a_write_that_may_have_been_applied_is_not_made_twice() {
    let careful = POLICY.idempotent(false);
    // The failed reads before say nothing about the write.
    let table = "
        gone | lost      | rrw; maybe_applied: lost; applied 1
        gone | lost 503  | rrw; maybe_applied: 503; applied 1
        gone | refused   | rrwrw; written; applied 1
        gone | 429       | rrwrw; written; applied 1
        gone | overtaken | rrwrw, 1 conflict; written; applied 1
    ";
    check(&careful, Blind, table);
    check(
        &careful,
        Recognised,
        "| hangs | rw; maybe_applied: cut after 1s; applied 0",
    );
    // A function that sees the facts does not repeat it either.
    let store = Store::with(&fates("gone"), &fates("lost"));
    let judged = careful.when(|_: &TestError| true);
    let update = judged.update(|| store.get(), increase, |value| store.set(value));
    let time = Time::default();
    let ended = time.run(update.runtime(time.clone()).reported());
    assert_eq!(gave_up(ended), (LOST, StopReason::MaybeApplied));
    assert_eq!(store.value.get().mine, 1);
}

#[test]
fn a_conflict_for_ever_ends_with_the_attempts_or_the_deadline() {
    let five = POLICY.max_attempts(5);
    let ended = "| overtaken x100 | rwrwrwrwrw, 5 conflicts; attempts: 409; applied 0";
    check(&five, Recognised, ended);
    let by_20 = PLAIN.deadline(20 * SECOND);
    check(&by_20, Recognised, &ended.replace("attempts", "deadline"));
    let store = Store::with(&[], &fates("overtaken x9"));
    let gave_up = update(&store, &five, Recognised, true).unwrap_err();
    assert_eq!(
        gave_up.report.to_string(),
        "5 attempts (5 reads, 5 writes, 5 conflicts) in 15s, of which 15s waiting"
    );
}

// A bare 409 may also mean that something exists.
#[test]
fn a_conflict_is_retried_though_the_policy_does_not_name_it() {
    let policy = POLICY.on(codes![503]).retry_conflicts(false);
    let table = "
        | overtaken | rwrw, 1 conflict; written; applied 1
        | 409       | rw; permanent: 409; applied 0
    ";
    check(&policy, Recognised, table);
    let named = policy.also_on(codes![409]);
    check(
        &named,
        Recognised,
        "| 409 | rwrw, 1 conflict; written; applied 1",
    );
}

#[test]
fn what_is_as_it_should_be_is_not_written_and_a_success_for_the_budget() {
    static BUDGET: Budget = Budget::ratio(0.5, 2).starting_with(0);
    let (policy, store) = (POLICY.budget(&BUDGET), Store::default());
    for (is_written, tokens) in [(true, 0.5), (false, 1.0), (false, 1.5)] {
        let is_blocking = tokens > 1.0;
        let (updated, _) = update(&store, &policy, Recognised, is_blocking).unwrap();
        assert_eq!(updated.is_written(), is_written);
        assert_eq!(BUDGET.tokens(), tokens);
        if let Updated::Unchanged(value) = updated {
            assert_eq!(value, store.value.get());
        }
    }
    assert_eq!(store.calls.take(), "rwrr");
}

#[test]
fn a_reply_can_be_a_conflict() {
    let three = call(POLICY.max_attempts(3)).conflict_if();
    let table = "
        two conflicts  | | 409, 409, 200 | 0 1 3; at 3: 200
        not idempotent | careful | 409, 409, 200 | 0 1 3; at 3: 200
        for ever       | | 409 | 0 1 3; at 3 attempts: error conflict in a reply
        after a cut    | attempt_timeout 10 | hangs, 409, 200 | 0 11 13; at 13: 200
        no time        | timeout 0.5 | 409, 409, 200 | 0; at 0 deadline: error conflict in a reply
    ";
    check_forms(three, table);
    for (script, expected) in [("409, 409, 200", 2), ("409", 3)] {
        for (form, came) in runs(&three, &steps(script)) {
            let made = came.told.and_then(|told| told.steps);
            assert_eq!(made, Some([3, 3, expected]), "{}", form.name);
        }
    }
}

/// Even an error that a policy would retry: no repetition changes what a change computes.
#[test]
fn what_a_change_refuses_is_final() {
    for error in [TestError::UNKNOWN, LOST] {
        let (store, time) = (Store::default(), Time::default());
        let refuses = |_: &mut Value| Err::<bool, _>(error);
        let update = POLICY.update(|| store.get(), refuses, |value| store.set(value));
        let ended = time.run(update.runtime(time.clone()).reported());
        let (read, write) = (|| now(store.get()), |value| now(store.set(value)));
        let blocking = POLICY.blocking_update(read, refuses, write);
        for ended in [ended, blocking.runtime(time.clone()).reported().call()] {
            let gave_up = ended.unwrap_err();
            assert_eq!((gave_up.error, gave_up.last), (error, None));
            assert_eq!(gave_up.reason, StopReason::Permanent);
            let report = gave_up.report;
            assert_eq!([report.attempts, report.reads, report.writes], [1, 1, 0]);
        }
        assert_eq!(
            (store.calls.take().as_str(), time.elapsed()),
            ("rr", Duration::ZERO)
        );
    }
}

/// The time of an attempt that is cut is over although no timer has had its turn: within the change, or
/// within a read that is ready at once. A nanosecond before, the write is begun.
#[test]
fn no_write_is_begun_when_a_read_or_a_change_uses_up_the_deadline() {
    let nanosecond = Duration::from_nanos(1);
    for (in_read, in_change) in [
        (5 * SECOND, Duration::ZERO),
        (Duration::ZERO, 5 * SECOND),
        (5 * SECOND - nanosecond, Duration::ZERO),
    ] {
        let (store, time) = (Store::default(), Time::default());
        let read = || {
            time.pass(in_read);
            store.get()
        };
        let change = |value: &mut Value| {
            time.pass(in_change);
            add(value)
        };
        let policy = POLICY.deadline(5 * SECOND);
        let update = policy.update(read, change, |value| store.set(value));
        let update = update.attempt_timeout(10 * SECOND).runtime(time.clone());
        let ended = time.run(update.reported());
        if in_read + in_change < 5 * SECOND {
            assert!(ended.unwrap().0.is_written());
            continue;
        }
        let gave_up = ended.unwrap_err();
        assert_eq!(
            (gave_up.error, gave_up.reason),
            (TestError::cut(Duration::ZERO), StopReason::Deadline)
        );
        let report = gave_up.report;
        assert_eq!([report.attempts, report.reads, report.writes], [1, 1, 0]);
        assert_eq!(
            (report.elapsed, store.calls.take()),
            (5 * SECOND, "r".into())
        );
        // The limit of the attempt was not begun to be counted.
        assert!(time.waits().is_empty());
    }
}
