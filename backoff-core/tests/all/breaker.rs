//! A breaker ends calls while a service is down, in every form of a call. While it is open, a probe goes every 4 s.

use crate::common::{
    error::TestError,
    forms::{BUSY, PLAIN, SECOND, call, check},
    time::Time,
};
use backoff_core::{
    __private::ForeignCall, Breaker, Clock as _, Decision, Fault, FaultKind, GrpcCode, RetryState,
    StopReason, TimedOut, retry, retry_block,
};
use std::{
    cell::Cell,
    future::{pending, ready},
    pin::{Pin, pin},
    task::{Context, Waker},
    time::Duration,
};

#[test]
fn it_opens_when_enough_attempts_have_failed() {
    let table = "
        failures of the service       | breaker 3 | error 503 | 0 1 3; at 3 breaker: error 503
        a lost connection             | breaker 1 | error lost | 0; at 0 breaker: error lost
        a connection that is refused  | breaker 2 | error refused | 0 1; at 1 breaker: error refused
        timeouts                      | breaker 2, attempt_timeout 3 | hangs | 0 4; at 7 breaker: error cut after 3s
        the timeout of the call opens it too | breaker 1, timeout 3 | hangs | 0; at 3 breaker: error cut after 3s
        the attempts end first        | breaker 4, max_attempts 4 | error 503 | 0 1 3 7; at 7 attempts: error 503
        then no tokens are taken      | breaker 2, budget costs 50 | error 503 | 0 1; at 1 breaker: error 503 [40 40 40]
        what may be applied counts    | breaker 1, careful | error lost, 200 | 0; at 0 maybe_applied: error lost
        but update in its read        | 0; at 0 breaker: error lost
        throttling does not count     | breaker 1, max_attempts 3 | error 429 | 0 1 3; at 3 attempts: error 429
        a 404 does not                | breaker 1 | error 404 | 0; at 0 permanent: error 404
        nor does a value that is awaited | breaker 1, until, max_attempts 2 | 202 | 0 1; at 1 attempts: error not yet
    ";
    check(call(PLAIN.max_attempts(5)), table);
    let conflicts = "
        nor does a conflict | breaker 1, max_attempts 2 | error conflict | 0 1; at 1 attempts: error Conflict
        but layer | 0; at 0 permanent: error Conflict
    ";
    check(call(PLAIN.retry_conflicts(true)), conflicts);
    let responses = "
        a response counts as an error does | breaker 2, responses | 503 | 0 1; at 1 breaker: 503
    ";
    check(call(PLAIN), responses);
}

#[test]
fn while_it_is_open_only_probes_are_made() {
    let table = "
        a first attempt is not made | breaker open 1 | 200 | never; at 0 breaker: error cut after 0ns
        nor with a judge | breaker open 1, when | 200 | never; at 0 breaker: error cut after 0ns
        nor with a limit, whoever judges | breaker open 1, when_any, attempt_timeout 9 | 200 | never; at 0 breaker: error cut after 0ns
        without an error, it is made, and does not count | breaker open 1, when_any | 200 | 0; at 0: 200
        but breaker of the call | never; at 0 breaker: error cut after 0ns
        and is not repeated | breaker open 1, when_any | error 503 | 0; at 0 breaker: error 503
        but breaker of the call | never; at 0 breaker: error cut after 0ns
        a probe that fails is not repeated | breaker open 0, timeout 9 | error 503 | 0; at 0 breaker: error 503
        a probe succeeds | breaker open 0, timeout 9 | 200 | 0; at 0: 200
        a probe that has no answer is not repeated | breaker open 0 | error 429 | 0; at 0 breaker: error 429
    ";
    check(call(PLAIN), table);
}

/// How many of 600 calls reach a service that is down, if the policy alone names the breaker.
fn reach<E: Fault>(down: fn() -> E) -> u32 {
    let (breaker, asked): (&Breaker, _) = (Box::leak(Box::default()), Cell::new(0));
    let policy = PLAIN.max_attempts(1).breaker(breaker);
    for _ in 0..600 {
        let call = policy.blocking(|| {
            asked.set(asked.get() + 1);
            Err::<(), E>(down())
        });
        assert!(call.runtime(Time::default()).call().is_err());
    }
    asked.get()
}

