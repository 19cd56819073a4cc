//! The events that a hook gets, in every form of a call.

use crate::common::{
    Scripted, at_once,
    error::TestError,
    forms::{BUSY, PLAIN, SECOND, Said, Setting, Step, call, fails, gives, runs},
};
use backoff_core::{Budget, Event, HintSource, Policy, StopReason, WaitSource, retry};
use std::{
    cell::RefCell,
    future::{pending, ready},
    time::Duration,
};

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
            let is_measured = came.told.is_some() || has_attempts;
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
    let short = BUSY.after(SECOND / 1000).hinted_by(HintSource::RetryInfo);
    for (failure, seconds, source) in [
        (long, 30, WaitSource::RetryAfter),
        (
            long.hinted_by(HintSource::RetryInfo),
            30,
            WaitSource::RetryInfo,
        ),
        (long.hinted_by(HintSource::Pause), 30, WaitSource::Pause),
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
    assert_eq!(time.asked.get(), 0);
}

#[test]
fn an_event_tells_itself() {
    let mut told = Vec::new();
    let twice = PLAIN.max_attempts(2);
    let call = twice.blocking(|| Err::<(), _>(BUSY));
    let call = call.notify(|event| told.push(event.to_string()));
    call.runtime(Scripted::default()).call().unwrap_err();
    let [waits, ended] = &told[..] else {
        panic!("{told:?}");
    };
    assert!(waits.starts_with("attempt 1 failed, next in 1s: "));
    assert!(ended.starts_with("gave up after 2 attempts"));
}

/// The operations of the events.
type Named = RefCell<Vec<&'static str>>;

/// A client whose methods retry: the function that holds a closure belongs to a generic type.
struct Client<T>(T);

impl<T> Client<T> {
    fn get(&self, named: &Named) -> Result<(), TestError> {
        let call = ONCE.blocking(|| Err(BUSY));
        call.notify(note(named)).call()
    }
}

const ONCE: Policy = PLAIN.max_attempts(1);

fn note(named: &Named) -> impl FnMut(&Event<'_, TestError>) + Clone {
    |event| named.borrow_mut().push(event.operation())
}

fn busy() -> Result<(), TestError> {
    Err(BUSY)
}

async fn in_async(named: &Named) -> Result<(), TestError> {
    let inner = || ONCE.retry(async || busy()).runtime(Scripted::default());
    let call = ONCE.retry(|| async { inner().notify(note(named)).await });
    call.runtime(Scripted::default()).notify(note(named)).await
}

#[test]
fn an_event_names_the_operation_by_its_setting_or_by_the_function_that_holds_it() {
    #[retry(policy = ONCE, operation = "billing.get", notify = note(named))]
    fn annotated(named: &Named) -> Result<(), TestError> {
        busy()
    }
    #[retry(policy = ONCE, notify = note(named))]
    fn unnamed(named: &Named) -> Result<(), TestError> {
        busy()
    }
    let budget = Budget::aws();
    let shutdown = || pending::<()>();
    let ready_busy = || ready(busy());
    type Call<'c> = &'c dyn Fn(&Named) -> Result<(), TestError>;
    // `…` is this module.
    let rows: &[(&[&str], Call<'_>)] = &[
        (&["billing.get"], &annotated),
        (&["…unnamed"], &unnamed),
        (&["…in_async"; 2], &|named| at_once(in_async(named))),
        (&["…Client<alloc::string::String>::get"], &|named| {
            Client(String::new()).get(named)
        }),
        (&["…busy"], &|named| {
            ONCE.blocking(busy).notify(note(named)).call()
        }),
        (&["boxed closure"], &|named| {
            let boxed: Box<dyn Fn() -> Result<(), TestError>> = Box::new(busy);
            ONCE.blocking(boxed).notify(note(named)).call()
        }),
        (&["a.b"], &|named| {
            ONCE.blocking(busy)
                .operation("a.b")
                .notify(note(named))
                .call()
        }),
        // Before and after the settings that change the type of a call; the later name holds.
        (&["later"], &|named| {
            let call = ONCE.retry(ready_busy).operation("a.b").budget(&budget);
            let call = call.stop_on(shutdown()).owned().operation("later");
            at_once(call.runtime(Scripted::default()).notify(note(named)))
        }),
        (&["a.b"], &|named| {
            let call = ONCE
                .retry(ready_busy)
                .operation("a.b")
                .budget(&budget)
                .owned();
            at_once(call.runtime(Scripted::default()).notify(note(named)))
        }),
    ];
    for (row, (expected, call)) in rows.iter().enumerate() {
        let named = Named::default();
        assert_eq!(call(&named), Err(BUSY), "row {row}");
        let expected = expected.iter().map(|name| match name.strip_prefix('…') {
            Some(path) => format!("{}::{path}", module_path!()),
            None => (*name).to_owned(),
        });
        assert_eq!(
            named.into_inner(),
            expected.collect::<Vec<_>>(),
            "row {row}"
        );
    }
}
