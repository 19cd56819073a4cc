//! Writes that may have been applied, of changes that cannot recognise their own effect, over a connection
//! that loses requests, loses replies, and delivers some requests late.
use crate::common::{
    error::TestError,
    forms::{PLAIN, SECOND},
    store::{
        Change::{Blind, Recognised, Versioned},
        Fate::{self, Fails, HangsApplied, Lost, Overtaken, Straggles},
        Store, Value, add, check, fates, gave_up, increase, now, update,
    },
    time::Time,
};
use backoff_core::{FaultKind, Policy, RetryError, Stop, StopReason, Updated, Verdict, codes};
use std::{cell::Cell, future::ready};

const POLICY: Policy = PLAIN.max_attempts(8);
const LOST: TestError = TestError::LOST;
/// The request is lost.
const GONE: Fate = Fails(LOST);
const MAYBE: (TestError, StopReason) = (LOST, StopReason::MaybeApplied);

#[test]
fn a_change_without_a_result_is_not_repeated_after_a_write_that_may_have_been_applied() {
    let table = "
        | gone          | rw; maybe_applied: lost; applied 0
        | lost          | rw; maybe_applied: lost; applied 1
        | hangs applied | rw; maybe_applied: cut after 1s; applied 1
        | 503           | rw; maybe_applied: 503; applied 0
        | 429           | rwrw; written; applied 1
        | refused       | rwrw; written; applied 1
        | overtaken     | rwrw, 1 conflict; written; applied 1
    ";
    check(&POLICY, Blind, table);
}

// Where the request was lost, the same version is read again, and written. Where somebody has written since, this may
// have been the caller: also if a request that was late meets the next write, because nobody can tell that from the
// write of somebody else. A refusal says nothing of the first write, and of several unclear writes the first one is
// told.
#[test]
fn versions_tell_whether_a_write_has_arrived() {
    let table = "
                     | gone            | rwrw; written; applied 1
                     | gone x3         | rwrwrwrw; written; applied 1
                     | 503             | rwrw; written; applied 1
                     | lost            | rwr; maybe_applied: lost; applied 1
                     | hangs applied   | rwr; maybe_applied: cut after 1s; applied 1
                     | gone, lost      | rwrwr; maybe_applied: lost; applied 1
                     | straggles       | rwrw; maybe_applied: lost; applied 1
                     | gone, overtaken | rwrw; maybe_applied: lost; applied 0
                     | gone, 429       | rwrwrw; written; applied 1
                     | overtaken, gone | rwrwrw, 1 conflict; written; applied 1
                     | 403             | rw; permanent: 403; applied 0
                     | gone, 403       | rwrw; maybe_applied: lost; applied 0
                     | gone x8         | rwrwrwrwrwrwrwrw; maybe_applied: lost; applied 0
        well, 503 x7 | gone            | rwrrrrrrr; maybe_applied: lost; applied 0
        503 x8       |                 | rrrrrrrr; attempts: 503; applied 0
        well, 403    | gone            | rwr; maybe_applied: lost; applied 0
    ";
    check(&POLICY, Versioned, table);
}

/// The first of several lost writes is the one that is handed back.
#[test]
fn the_error_of_the_first_write_that_may_have_been_applied_is_kept() {
    let writes = [1, 2, 3].map(|number| Fails(LOST.number(number)));
    let store = Store::with(&[], &[writes[0], writes[1], Fails(TestError::status(403))]);
    let ended = update(&store, &POLICY, Versioned, false);
    assert_eq!(gave_up(ended), (LOST.number(1), StopReason::MaybeApplied));
}

/// Runs an update in simulated time.
macro_rules! run {
    ($update:expr) => {{
        let time = Time::default();
        time.run($update.runtime(time.clone()).reported())
    }};
}

#[test]
fn a_result_without_a_bool_is_no_better() {
    let store = Store::with(&[], &[Lost(LOST)]);
    let change = |value: &mut Value| {
        increase(value);
        Ok::<(), TestError>(())
    };
    let update = POLICY.update(|| store.get(), change, |value| store.set(value));
    assert_eq!(gave_up(run!(update)), MAYBE);
}

