//! Attempts with a second request: which one decides, and when there is none.

use crate::common::{
    error::TestError,
    forms::{PLAIN, SECOND, call, check},
    time::Time,
};
use backoff_core::Hedge;
use proptest::prelude::*;
use std::{
    cell::{Cell, RefCell},
    time::Duration,
};

/// Each number before the semicolon is a request; the second one of an attempt begins a second after the first one.
#[test]
fn a_slow_attempt_gets_a_second_request() {
    let table = "
        a quick answer                  | hedge 1 | 200 taking 0.9                           | 0; at 0.9: 200
        the second one is first         | hedge 1 | 200 taking 9, 201                        | 0 1; at 1: 201
        the first one is first          | hedge 1 | 200 taking 2, 201 taking 5               | 0 1; at 2: 200
        both at the same time           | hedge 1 | 200 taking 2, 201 taking 1               | 0 1; at 2: 200
        the first one hangs             | hedge 1 | hangs, 200                               | 0 1; at 1: 200
        the second one hangs            | hedge 1 | 200 taking 9, hangs                      | 0 1; at 9: 200
        a third one does not come       | hedge 1 | 200 taking 9, 201 taking 9               | 0 1; at 9: 200
        it fails before the second one  | hedge 1 | error 503 taking 0.9, 200                | 0 1.9; at 1.9: 200
        the second one fails            | hedge 1 | 200 taking 9, error 503 taking 1, 201    | 0 1; at 9: 200
        the first one fails             | hedge 1 | error 503 taking 2, 200 taking 3         | 0 1; at 4: 200
        both fail: one attempt          | hedge 1, max_attempts 1 | error 503 taking 2, error 502 taking 3 | 0 1; at 4 attempts: error 502
        both fail, and then             | hedge 1 | error 503 taking 3, error 503 taking 1, 200 | 0 1 4; at 4: 200
        each attempt gets one           | hedge 1 | error 503 taking 2, error 503 taking 1, 200 taking 9, 200 | 0 1 3 4; at 4: 200
        the longer hint counts          | hedge 1 | error 503 after 30 taking 2, error 503 taking 3, 200 | 0 1 34; at 34: 200
        of the second one, too          | hedge 1 | error 503 taking 3, error 503 after 30 taking 1, 200 | 0 1 33; at 33: 200
        the first one is not retried    | hedge 1 | error 404 taking 2, 200 taking 9         | 0 1; at 2 permanent: error 404
        the second one is not retried   | hedge 1 | 200 taking 9, error 404 taking 1         | 0 1; at 2 permanent: error 404
        after one has failed            | hedge 1 | error 503 taking 2, error 404 taking 5   | 0 1; at 6 permanent: error 404
        a timeout cuts both             | hedge 1, timeout 5, max_attempts 1 | hangs         | 0 1; at 5 attempts: error cut after 5s
        so does each attempt's          | hedge 1, attempt_timeout 5, max_attempts 2 | hangs | 0 1 6 7; at 11 attempts: error cut after 5s
        a signal cuts both              | hedge 1, cut_on 5 | hangs                          | 0 1; at 5 stopped: error stopped
        the caller drops both           | hedge 1, dropped_at 5 | hangs                      | 0 1; dropped at 5
    ";
    check(call(PLAIN), table);
}

#[test]
fn a_reply_that_counts_as_a_failure_does_not_win() {
    let table = "
        the other one wins     | hedge 1, responses | 200 taking 9, 503 taking 1 | 0 1; at 9: 200
        both fail              | hedge 1, responses, max_attempts 1 | 503 taking 2, 502 taking 3 | 0 1; at 4 attempts: 502
        the longer hint counts | hedge 1, responses | 503 taking 2, error 503 after 30 taking 3, 200 | 0 1 34; at 34: 200
        it is not retried      | hedge 1, responses | 200 taking 9, 404 taking 1 | 0 1; at 2: 404
    ";
    check(call(PLAIN), table);
}

#[test]
fn some_attempts_get_no_second_request() {
    let table = "
        what must not run twice  | hedge 1, careful               | 200 taking 9, 201 | 0; at 9: 200
        after the deadline       | hedge 2, deadline 1            | 200 taking 9, 201 | 0; at 9: 200
        after the signal         | hedge 2, stop_on 1             | 200 taking 9, 201 | 0; at 9: 200
        without tokens           | hedge 1, budget costs 9        | 200 taking 9, 201 | 0; at 9: 200 [10]
        with tokens              | hedge 1, budget costs 10       | 200 taking 9, 201 | 0 1; at 1: 201 [1]
        at half of gRPC's budget | hedge 1, budget grpc 2 0.1, max_attempts 1 | error 503 taking 2, error 503 taking 2 | 0 1; at 3 attempts: error 503 [1 1]
        of a retry, without      | hedge 1, budget costs 10       | error 503, 200 taking 9, 201 | 0 1; at 10: 200 [0 10 10]
        of a retry, with tokens  | hedge 1, budget costs 20       | error 503, 200 taking 9, 201 | 0 1 2; at 2: 201 [10 10 10]
    ";
    check(call(PLAIN), table);
}

#[cfg(feature = "rate")]
#[test]
fn a_rate_that_delays_calls_allows_none() {
    let table = "
        a closed rate | hedge 1, rate 3 | 200 taking 9, 201 | 3; at 12: 200
    ";
    check(call(PLAIN), table);
}