/// Of an error that cannot be made the log says that the breaker refuses nothing.
#[test]
fn a_policy_alone_names_it_if_the_error_can_be_made() {
    #[derive(Debug, Fault)]
    enum Derived {
        #[fault(status = 503)]
        Down,
        #[fault(forward)]
        TimedOut(TimedOut),
    }
    impl From<TimedOut> for Derived {
        fn from(late: TimedOut) -> Self {
            Derived::TimedOut(late)
        }
    }
    /// With a parameter, and without `From`.
    #[derive(Debug, Fault)]
    struct Unmade<F>(#[fault(forward)] F);

    assert_eq!([reach(|| BUSY), reach(|| Derived::Down)], [10; 2]);
    let unmade = || assert_eq!(reach(|| Unmade(BUSY)), 600);
    #[cfg(not(feature = "tracing"))]
    unmade();
    #[cfg(feature = "tracing")]
    {
        let logged = crate::common::recorder::listening(unmade).logged;
        let unheard = |line: &&String| line.starts_with("WARN a first attempt is made although");
        assert_eq!(logged.iter().filter(unheard).count(), 1);
    }
}

#[test]
fn keys_name_it() {
    static DOWN: Breaker = often();
    #[retry(breaker = DOWN, policy = PLAIN, runtime = time)]
    async fn get(time: &Time, reply: Result<u32, TestError>) -> Result<u32, TestError> {
        reply
    }
    #[retry(breaker = DOWN, runtime = time)]
    fn get_blocking(time: &Time, reply: Result<u32, TestError>) -> Result<u32, TestError> {
        reply
    }
    let time = Time::default();
    let refused = Err(TimedOut::new(Duration::ZERO).into());
    for _ in 0..2 {
        assert_eq!(time.run(get(&time, Ok(1))), Ok(1));
        assert_eq!(time.run(get(&time, Err(BUSY))), Err(BUSY));
        assert_eq!(time.run(get(&time, Ok(1))), refused);
        assert_eq!(get_blocking(&time, Ok(1)), refused);
        let block = retry_block!(breaker = DOWN, runtime = &time, async {
            Ok::<_, TestError>(1)
        });
        assert_eq!(time.run(block), refused);
        time.pass(SECOND);
        assert_eq!(get_blocking(&time, Err(BUSY)), Err(BUSY));
        time.pass(SECOND);
        assert_eq!(get_blocking(&time, Ok(1)), Ok(1));
    }
}

const fn often() -> Breaker {
    Breaker::new().opens_at(1, 1).probe_every(SECOND)
}

/// When attempts are made of a call each second, from an opening at 0 until the second `end`.
fn attempts(down: &Breaker, time: &Time, end: u64) -> Vec<u64> {
    let mut made = Vec::new();
    for second in 0..end {
        if down.admit(|| time.now()).is_some() {
            made.push(second);
        }
        time.pass(SECOND);
    }
    made
}

#[test]
fn the_pause_grows_and_begins_anew() {
    let down = Breaker::new().opens_at(1, 1).max_pause(10 * SECOND);
    for _ in 0..2 {
        let time = Time::default();
        let attempt = down.admit(|| time.now()).unwrap();
        down.ended(attempt, Some(FaultKind::Transient), || time.now());
        assert_eq!(attempts(&down, &time, 40), [1, 3, 7, 15, 25, 35]);
        down.close();
        assert_eq!(attempts(&down, &time, 2), [0, 1]);
    }
}

#[test]
fn it_opens_and_closes_by_hand() {
    let down = Breaker::new().probe_every(2 * SECOND);
    let time = Time::default();
    let before = down.admit(|| time.now()).unwrap();
    down.open_for(10 * SECOND, &time);
    time.pass(SECOND);
    assert_eq!(down.next_probe(&time), Some(9 * SECOND));
    // An attempt from before says nothing.
    down.ended(before, None, || time.now());
    assert_eq!(attempts(&down, &time, 14), [9, 11, 13]);
    assert_eq!(down.next_probe(&time), Some(SECOND));
    // Again, while it is open. A probe from before does not close it.
    time.pass(SECOND);
    let probe = down.admit(|| time.now()).unwrap();
    down.open_for(5 * SECOND, &time);
    down.ended(probe, None, || time.now());
    assert_eq!(attempts(&down, &time, 6), [5]);
    down.close();
    assert_eq!(down.next_probe(&time), None);
    assert_eq!(attempts(&down, &time, 2), [0, 1]);
}

#[test]
fn the_pauses_after_a_time_set_by_hand_are_as_after_any_opening() {
    let day = 86_400 * SECOND;
    for (set, first) in [
        (Duration::ZERO, SECOND / 100),
        (3 * SECOND, 3 * SECOND),
        (5 * SECOND, 5 * SECOND),
        (2 * day, day),
    ] {
        let (down, time) = (Breaker::new().max_pause(4 * SECOND), Time::default());
        down.open_for(set, &time);
        assert_eq!(down.next_probe(&time), Some(first));
        time.pass(first);
        assert_eq!(attempts(&down, &time, 12), [0, 1, 3, 7, 11], "{set:?}");
    }
}

fn poll_once<F: Future>(call: Pin<&mut F>) -> bool {
    let mut cx = Context::from_waker(Waker::noop());
    call.poll(&mut cx).is_ready()
}

#[test]
fn a_probe_that_is_dropped_or_hangs_does_not_hold_up_the_next_one() {
    static DOWN: Breaker = often();
    let (down, time) = (&DOWN, Time::default());
    let hangs = || {
        let call = PLAIN.retry(pending::<Result<(), TestError>>);
        Box::pin(call.breaker(down).runtime(time.clone()).into_future())
    };
    let fails = || {
        let call = PLAIN.retry(|| ready(Err::<(), _>(BUSY)));
        let ended = time.run(call.breaker(down).runtime(time.clone()).reported());
        ended.unwrap_err().report.attempts
    };
    // An attempt that began before the breaker opened says nothing when it is dropped.
    let mut early = hangs();
    assert!(!poll_once(early.as_mut()));
    assert_eq!((fails(), fails()), (1, 0));
    drop(early);
    assert_eq!(fails(), 0);
    time.pass(SECOND);
    let mut probe = hangs();
    assert!(!poll_once(probe.as_mut()));
    assert_eq!(fails(), 0);
    drop(probe);
    assert_eq!(fails(), 0);
    time.pass(SECOND);
    assert_eq!((fails(), fails()), (1, 0));
    time.pass(SECOND);
    let policy = PLAIN.breaker(&DOWN);
    let mut job = ForeignCall::job(policy, "job", Duration::ZERO, 0, &time);
    time.run(job.turn(&time));
    assert_eq!(fails(), 0);
    drop(job);
    assert_eq!(fails(), 0);
    time.pass(SECOND);
    let mut probe = hangs();
    assert!(!poll_once(probe.as_mut()));
    assert_eq!(fails(), 0);
    time.pass(SECOND);
    assert_eq!((fails(), fails()), (1, 0));
}

/// A call that waits in the queue of a rate is no probe: it is dropped, or its time there is over, and there is an error or
/// the attempt begins out of its turn.
#[cfg(feature = "rate")]
#[test]
fn a_call_that_waits_in_a_queue_is_no_probe() {
    static DOWN: Breaker = often();
    const MINUTE: Duration = Duration::from_secs(60);
    static CLOSED: backoff_core::Rate = backoff_core::Rate::new().pause_after_refusal(MINUTE);
    static OFF: backoff_core::Rate = backoff_core::Rate::new();
    let time = Time::default();
    let fails = |status, rate| {
        let once = PLAIN.max_attempts(1);
        let call = once.retry(|| ready(Err::<(), _>(TestError::status(status))));
        let call = call.rate(rate).breaker(&DOWN).runtime(time.clone());
        time.run(call.reported()).unwrap_err().report.attempts
    };
    assert_eq!((fails(429, &CLOSED), fails(503, &OFF)), (1, 1));
    for limit in [30 * SECOND, Duration::ZERO] {
        time.pass(SECOND);
        let call = PLAIN.retry(pending::<Result<(), TestError>>);
        let call = call.rate(&CLOSED).breaker(&DOWN).runtime(time.clone());
        let mut queued = Box::pin(call.max_queue_time(limit).into_future());
        let is_over = poll_once(queued.as_mut());
        assert_eq!(is_over, limit.is_zero());
        drop(queued);
        assert_eq!((fails(503, &OFF), fails(503, &OFF)), (1, 0));
    }
    time.pass(SECOND);
    let policy = PLAIN.rate(&CLOSED).breaker(&DOWN).deadline(9 * SECOND);
    let judged = policy.when_any(|_| true);
    let probe = judged.retry(|| ready(Ok::<_, TestError>(1)));
    assert_eq!(time.run(probe.runtime(time.clone()).into_future()), Ok(1));
    assert!(!DOWN.is_open());
}

/// In every form outside and inside: without this, the probe of the outer call fails, because the inner call is refused.
#[cfg(feature = "std")]
#[test]
fn a_call_inside_of_a_probe_is_part_of_the_probe() {
    static DOWN: Breaker = often();
    const POLICY: backoff_core::Policy = PLAIN.breaker(&DOWN);
    type Reply = Result<u32, TestError>;
    #[retry(policy = POLICY, timeout = "90s", runtime = time)]
    async fn annotated(time: &Time, inside: &dyn Fn() -> Reply) -> Reply {
        inside()
    }
    fn form(time: &Time, inside: &dyn Fn() -> Reply) -> Reply {
        let call = PLAIN.retry(|| async { inside() }).breaker(&DOWN);
        time.run(call.runtime(time.clone()).into_future())
    }
    fn blocking(time: &Time, inside: &dyn Fn() -> Reply) -> Reply {
        let call = PLAIN.blocking(inside).breaker(&DOWN);
        call.runtime(time.clone()).call()
    }
    fn update(time: &Time, inside: &dyn Fn() -> Reply) -> Reply {
        let read = || async { inside() };
        let write = |_| ready(Ok::<u32, TestError>(7));
        let call = PLAIN.update(read, |_: &mut u32| true, write).breaker(&DOWN);
        let updated = time.run(call.runtime(time.clone()).into_future());
        updated.map(|_| 7)
    }
    #[cfg(all(feature = "rate", feature = "http-1"))]
    fn rated(time: &Time, inside: &dyn Fn() -> Reply) -> Reply {
        // A quota is stated, so that the rate is asked before each attempt.
        let headers = [("limit", "99"), ("remaining", "98"), ("reset", "60")];
        let header = |(name, value): (&str, &str)| {
            let name = format!("x-ratelimit-{name}");
            (
                name.parse::<http_1::HeaderName>().unwrap(),
                value.parse().unwrap(),
            )
        };
        let rate = backoff_core::Rate::new();
        rate.observe(&headers.map(header).into_iter().collect());
        let call = PLAIN
            .retry(|| async { inside() })
            .breaker(&DOWN)
            .rate(&rate);
        time.run(call.runtime(time.clone()).into_future())
    }
    fn by_hand(time: &Time, inside: &dyn Fn() -> Reply) -> Reply {
        let now = || backoff_core::Clock::now(time);
        let admitted = DOWN.admit(now).ok_or(TestError::LOST)?;
        let reply = inside();
        let failure = reply.as_ref().err().map(|_| FaultKind::Transient);
        DOWN.ended(admitted, failure, now);
        reply
    }
    type Form = fn(&Time, &dyn Fn() -> Reply) -> Reply;
    let async_fn: Form = |time, inside| time.run(annotated(time, inside));
    let forms = [
        async_fn,
        form,
        blocking,
        update,
        #[cfg(all(feature = "rate", feature = "http-1"))]
        rated,
        by_hand,
    ];
    // A loop of one's own is known only inside of another call.
    for (i, outer) in forms.iter().take(forms.len() - 1).enumerate() {
        for (j, inner) in forms.iter().enumerate() {
            let time = Time::default();
            let (asked, reply) = (Cell::new(0), Cell::new(Err(BUSY)));
            let ask = || {
                asked.set(asked.get() + 1);
                reply.get()
            };
            let call = || outer(&time, &|| inner(&time, &ask));
            // The failure opens the breaker, which refuses everything until the first probe.
            while !DOWN.is_open() {
                let _ = call();
            }
            asked.set(0);
            assert!(call().is_err());
            assert_eq!(asked.take(), 0, "{i} {j}");
            time.pass(SECOND);
            assert!(call().is_err());
            assert_eq!(
                asked.take(),
                1,
                "{i} {j}: one attempt, which is not repeated"
            );
            reply.set(Ok(7));
            time.pass(SECOND);
            assert_eq!(call(), Ok(7), "{i} {j}");
            assert!(asked.take() == 1 && !DOWN.is_open(), "{i} {j}");
        }
    }
}

#[test]
fn a_retry_that_waits_when_it_opens_asks_after_its_wait() {
    let time = Time::default();
    let opens = |down: &Breaker| {
        let once = PLAIN.max_attempts(1);
        let call = once.blocking(|| Err::<(), _>(BUSY));
        call.breaker(down).runtime(time.clone()).call().unwrap_err()
    };
    let down = Breaker::new().opens_at(2, 20).probe_every(4 * SECOND);
    let get = || {
        PLAIN
            .retry(|| ready(Err::<(), _>(BUSY)))
            .runtime(time.clone())
    };
    let call = get().breaker(&down).reported().into_future();
    let mut call = pin!(call);
    assert!(!poll_once(call.as_mut()));
    opens(&down);
    let gave_up = time.run(call).unwrap_err();
    assert_eq!(
        (gave_up.reason, gave_up.report.attempts),
        (StopReason::Breaker, 1)
    );
    assert_eq!(gave_up.error, BUSY);
    // Without a report, too.
    let down = Breaker::new().opens_at(2, 20).probe_every(4 * SECOND);
    let mut call = pin!(get().breaker(&down).into_future());
    assert!(!poll_once(call.as_mut()));
    opens(&down);
    assert_eq!(time.run(call).unwrap_err(), BUSY);

    // A blocking call has its error as well.
    let down = Breaker::new().opens_at(2, 20).probe_every(4 * SECOND);
    let pauses = (time.clone(), Cell::new(0));
    let call = PLAIN.blocking(|| Err::<(), _>(BUSY)).breaker(&down);
    let call = call.notify(|_| {
        if pauses.1.replace(1) == 0 {
            opens(&down);
        }
    });
    let gave_up = call
        .runtime(pauses.0.clone())
        .reported()
        .call()
        .unwrap_err();
    assert_eq!(
        (gave_up.reason, gave_up.report.attempts),
        (StopReason::Breaker, 1)
    );
    assert_eq!(gave_up.error, BUSY);
}

/// The error of a call that is refused names the status of the failure that opened the breaker last.
#[test]
fn a_refusal_says_what_opened_it() {
    let time = Time::default();
    for (error, expected) in [
        (BUSY, "is open after a failure with the status 503"),
        (
            TestError::grpc(GrpcCode::Unavailable),
            "is open after a failure with the status 503",
        ),
        (TestError::LOST, "is open"),
    ] {
        let down = often();
        let opens = PLAIN.blocking(|| Err::<(), _>(error)).breaker(&down);
        opens.runtime(time.clone()).call().unwrap_err();
        let refused = PLAIN.blocking(|| Ok::<_, TimedOut>(())).breaker(&down);
        let refused = refused.runtime(time.clone()).call().unwrap_err();
        assert!(refused.to_string().ends_with(expected), "{refused}");
    }
}

/// A status below 500 shows that the service works, and so does a code of a service; an error without facts shows nothing.
#[test]
fn an_answer_closes_it() {
    let time = Time::default();
    let closes = |error: TestError| {
        let down = often();
        let attempt = |error| {
            let once = PLAIN.max_attempts(1);
            let call = once.retry(move || ready(Err::<(), _>(error)));
            let _ = time.run(call.breaker(&down).runtime(time.clone()).into_future());
        };
        attempt(BUSY);
        assert!(down.is_open());
        time.pass(SECOND);
        attempt(error);
        !down.is_open()
    };
    for status in [400, 401, 404, 409, 412] {
        assert!(closes(TestError::status(status)), "{status}");
    }
    for status in [429, 500, 501, 503] {
        assert!(!closes(TestError::status(status)), "{status}");
    }
}

/// A retry that gets what the attempts before it left of the call's time says nothing about the service.
#[test]
fn a_retry_that_the_end_of_the_call_cuts_does_not_count() {
    let time = Time::default();
    let opens = |refused: u32, limit: Duration| {
        let (down, made) = (often(), Cell::new(0));
        let call = PLAIN.retry(|| {
            let is_refused = made.replace(made.get() + 1) < refused;
            async move {
                match is_refused {
                    true => Err(TestError::status(429)),
                    false => pending::<Result<(), TestError>>().await,
                }
            }
        });
        let call = call.attempt_timeout(limit).timeout(3 * SECOND);
        let call = call.breaker(&down).runtime(time.clone());
        time.run(call.into_future()).unwrap_err();
        down.is_open()
    };
    assert!(!opens(1, 9 * SECOND));
    assert!(opens(1, SECOND));
    assert!(opens(0, 9 * SECOND));
}

#[test]
fn a_loop_of_ones_own_is_ended_and_the_call_names_another_one() {
    static DOWN: Breaker = often();
    let (policy, now) = (PLAIN.breaker(&DOWN), || Duration::ZERO);
    let decide = || RetryState::start(&policy, now).failed(&policy, true, now, || 0);
    assert!(matches!(decide(), Decision::Wait(_)));
    let attempt = DOWN.admit(now).unwrap();
    DOWN.ended(attempt, Some(FaultKind::Transient), now);
    assert_eq!(decide(), Decision::Stop(StopReason::Breaker));
    assert!(policy.to_string().contains("while its breaker is open"));
    assert_ne!(policy, PLAIN);
    let (other, time) = (often(), Time::default());
    let call = policy
        .retry(|| ready(Ok::<_, TestError>(1)))
        .breaker(&other);
    assert_eq!(time.run(call.runtime(time.clone()).into_future()), Ok(1));
}

/// Calls that wait in the queue of a rate when the breaker opens ask the breaker at their turn: only probes are made.
#[cfg(feature = "rate")]
#[test]
fn a_call_in_a_queue_asks_at_its_turn() {
    let (down, time) = (often(), Time::default());
    let rate = backoff_core::Rate::new().pause_after_refusal(10 * SECOND);
    let asked = Cell::new(0);
    let once = PLAIN.max_attempts(1);
    let call = |status| {
        let asked = &asked;
        let call = once.retry(move || {
            asked.set(asked.get() + 1);
            ready(Err::<(), _>(TestError::status(status)))
        });
        call.rate(&rate).breaker(&down).runtime(time.clone())
    };
    time.run(call(429).into_future()).unwrap_err();
    let queued = (0..30).map(|_| Box::pin(call(503).reported().into_future()));
    let mut queued: Vec<_> = queued.collect();
    assert!(queued.iter_mut().all(|call| !poll_once(call.as_mut())));
    asked.set(0);
    let mut reasons = vec![];
    for call in queued {
        reasons.push(time.run(call).unwrap_err().reason);
    }
    let refused = reasons
        .iter()
        .filter(|it| **it == StopReason::Breaker)
        .count();
    // The first one opens the breaker. After that, an attempt goes each second.
    let seconds = time.elapsed().as_secs() - 10;
    assert!(asked.get() <= 1 + seconds, "{} in {seconds} s", asked.get());
    assert_eq!(refused as u64, 30 - asked.get());
    assert_eq!(rate.waiting(), 0);
}
