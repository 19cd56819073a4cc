//! The events that a hook gets, in every form of a call.

use crate::common::{
    Scripted, at_once,
    error::TestError,
    forms::{BUSY, PLAIN, SECOND, Said, Setting, Step, call, fails, gives, runs},
};
use backoff_core::{Event, StopReason, WaitSource, retry};
use std::{cell::RefCell, future::ready, time::Duration};

fn waiting(attempt: u32, seconds: u64, source: WaitSource) -> Said {
    Said::Waiting {
        attempt,
        wait: Duration::from_secs(seconds),
        source,
    }
}

/// Where nothing else asks for the time, it counts from the first failure. With metrics, for a report, and for
/// an `Attempt`, each call is measured.
#[test]
fn each_form_tells_its_waits_its_end_and_how_long_it_took() {
    let waits = [1, 2].map(|n| waiting(n, u64::from(n), WaitSource::Backoff));
    let [failure, success] = [fails(BUSY), gives(200)];
    let succeeded = Said::Succeeded { attempts: 3 };
    let gave_up = Said::GaveUp {
        attempts: 3,
        reason: StopReason::Attempts,
    };
    let slowly = |step: Step| step.taking(SECOND);
    let minute = call(PLAIN).deadline(60 * SECOND);
    type Row<'a> = (&'a str, Setting, &'a [Step], Said, [u64; 3]);
    let rows: [Row<'_>; 3] = [
        (
            "recovers",
            call(PLAIN),
            &[failure, failure, success],
            succeeded,
            [0, 1, 3],
        ),
        (
            "gives up",
            call(PLAIN.max_attempts(3)),
            &[failure],
            gave_up,
            [0, 1, 3],
        ),
        (
            "with a deadline, from the start",
            minute,
            &[slowly(failure), slowly(failure), slowly(success)],
            succeeded,
            [1, 3, 6],
        ),
    ];
    for (name, setting, script, end, elapsed) in rows {
        for (form, came) in runs(&setting, script) {
            let name = format!("{name}, {}", form.name);
            assert_eq!(came.events, [waits[0], waits[1], end], "{name}");
            let mut elapsed = elapsed.map(|at| Some(Duration::from_secs(at)));
            let has_attempts = !came.doubts.is_empty();
            let is_measured = cfg!(feature = "metrics") || came.told.is_some() || has_attempts;
            if !is_measured && setting.deadline.is_none() {
                elapsed[0] = None;
            }
            assert_eq!(came.elapsed, elapsed, "{name}");
        }
    }
}

#[test]
fn a_hint_has_the_name_of_whoever_gave_it() {
    let long = BUSY.after(30 * SECOND);
    // A hint that is shorter than the backoff is not what is waited for.
    let short = BUSY.after(SECOND / 1000).in_retry_info();
    for (failure, seconds, source) in [
        (long, 30, WaitSource::RetryAfter),
        (long.in_retry_info(), 30, WaitSource::RetryInfo),
        (short, 1, WaitSource::Backoff),
    ] {
        let setting = call(PLAIN.max_attempts(2));
        for (form, came) in runs(&setting, &[fails(failure)]) {
            assert_eq!(came.events[0], waiting(1, seconds, source), "{}", form.name);
        }
    }
}

#[test]
fn what_succeeds_at_once_tells_nothing_and_reads_no_clock() {
    let (time, mut events) = (Scripted::default(), 0);
    let call = PLAIN.retry(|| ready(Ok::<_, TestError>(1)));
    let call = call.notify(|_: &Event<'_, TestError>| events += 1);
    assert_eq!(at_once(call.runtime(time.clone())), Ok(1));
    assert_eq!(events, 0);
    assert_eq!(time.asked.get() > 0, cfg!(feature = "metrics"));
}

#[test]
fn an_event_names_the_operation_and_tells_itself() {
    let told = RefCell::new(Vec::new());
    let note = |event: &Event<'_, TestError>| {
        told.borrow_mut()
            .push((event.operation().to_owned(), event.to_string()));
    };
    #[retry(policy = PLAIN.max_attempts(2), runtime = Scripted::default(), operation = "billing.get", notify = note)]
    fn named(note: impl Fn(&Event<'_, TestError>)) -> Result<(), TestError> {
        Err(BUSY)
    }
    named(note).unwrap_err();
    let twice = PLAIN.max_attempts(2);
    let call = twice.blocking(|| Err::<(), _>(BUSY)).notify(note);
    call.runtime(Scripted::default()).call().unwrap_err();
    let told = told.into_inner();
    assert_eq!(told.len(), 4);
    for (told, (operation, text)) in told.iter().zip([
        ("billing.get", "attempt 1 failed, next in 1.0s: "),
        ("billing.get", "gave up after 2 attempts"),
        (
            "an_event_names_the_operation",
            "attempt 1 failed, next in 1.0s: ",
        ),
        ("an_event_names_the_operation", "gave up after 2 attempts"),
    ]) {
        let is_told = told.0.contains(operation) && told.1.starts_with(text);
        assert!(is_told, "{told:?}");
    }
}