/// Rows: the failure of the first write, and the calls of an update without a word, with `conditional`, and with `version`.
#[test]
fn a_conditional_write_that_was_refused_is_made_again() {
    let policy = POLICY.on(codes![400, 401, 404, 413, 422, 429, 503]);
    let again = ["rw", "rwrw", "rwrw"];
    for (status, calls) in [
        (400, again),
        (401, again),
        (404, again),
        (413, again),
        (422, again),
        (429, ["rwrw"; 3]),
        (503, ["rw", "rw", "rwrw"]),
    ] {
        let made = [0, 1, 2].map(|word| {
            let store = Store::with(&[], &[Fails(TestError::status(status))]);
            let update = policy.update(|| store.get(), increase, |value| store.set(value));
            let _ = match word {
                0 => run!(update).is_ok(),
                1 => run!(update.conditional()).is_ok(),
                _ => run!(update.version(|value| value.version)).is_ok(),
            };
            store.calls.take()
        });
        assert_eq!(made, calls, "{status}");
        // A change that recognises its effect, by a policy that is not idempotent.
        let careful = policy.idempotent(false);
        let made = [false, true].map(|is_conditional| {
            let store = Store::with(&[], &[Fails(TestError::status(status))]);
            let update = careful.update(|| store.get(), add, |value| store.set(value));
            let _ = match is_conditional {
                false => run!(update).is_ok(),
                true => run!(update.conditional()).is_ok(),
            };
            store.calls.take()
        });
        assert_eq!(made, calls[..2], "{status}");
    }
}

/// Many services say by an empty etag that there is none.
#[test]
fn an_empty_version_is_none() {
    let calls = |version: fn(&Value) -> Option<String>| {
        let store = Store::with(&[], &[GONE]);
        let update = POLICY.update(|| store.get(), increase, |value| store.set(value));
        let ended = run!(update.version(version));
        assert!(ended.is_ok() || gave_up(ended) == MAYBE);
        store.calls.take()
    };
    assert_eq!(calls(|_| Some("etag".into())), "rwrw");
    assert_eq!(calls(|_| Some(String::new())), "rwr");
    assert_eq!(calls(|_| None), "rwr");
    let store = Store::with(&[], &[GONE]);
    let update = POLICY.update(|| store.get(), increase, |value| store.set(value));
    assert!(run!(update.version(|_| Vec::<u8>::new())).is_err());
}

/// What `until` waits for after a write that succeeded is says nothing about the write.
#[test]
fn a_write_that_succeeded_is_clear() {
    let store = Store::with(&[], &[GONE]);
    let update = POLICY.update(|| store.get(), increase, |value| store.set(value));
    let update = update.version(|value| value.version);
    let outcome = run!(update.until(|_| store.value.get().mine == 2));
    let (updated, report) = outcome.unwrap();
    assert_eq!((updated, report.writes), (Updated::Written(2), 3));
}

#[test]
fn a_change_that_recognises_its_effect_goes_on_whatever_the_version_is() {
    let store = Store::with(&[], &[Lost(LOST)]);
    let update = POLICY.update(|| store.get(), add, |value| store.set(value));
    let (updated, _) = run!(update.version(|value| value.version)).unwrap();
    assert_eq!(updated, Updated::Unchanged(store.value.get()));
}

#[test]
fn a_conflict_in_a_reply_counts_as_well() {
    for (fate, is_written) in [(Overtaken, true), (Straggles, false), (GONE, true)] {
        let store = Store::with(&[], &[fate]);
        let write = async |value| match store.set(value).await {
            Err(error) if error.status == Some(409) => Ok(false),
            written => written.map(|_| true),
        };
        let update = POLICY.update(|| store.get(), increase, write);
        let update = update.version(|value| value.version);
        let ended = run!(update.conflict_if(|succeeded| !succeeded));
        assert_eq!(store.value.get().mine, 1, "{fate:?}");
        assert_eq!(ended.is_ok(), is_written, "{fate:?}");
        assert!(is_written || gave_up(ended) == MAYBE, "{fate:?}");
    }
}

#[test]
fn a_judge_without_facts_has_to_say_that_nothing_was_done() {
    let ended = |verdict: Verdict| {
        let mut writes = 0;
        let write = |_| {
            writes += 1;
            ready(if writes == 1 { Err("busy") } else { Ok(()) })
        };
        let judged = POLICY.when_any(|_: &&str| verdict);
        let update = judged.update(async || Ok(Value::default()), increase, write);
        run!(update).map(drop).map_err(|gave_up| gave_up.reason)
    };
    assert_eq!(ended(true.into()), Err(StopReason::MaybeApplied));
    let retry = |kind| Verdict::Retry {
        kind,
        retry_after: None,
    };
    assert_eq!(ended(retry(FaultKind::Conflict)), Ok(()));
    assert_eq!(ended(retry(FaultKind::Throttled)), Ok(()));
}