/// The attempt is the probe of an open breaker, or its call can make no error, so that the attempt is made all the same.
#[cfg(feature = "breaker")]
#[test]
fn an_open_breaker_allows_none() {
    let table = "
        a probe         | hedge 1, breaker open 0 | 200 taking 9, 201 | 0; at 9: 200
        another attempt | hedge 1, breaker open 1, when_any | 200 taking 9, 201 | 0; at 9: 200
        a closed one    | hedge 1, breaker 3      | 200 taking 9, 201 | 0 1; at 1: 201
    ";
    check(call(PLAIN), table);
}

#[cfg(feature = "testing")]
#[test]
fn none_begins_where_a_test_switches_retries_off() {
    let _off = backoff_core::testing::off();
    let table = "
        a slow attempt | hedge 1 | 200 taking 9, 201 | 0; at 9: 200
    ";
    check(call(PLAIN), table);
}

#[test]
fn a_request_knows_that_it_is_the_second_one() {
    let (time, asked) = (Time::default(), RefCell::new(Vec::new()));
    let call = PLAIN.retry_with(|attempt| {
        let mut asked = asked.borrow_mut();
        asked.push((attempt.number(), attempt.is_hedge(), attempt.id()));
        let fails = asked.len() < 4;
        let time = &time;
        async move {
            time.after(9 * SECOND).await;
            if fails {
                Err(TestError::status(503))
            } else {
                Ok(())
            }
        }
    });
    let hedge = Hedge::after(SECOND);
    assert_eq!(time.run(call.runtime(time.clone()).hedge(&hedge)), Ok(()));
    let asked = asked.into_inner();
    let id = asked[0].2;
    assert_eq!(
        asked,
        [(1, false, id), (1, true, id), (2, false, id), (2, true, id)]
    );
}

/// Counts a request until it ends or is dropped.
struct Counted<'c>(&'c Cell<u32>);

impl<'c> Counted<'c> {
    fn new(running: &'c Cell<u32>) -> Self {
        running.set(running.get() + 1);
        Counted(running)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Requests one after the other: how many seconds each takes, and whether it fails.
type Requests = Vec<(u32, bool)>;

/// The requests that begin while another one runs, and the calls, of which each is dropped after 30 s.
fn second_requests(hedge: &Hedge, requests: &Requests) -> (u32, u32) {
    let (time, running) = (Time::default(), Cell::new(0));
    let (seconds, calls) = (Cell::new(0), Cell::new(0));
    let mut left = requests.iter().copied();
    while left.len() > 0 {
        calls.set(calls.get() + 1);
        let call = const { PLAIN.max_attempts(3) }.retry(|| {
            seconds.set(seconds.get() + running.get());
            let (takes, fails) = left.next().unwrap_or((0, false));
            let (time, running) = (&time, &running);
            async move {
                let _counted = Counted::new(running);
                time.after(SECOND * takes).await;
                match fails {
                    true => Err(TestError::status(503)),
                    false => Ok(()),
                }
            }
        });
        let call = call.runtime(time.clone()).hedge(hedge);
        let _ = time.run_until(time.elapsed() + 30 * SECOND, call);
        assert_eq!(running.get(), 0, "a request runs on");
    }
    (seconds.get(), calls.get())
}

proptest! {
    #[test]
    fn a_twentieth_of_the_calls_gets_a_second_request(
        requests in prop::collection::vec((0..40_u32, prop::bool::weighted(0.2)), 1..600),
        is_fixed: bool,
    ) {
        let hedge = if is_fixed { Hedge::after(SECOND) } else { Hedge::p95() };
        let (seconds, calls) = second_requests(&hedge, &requests);
        prop_assert!(seconds <= calls / 20 + 10, "{} of {}", seconds, calls);
    }
}

/// Where each request is slow, the tokens are used up.
#[test]
fn the_bucket_is_filled_by_calls() {
    let slow = vec![(9, false); 1_000];
    let (seconds, calls) = second_requests(&Hedge::after(SECOND), &slow);
    assert_eq!(seconds, calls / 20 + 10);
}

/// The first hundred answers are measured: 0 to 99 s in any order.
#[test]
fn the_percentile_follows_the_answers() {
    let hedge = Hedge::p95();
    let measured = |seconds: &[u32]| {
        let requests = seconds.iter().map(|takes| (*takes, false)).collect();
        second_requests(&hedge, &requests).0
    };
    let mixed: Vec<_> = (0..100).map(|number| number * 37 % 30).collect();
    assert_eq!((measured(&mixed[..99]), hedge.delay()), (0, None));
    // 0 to 29, three or four times each.
    assert_eq!(
        (measured(&mixed[99..]), hedge.delay()),
        (0, Some(28 * SECOND))
    );
    // The service becomes faster.
    assert_eq!((measured(&[1; 100]), hedge.delay()), (0, Some(SECOND)));
    // Half of the answers are slow, and the second request of each is as slow.
    measured(&[20; 50]);
    assert_eq!(hedge.delay(), Some(20 * SECOND));
}

/// A call that has its answer at once is no request.
#[test]
fn a_quick_operation_does_not_lead_to_a_delay_of_zero() {
    let hedge = Hedge::p95();
    second_requests(&hedge, &vec![(0, false); 100]);
    assert_eq!(hedge.delay(), Some(SECOND / 1_000));
}

#[test]
fn a_hedge_without_a_delay_is_refused() {
    assert!(std::panic::catch_unwind(|| Hedge::after(Duration::ZERO)).is_err());
}
