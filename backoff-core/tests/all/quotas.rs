//! Calls that share a rate, and a service whose replies state what remains of its quotas. In virtual time.

mod annotated;

use backoff_core::{__private::observe_reply, Attempt, Fault, Policy, Rate, Stopped, TimedOut};
use http_1::{HeaderMap, HeaderName, Response};
use std::{
    cell::Cell,
    future::{pending, poll_fn, ready},
    pin::pin,
    task::Poll,
    time::Duration,
};
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);
const PATIENT: Policy = Policy::exponential()
    .max_attempts(100)
    .max_retry_after(Duration::from_secs(7_200));

#[derive(Debug, PartialEq)]
struct Refused(Option<TimedOut>);

impl Fault for Refused {
    fn status(&self) -> Option<u16> {
        self.0.is_none().then_some(429)
    }
}

impl From<TimedOut> for Refused {
    fn from(late: TimedOut) -> Self {
        Refused(Some(late))
    }
}

impl From<Stopped> for Refused {
    fn from(_: Stopped) -> Self {
        unreachable!("no signal comes")
    }
}

/// Headers, of lines such as `x-ratelimit-remaining: 0`.
fn headers(lines: &[(&str, String)]) -> HeaderMap {
    let lines = lines.iter().map(|(name, value)| {
        let name = HeaderName::try_from(*name).unwrap();
        (name, value.parse().unwrap())
    });
    lines.collect()
}

/// GitHub's headers: so much of 60 remains, and the window ends after so many seconds.
fn window(left: impl ToString, ends: impl ToString) -> HeaderMap {
    headers(&[
        ("x-ratelimit-limit", "60".into()),
        ("x-ratelimit-remaining", left.to_string()),
        ("x-ratelimit-reset", ends.to_string()),
    ])
}

/// OpenAI's headers: so much of 6,000 tokens remains, of which 100 come back in a second.
fn of_tokens(left: u32) -> HeaderMap {
    headers(&[
        ("x-ratelimit-limit-tokens", "6000".into()),
        ("x-ratelimit-remaining-tokens", left.to_string()),
        (
            "x-ratelimit-reset-tokens",
            format!("{}s", (6_000 - left) / 100),
        ),
    ])
}

/// How long a call with so many tokens waits.
async fn waits(rate: &Rate, tokens: u32) -> Duration {
    let start = Instant::now();
    let call = PATIENT.retry(|| ready(Ok::<_, Refused>(()))).rate(rate);
    call.tokens(tokens).await.unwrap();
    start.elapsed()
}

fn rate() -> &'static Rate {
    Box::leak(Box::default())
}

/// A reply that is a value is heard by its headers: the calls after a used-up window wait, and one call tries after 2 s
/// what nobody expected.
#[tokio::test(start_paused = true)]
async fn a_window_that_is_used_up_closes_the_queue_until_its_reset() {
    let policy = PATIENT.rate(rate());
    let start = Instant::now();
    // Rows: when the call is sent, and what its reply states.
    for (sent, left, ends) in [
        (0, 1, 600),
        (0, 0, 600),
        (600, 1, 3_000),
        (600, 0, 3_000),
        (3_600, 59, 60),
    ] {
        let ask = || {
            assert_eq!(start.elapsed().as_secs(), sent);
            let mut reply = Response::new(());
            *reply.headers_mut() = window(left, ends);
            ready(Ok::<_, Refused>(reply))
        };
        policy.retry(ask).responses().await.unwrap();
    }
    // What nobody expected closes for 2 s.
    let rate = self::rate();
    rate.observe(&window(0, 3_000));
    assert_eq!(waits(rate, 0).await.as_secs(), 2);
}

/// A minute after its end, a window does not hold any more if replies do not state it. Until then, calls whose replies state
/// nothing count.
#[tokio::test(start_paused = true)]
async fn quotas_are_forgotten_a_minute_after_their_end() {
    let rate = rate();
    rate.observe(&window(2, 30));
    for (passes, calls, expected) in [(0, 3, 30), (1, 59, 0), (1, 1, 28), (61, 200, 0)] {
        sleep(passes * SECOND).await;
        let mut waited = 0;
        for _ in 0..calls {
            waited += waits(rate, 0).await.as_secs();
        }
        assert_eq!(waited, expected, "{calls} calls");
    }
}