/// The signal comes while a write runs, or in the wait after one: whether the write may have been applied.
#[test]
fn a_signal_during_a_write_says_that_the_write_may_be_applied() {
    let minute = 60 * SECOND;
    let hour = PLAIN.base(60 * minute).max_backoff(60 * minute);
    let writes = |fate: Fate| Store::with(&[], &[fate]);
    for (is_versioned, fate) in [(false, HangsApplied), (true, HangsApplied), (true, GONE)] {
        let (store, time) = (writes(fate), Time::default());
        let update = hour.update(|| store.get(), increase, |value| store.set(value));
        let update = update.version(|value| is_versioned.then(|| value.version.to_string()));
        let (update, signal) = (update.runtime(time.clone()), time.at(minute));
        let (ended, error) = match fate {
            GONE => (time.run(update.stop_on(signal).reported()), LOST),
            _ => (
                time.run(update.cut_on(signal).reported()),
                TestError::STOPPED,
            ),
        };
        assert_eq!(time.elapsed(), minute);
        assert_eq!(ended.as_ref().unwrap_err().report.writes, 1);
        assert_eq!(gave_up(ended), (error, StopReason::MaybeApplied));
    }
    let (store, time) = (writes(GONE), Time::default());
    let stop: Stop = time.stops_at(minute);
    let (read, write) = (|| now(store.get()), |value| now(store.set(value)));
    let update = hour.blocking_update(read, increase, write);
    let update = update.version(|value| value.version).runtime(time.clone());
    let ended = update.stop_on(&stop).reported().call();
    assert_eq!(gave_up(ended), MAYBE);
}

mod whatever_happens {
    use super::*;
    use proptest::prelude::*;

    fn any(of: &str) -> impl Strategy<Value = Vec<Fate>> {
        prop::collection::vec(prop::sample::select(fates(of)), 0..10)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn a_success_is_applied_once_and_what_is_applied_is_no_plain_failure(
            reads in any("well x4, 503, 429, 403, gone, hangs"),
            writes in any(
                "well, gone, lost, lost 503, straggles, overtaken, hangs applied, hangs, 503, 429, 403, refused"
            ),
            change in prop::sample::select(&[Recognised, Blind, Versioned][..]),
            idempotent: bool,
        ) {
            let (store, policy) = (Store::with(&reads, &writes), POLICY.idempotent(idempotent));
            let ended = update(&store, &policy, change, false);
            // Each write comes right after a read.
            let calls = store.calls.borrow();
            prop_assert!(!calls.contains("ww") && !calls.starts_with('w'));
            // A request may be on its way still.
            store.arrives();
            let applied = store.value.get().mine;
            prop_assert!(applied <= 1, "{:?}", ended);
            match ended {
                Ok(_) => prop_assert_eq!(applied, 1),
                Err(gave_up) if gave_up.reason == StopReason::MaybeApplied => {}
                // A change that recognises its effect may have been made by a write whose reply was lost.
                Err(_) if matches!(change, Recognised) => {}
                Err(gave_up) => prop_assert_eq!(applied, 0, "{:?}", gave_up),
            }
        }
    }
}

/// Rows: the failures of a call, and whether its end says that an attempt before the last one may have been applied.
#[test]
fn the_server_s_own_answer_may_be_the_effect_of_an_earlier_attempt() {
    let rows = [
        (vec![LOST, TestError::status(412)], true),
        (vec![TestError::status(503), TestError::status(404)], true),
        (vec![TestError::status(429), TestError::status(404)], false),
        (vec![TestError::status(404)], false),
        (vec![LOST; 8], true),
    ];
    for (failures, expected) in rows {
        let is_answer = failures.len() < 8;
        let (made, time) = (Cell::new(0), Time::default());
        let call = || {
            let attempt = made.replace(made.get() + 1);
            Err::<(), _>(failures[attempt])
        };
        let told = |gave_up: RetryError<TestError>| {
            let says = gave_up
                .to_string()
                .contains("; an earlier attempt may have been applied: ");
            assert_eq!(says, expected && is_answer, "{gave_up}");
            assert_eq!(gave_up.report.maybe_applied, expected, "{gave_up}");
        };
        let awaited = POLICY.retry(|| ready(call())).runtime(time.clone());
        told(time.run(awaited.reported()).unwrap_err());
        made.set(0);
        let blocking = POLICY.blocking(call).runtime(time.clone());
        told(blocking.reported().call().unwrap_err());
    }
}
