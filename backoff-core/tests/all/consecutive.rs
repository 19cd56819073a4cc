//! The awaited value several times in a row: exact schedules, in every form.
use crate::common::{
    error::TestError,
    forms::{PLAIN, Reply, call, check},
    time::Time,
};
use backoff_core::{Event, Jitter, NotYet, Policy, retry};
use std::{future::ready, time::Duration};

const POLL: Policy = PLAIN.max_attempts(100);

#[test]
fn rows_of_values() {
    let table = "
        a flap does not lengthen the waits | consecutive 3 | 202, 200, 202, 200 | 0 1 2 4 5 6; at 6: 200
        three at once           | consecutive 3 | 200 | 0 1 2; at 2: 200
        two after a long time   | consecutive 2 | 202, 202, 202, 202, 200 | 0 1 3 7 15 16; at 16: 200
        many flaps | consecutive 2 | 200, 202, 200, 202, 200, 202, 200 | 0 1 2 3 5 6 10 11; at 11: 200
        two are too few | consecutive 3 | 200, 200, 202, 202, 200 | 0 1 2 3 5 6 7; at 7: 200
        an error is between them as a value is | consecutive 3 | 200, 200, error 503, 200, 200, error 503, 200 | 0 1 2 3 4 5 7 8 9; at 9: 200
        one after an error      | consecutive 1 | 202, error 503, 200 | 0 1 3; at 3: 200
        one at once             | consecutive 1 | 200 | 0; at 0: 200
        attempts end a row that is too short | max_attempts 4, consecutive 9 | 200 | 0 1 2 3; at 3 attempts: error not yet, 4 in a row
        none is left of a row that is broken | max_attempts 4, consecutive 9 | 200, 200, 200, 202 | 0 1 2 3; at 3 attempts: error not yet
        and none after an error | max_attempts 7, consecutive 9 | 200, error 503, 200, 200, 200, 200, 202 | 0 1 2 3 4 5 6; at 6 attempts: error not yet
        no wait that ends after the deadline | consecutive 9, deadline 5 | 200 | 0 1 2 3 4 5; at 5 deadline: error not yet, 6 in a row
        a cut begins the row anew | consecutive 3, attempt_timeout 10 | 200, 200, hangs, 200 | 0 1 2 13 14 15; at 15: 200
        a row costs no budget   | consecutive 2, budget ratio 0.5 2 | 200, 202, 200 | 0 1 2 3; at 3: 200 [2 2 2 2 2]
        and errors in it do     | consecutive 2, budget ratio 0.5 2 | 200, error 503 | 0 1 2 4; at 4 budget: error 503 [2 1 0 0 0]
    ";
    check(call(POLL), table);
}

#[test]
fn a_hook_hears_how_many_there_are() {
    let mut texts = Vec::new();
    let mut values = [false, true, true, true].into_iter();
    let polling = POLL.blocking(|| Ok::<_, NotYet>(values.next().unwrap()));
    let polling = polling.until(|value| *value).consecutive(3);
    let polling = polling.runtime(Time::default());
    let polling = polling.notify(|event: &Event<'_, NotYet>| texts.push(event.to_string()));
    assert_eq!(polling.call(), Ok(true));
    assert_eq!(texts.len(), 4);
    for (text, said) in texts.iter().zip([
        "has not come yet",
        "has come once; more are needed",
        "has come 2 times in a row; more are needed",
        "succeeded after 4 attempts",
    ]) {
        assert!(text.contains(said), "{text}");
    }
}

/// The waits of a blocking call for a row of values, in which the first of two calls has the waits of its own.
fn waits(policy: Policy, values: &[bool], row: u32, own: Option<&[Duration]>) -> Vec<Duration> {
    let time = Time::default().drawing(u64::MAX);
    let mut left = values.iter().copied();
    let polling = policy.blocking(|| Ok::<_, TestError>(left.next().unwrap()));
    let polling = polling.until(|value| *value).consecutive(row);
    let polling = polling.runtime(time.clone());
    let outcome = match own {
        Some(own) => polling.delays(own).call(),
        None => polling.call(),
    };
    assert_eq!((outcome, left.next()), (Ok(true), None));
    time.waits()
}

#[test]
fn the_waits_that_grow_from_the_one_before_and_those_of_ones_own_are_not_disturbed() {
    let flapping = [false, true, false, true, false, true, true];
    let policy = POLL.jitter(Jitter::Decorrelated);
    let plain = waits(policy, &[false, false, false, true], 1, None);
    assert!(plain[0] < plain[1] && plain[1] < plain[2], "{plain:?}");
    let [a, b, c] = plain[..] else {
        unreachable!("three waits")
    };
    assert_eq!(waits(policy, &flapping, 2, None), [a, a, b, a, c, a]);
    let own = [5, 7, 9].map(Duration::from_secs);
    let expected = [5, 5, 7, 5, 9, 5].map(Duration::from_secs);
    assert_eq!(waits(POLL, &flapping, 2, Some(&own)), expected);
}

/// Refused responses, between others: the row is full with the last one.
#[test]
fn a_refused_response_does_not_count() {
    let time = Time::default();
    let mut left = [200, 503, 200, 503, 200, 200, 200].map(Reply).into_iter();
    let call = POLL.retry(|| ready(Ok::<_, TestError>(left.next().unwrap())));
    let call = call.until(|_| true).consecutive(3);
    let ended = time.run(call.responses().runtime(time.clone()));
    assert_eq!((ended, left.next()), (Ok(Reply(200)), None));
    assert_eq!(time.waits(), [1, 1, 1, 2, 1, 1].map(Duration::from_secs));
}

#[test]
fn a_value_awaited_inside_begins_the_row_anew() {
    let mut values = [1, 2, 0, 1, 2, 3].into_iter();
    let call = POLL.blocking(|| Ok::<_, TestError>(values.next().unwrap()));
    let call = call.until(|value| *value > 0).until(|value| *value < 9);
    let call = call.consecutive(3).runtime(Time::default());
    assert_eq!((call.call(), values.next()), (Ok(3), None));
}

#[test]
#[should_panic(expected = "must be at least 1")]
fn no_value_at_all_is_refused_at_run_time_in_the_attribute() {
    #[retry(until = |_| true, consecutive = values)]
    fn annotated(values: u32) -> Result<(), TestError> {
        unreachable!("no call is made")
    }
    let _ = annotated(0);
}
