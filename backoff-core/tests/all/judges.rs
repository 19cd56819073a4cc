//! If the operation must not be made twice, no judge retries an attempt that may have been applied: neither a
//! function nor a pattern, in any form.
use crate::common::{
    Scripted, at_once,
    error::TestError,
    forms::{PLAIN, SECOND, call, check, fails, row},
};
use backoff_core::{FaultKind, Policy, StopReason, Verdict, retry};

const POLICY: Policy = PLAIN.max_attempts(3);
const STOP: TestError = TestError::UNKNOWN.asking_to_stop();

/// What comes of a failure that a judge would always repeat, where it must not be made twice and where it may.
const CASES: [(TestError, &str, &str); 6] = [
    (
        TestError::LOST,
        "0; at 0 maybe_applied: error lost",
        "0 1 3; at 3 attempts: error lost",
    ),
    // No status of a transport's failure: what the server did is not known.
    (
        TestError::status(500),
        "0; at 0 maybe_applied: error 500",
        "0 1 3; at 3 attempts: error 500",
    ),
    (
        TestError::status(404),
        "0; at 0 maybe_applied: error 404",
        "0 1 3; at 3 attempts: error 404",
    ),
    // Surely nothing was done.
    (
        TestError::REFUSED,
        "0 1 3; at 3 attempts: error refused",
        "0 1 3; at 3 attempts: error refused",
    ),
    (
        TestError::status(429),
        "0 1 3; at 3 attempts: error 429",
        "0 1 3; at 3 attempts: error 429",
    ),
    (
        STOP,
        "0; at 0 stopped_by_server: error unknown",
        "0; at 0 stopped_by_server: error unknown",
    ),
];

#[test]
fn a_function_has_nothing_repeated_that_may_have_been_applied() {
    // Nor does a hint or a kind of its own say what was applied.
    let judges: [fn(&TestError) -> Verdict; 3] = [
        |_| Verdict::from(true),
        |_| Verdict::from(true).after(Some(SECOND / 2)),
        |_| Verdict::Retry {
            kind: FaultKind::Throttled,
            retry_after: None,
        },
    ];
    for (failure, careful, twice) in CASES {
        for judge in judges {
            let judged = call(POLICY).when(judge);
            check(&[
                row("careful", judged.careful(), &[fails(failure)], careful),
                row("twice", judged, &[fails(failure)], twice),
            ]);
        }
    }
    // A read changes nothing. A function that sees errors of any type sees no facts, as its documentation says:
    // what it says holds.
    let judged = POLICY.idempotent(false);
    let judged = judged.when(|_: &TestError| true);
    let read = judged.blocking_update(|| Err::<(), _>(TestError::LOST), |()| true, |()| Ok(()));
    let gave_up = read
        .runtime(Scripted::default())
        .reported()
        .call()
        .unwrap_err();
    assert_eq!(gave_up.reason, StopReason::Attempts);
    check(&[row(
        "a function that knows by itself",
        call(POLICY).careful().when_any(|_| Verdict::from(true)),
        &[fails(TestError::LOST)],
        "0 1 3; at 3 attempts: error lost",
    )]);
}

/// The attribute's patterns, and the attribute that says nothing of errors, by which each is retried.
#[test]
fn no_pattern_has_repeated_what_may_have_been_applied() {
    type Outcome = Result<(), TestError>;
    for (failure, careful, _) in CASES {
        let times = [(); 4].map(|()| Scripted::default());
        let [a, b, c, d] = times.clone();

        #[retry(jitter = none, max_attempts = 3, idempotent = false, runtime = time,
                on = [TestError { number: 0, .. }])]
        async fn patterns(time: Scripted, failure: TestError) -> Outcome {
            Err(failure)
        }
        #[retry(jitter = none, max_attempts = 3, idempotent = false, runtime = time,
                on = [TestError { number: 0, .. }])]
        fn blocking_patterns(time: Scripted, failure: TestError) -> Outcome {
            Err(failure)
        }
        #[retry(jitter = none, max_attempts = 3, idempotent = false, runtime = time,
                on = [503, TestError { number: 0, .. }])]
        async fn patterns_and_codes(time: Scripted, failure: TestError) -> Outcome {
            Err(failure)
        }
        #[retry(jitter = none, max_attempts = 3, idempotent = false, runtime = time)]
        async fn every(time: Scripted, failure: TestError) -> Outcome {
            Err(failure)
        }
        let outcomes = [
            at_once(patterns(a, failure)),
            blocking_patterns(b, failure),
            at_once(patterns_and_codes(c, failure)),
            at_once(every(d, failure)),
        ];
        assert_eq!(outcomes, [Err(failure); 4]);
        let waits = if careful.starts_with("0 1 3;") { 2 } else { 0 };
        for (n, time) in times.iter().enumerate() {
            assert_eq!(time.waits.take().len(), waits, "{n}: {failure}");
        }
    }
}