/// A call that is dropped gives its share back, so the next call goes at once.
#[tokio::test(start_paused = true)]
async fn a_dropped_call_gives_its_share_back() {
    let rate = rate();
    for left in [2, 2] {
        let ask = || {
            rate.observe(&window(left, 600));
            ready(Ok::<_, Refused>(()))
        };
        PATIENT.retry(ask).rate(rate).await.unwrap();
        sleep(SECOND).await;
    }
    let never = || PATIENT.retry(pending::<Result<(), Refused>>).rate(rate);
    let (mut first, mut second) = (Box::pin(never()), Box::pin(never()));
    poll_fn(|cx| {
        assert!(first.as_mut().poll(cx).is_pending() && second.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
    let mut third = pin!(PATIENT.retry(|| ready(Ok::<_, Refused>(3))).rate(rate));
    let waits = tokio::time::timeout(SECOND, third.as_mut()).await;
    assert!(waits.is_err() && rate.waiting() == 1);
    drop(first);
    let start = Instant::now();
    assert_eq!(third.await, Ok(3));
    assert_eq!(start.elapsed(), Duration::ZERO);
}

/// While a slow call runs, 100 others end or are refused by a breaker. Then the slow one has the first headers.
#[cfg(feature = "breaker")]
#[tokio::test(start_paused = true)]
async fn what_has_ended_before_the_first_headers_uses_nothing() {
    for other in [Ok(()), Err(TimedOut::new(SECOND))] {
        let (rate, down) = (rate(), backoff_core::Breaker::new().opens_at(1, 1));
        let slow = || async {
            sleep(SECOND / 2).await;
            rate.observe(&window(50, 600));
            Ok::<_, Refused>(())
        };
        let others = async {
            for _ in 0..100 {
                let once = PATIENT.max_attempts(1);
                let call = once.retry(|| ready(other)).rate(rate);
                let ended = call.breaker(&down).await;
                assert_eq!(ended.is_ok(), other.is_ok());
            }
        };
        let slow = PATIENT.retry(slow).rate(rate).into_future();
        tokio::join!(slow, others).0.unwrap();
        assert_eq!(waits(rate, 0).await, Duration::ZERO, "{other:?}");
    }
}

/// Each warning about quotas is written once for each rate. The first header that makes no sense is named, with its
/// value.
#[cfg(all(feature = "macros", feature = "tracing"))]
#[test]
fn a_header_that_makes_no_sense_and_a_call_that_is_too_large_are_logged_once() {
    use crate::common::recorder::listening;
    use tokio::runtime::Builder;

    let used_up = headers(&[
        ("x-ratelimit-limit-tokens", "1000".into()),
        ("x-ratelimit-remaining-tokens", "0".into()),
        ("x-ratelimit-reset-tokens", "20s".into()),
    ]);
    let work = async {
        for name in ["first", "second"] {
            let rate: &Rate = Box::leak(Box::new(Rate::new().name(name)));
            for (left, ends) in [(61, 30), (5, 7_200), (61, 30)] {
                rate.observe(&window(left, ends));
            }
            for _ in 0..3 {
                let ask = || {
                    rate.observe(&used_up);
                    ready(Ok::<_, Refused>(()))
                };
                PATIENT.retry(ask).rate(rate).tokens(5_000).await.unwrap();
            }
        }
    };
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    let logged = listening(|| runtime.unwrap().block_on(work)).logged;
    let of = |rate: &str| {
        [
            format!(
                "WARN a header of a quota makes no sense, and changes nothing rate={rate} \
                 header=x-ratelimit-remaining value=61"
            ),
            format!(
                "WARN a call uses more than a whole quota of the service: it goes alone, when the quota is full, and \
                 the service may refuse it rate={rate}"
            ),
        ]
    };
    assert_eq!(logged, [of("first"), of("second")].concat());
}

/// A second request for a slow call goes while a quota is ample, and not while the quota delays calls.
#[tokio::test(start_paused = true)]
async fn a_second_request_goes_unless_a_quota_delays_calls() {
    for (left, expected) in [(50, 2), (1, 1)] {
        let (rate, hedge) = (rate(), backoff_core::Hedge::after(SECOND / 10));
        rate.observe(&window(left, 600));
        let made = Cell::new(0);
        let slow = || async {
            made.set(made.get() + 1);
            sleep(SECOND).await;
            Ok::<_, Refused>(())
        };
        PATIENT.retry(slow).rate(rate).hedge(&hedge).await.unwrap();
        assert_eq!(made.get(), expected, "{left} left");
    }
}

/// A reply says suddenly that nothing is left. After two seconds a call tries that, and no second request.
#[tokio::test(start_paused = true)]
async fn a_second_request_does_not_try_a_quota() {
    let (rate, hedge) = (rate(), backoff_core::Hedge::after(3 * SECOND));
    rate.observe(&window(50, 600));
    let made = Cell::new(0);
    let slow = || async {
        made.set(made.get() + 1);
        rate.observe(&window(0, 600));
        // The next call hears the reply.
        let next = PATIENT.retry(|| ready(Ok::<_, Refused>(()))).rate(rate);
        next.max_queue_time(Duration::ZERO).await.unwrap_err();
        sleep(10 * SECOND).await;
        Ok::<_, Refused>(())
    };
    PATIENT.retry(slow).rate(rate).hedge(&hedge).await.unwrap();
    assert_eq!(made.get(), 1);
    assert_eq!(waits(rate, 0).await, Duration::ZERO);
}

/// The replies of a call belong to its own rate. Those of a call without a rate belong to no rate, also inside of an attempt
/// of a call that has one, unless `observe` says so.
#[tokio::test(start_paused = true)]
async fn replies_inside_of_an_attempt_belong_to_the_call_that_gets_them() {
    const RESPONSES: Policy = Policy::exponential();
    let (outer, inner) = (rate(), rate());
    let reply = || {
        let mut reply = Response::new(());
        *reply.headers_mut() = window(0, 600);
        reply
    };
    let inside = async |of_inner: Option<&Rate>, by_hand: bool| {
        let get = || async {
            // As `send` does.
            observe_reply(&window(0, 600));
            if by_hand {
                outer.observe(&window(0, 600));
            }
            Ok::<_, Refused>(reply())
        };
        let call = RESPONSES.retry(get);
        match of_inner {
            Some(rate) => call.responses().rate(rate).await.map(drop),
            None => call.responses().await.map(drop),
        }
    };
    let call = PATIENT.retry(|| inside(None, false)).rate(outer);
    call.await.unwrap();
    assert_eq!(waits(outer, 0).await, Duration::ZERO);
    PATIENT
        .retry(|| inside(Some(inner), false))
        .rate(outer)
        .await
        .unwrap();
    assert_eq!(waits(outer, 0).await, Duration::ZERO);
    assert_eq!(waits(inner, 0).await, 2 * SECOND);
    PATIENT
        .retry(|| inside(None, true))
        .rate(outer)
        .await
        .unwrap();
    assert_eq!(waits(outer, 0).await, 2 * SECOND);
}

/// An attempt finds its rate on any thread; the thread alone does not.
#[tokio::test(start_paused = true)]
async fn an_attempt_whose_reply_another_thread_reads_finds_its_rate() {
    let on_a_thread = |does: fn(Attempt)| {
        move |attempt| {
            ready(Ok::<_, Refused>(
                std::thread::spawn(move || does(attempt)).join(),
            ))
        }
    };
    // Rows: what the thread does, and how long a call with 600 tokens waits then.
    let rows: [(fn(Attempt), u64); 3] = [
        (|_| observe_reply(&of_tokens(0)), 0),
        (|attempt| attempt.observe(&of_tokens(0)), 2),
        (
            |attempt| {
                attempt.observe(&of_tokens(1_000));
                attempt.used(500_usize);
            },
            1,
        ),
    ];
    for (does, expected) in rows {
        let rate = Rate::new();
        let call = PATIENT.retry_with(on_a_thread(does));
        call.rate(&rate).await.unwrap().unwrap();
        assert_eq!(waits(&rate, 600).await.as_secs(), expected);
    }
    // Its rate is gone.
    let attempt = {
        let rate = Rate::new();
        let call = PATIENT.retry_with(|attempt| ready(Ok::<_, Refused>(attempt)));
        call.rate(&rate).await.unwrap()
    };
    attempt.observe(&of_tokens(0));
}

/// After a panic, a thread does not run the attempt any more: its next reply belongs to no rate.
#[tokio::test(start_paused = true)]
async fn an_attempt_that_panics_leaves_nothing_on_its_thread() {
    let rate = rate();
    let mut call = Box::pin(
        PATIENT
            .retry(|| async { panic!("in an attempt") as Result<(), Refused> })
            .rate(rate)
            .into_future(),
    );
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let polled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = call.as_mut().poll(&mut cx);
    }));
    assert!(polled.is_err());
    let mut reply = Response::new(());
    *reply.headers_mut() = window(0, 600);
    observe_reply(reply.headers());
    assert_eq!(waits(rate, 0).await, Duration::ZERO);
}
