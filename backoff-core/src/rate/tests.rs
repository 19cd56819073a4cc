//! Who goes, who is woken, and who holds a timer. The clock is moved by hand.

use super::*;
use crate::{
    TimedOut,
    runtime::{Clock, Sleep},
};
use core::{
    future::Future,
    pin::Pin,
    sync::atomic::AtomicU32,
    task::{Context, Poll},
};
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    task::Wake,
};

const SECOND: u64 = 1_000_000_000;
const REFUSED: Reply = Reply::Refused { hint: 0 };

/// This number of nanoseconds.
const fn at(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

/// A clock that is moved by hand, and the waits of the timers that were made.
#[derive(Clone, Default)]
struct Hand {
    now: Rc<Cell<Duration>>,
    timers: Rc<RefCell<Vec<Duration>>>,
}

/// Ready when the clock shows its time, or at once for a clock that stands still.
struct Timer {
    now: Rc<Cell<Duration>>,
    ends: Duration,
}

impl Future for Timer {
    type Output = ();
    fn poll(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<()> {
        match self.now.get() >= self.ends {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

impl Clock for Hand {
    fn now(&self) -> Duration {
        self.now.get()
    }
}

impl Sleep for Hand {
    type Sleep = Timer;
    fn sleep(&self, wait: Duration) -> Timer {
        self.timers.borrow_mut().push(wait);
        let ends = self.now.get() + wait;
        Timer {
            now: self.now.clone(),
            ends,
        }
    }
}

#[derive(Default)]
struct Woken(AtomicU32);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// A call in the queue.
struct Caller {
    queued: Queued<Timer>,
    woken: Arc<Woken>,
}

impl Caller {
    fn poll(&mut self, rate: &Rate, hand: &Hand) -> Poll<Result<u8, TimedOut>> {
        let waker = Waker::from(self.woken.clone());
        self.queued
            .poll(rate, hand, &mut Context::from_waker(&waker))
    }

    fn goes(&mut self, rate: &Rate, hand: &Hand) -> bool {
        matches!(self.poll(rate, hand), Poll::Ready(Ok(_)))
    }

    /// How often it was woken since the last question.
    fn woken(&self) -> u32 {
        self.woken.0.swap(0, Relaxed)
    }
}

/// A rate that one refusal has closed at 20 calls a second: one call in 58.8 ms.
fn closed() -> Rate {
    let rate = Rate::new();
    let epoch = rate.begins_if_off().expect("the rate is off");
    assert_eq!(
        rate.replied(REFUSED, epoch, || Duration::ZERO),
        Some(RateChange::Closed)
    );
    assert_eq!(rate.begins_if_off(), None);
    rate
}

const GAP: u64 = 58_823_529;

/// Calls that join the queue, and ask once.
fn queue(rate: &Rate, hand: &Hand, limit: Duration, calls: u32) -> Vec<Caller> {
    let joins = |_| {
        let queued = Queued::enter(rate, hand.now(), limit).err();
        let woken = Arc::default();
        let mut caller = Caller {
            queued: queued.expect("calls wait"),
            woken,
        };
        assert!(caller.poll(rate, hand).is_pending());
        caller
    };
    (0..calls).map(joins).collect()
}

fn in_flight(rate: &Rate) -> u32 {
    rate.in_flight.load(Relaxed)
}

#[test]
fn a_refusal_counts_the_calls_that_took_no_lock() {
    let rate = Rate::new();
    for n in 0..=20 {
        let epoch = rate.begins_if_off().expect("the rate is off");
        let now = Cell::new(false);
        rate.replied(Reply::Admitted, epoch, || {
            now.set(true);
            at(n * SECOND / 20)
        });
        // The first reply begins the count. Of the others each eighth reads the clock.
        assert_eq!(now.get(), n % 8 == 0, "{n}");
    }
    let epoch = rate.begins_if_off().expect("the rate is off");
    rate.replied(REFUSED, epoch, || at(SECOND));
    let rate = rate.per_second().expect("the rate is on");
    assert!((rate / (0.85 * 22.0) - 1.0).abs() < 1e-9, "{rate}");
}

#[test]
fn calls_go_in_the_order_in_which_they_came_and_only_the_first_holds_a_timer() {
    let (rate, hand) = (closed(), Hand::default());
    let mut calls = queue(&rate, &hand, Duration::MAX, 5);
    assert_eq!((rate.waiting(), hand.timers.borrow().len()), (5, 1));
    for n in 0..5_u32 {
        hand.now.set(at(GAP * u64::from(n + 1)));
        // A later call that asks first does not overtake.
        for later in calls.iter_mut().skip(1) {
            assert!(!later.goes(&rate, &hand));
        }
        let mut first = calls.remove(0);
        assert!(first.goes(&rate, &hand));
        let woken: Vec<_> = calls.iter().map(Caller::woken).collect();
        assert!(
            woken
                .iter()
                .enumerate()
                .all(|(n, w)| *w == u32::from(n == 0))
        );
        if let Some(next) = calls.first_mut() {
            assert!(!next.goes(&rate, &hand));
        }
        assert_eq!((rate.waiting(), in_flight(&rate)), (calls.len(), n + 1));
        // One timer for each first call, and none for the others.
        assert_eq!(hand.timers.borrow().len() as u32, (n + 2).min(5));
    }
}

#[test]
fn a_call_that_comes_while_nobody_waits_goes_at_its_turn() {
    let (rate, hand) = (closed(), Hand::default());
    hand.now.set(at(GAP - 1));
    drop(queue(&rate, &hand, Duration::MAX, 1));
    hand.now.set(at(GAP));
    assert!(Queued::<Timer>::enter(&rate, hand.now(), Duration::MAX).is_ok());
    assert!(Queued::<Timer>::enter(&rate, hand.now(), Duration::MAX).is_err());
    assert_eq!((rate.waiting(), in_flight(&rate)), (0, 1));
}

#[test]
fn a_call_that_is_dropped_leaves_the_queue() {
    let (rate, hand) = (closed(), Hand::default());
    let mut calls = queue(&rate, &hand, Duration::MAX, 4);
    drop(calls.remove(1));
    assert!(calls.iter().all(|call| call.woken() == 0));
    // The first one leaves: the call behind it is woken, and keeps the turn.
    drop(calls.remove(0));
    assert_eq!(
        (calls[0].woken(), calls[1].woken(), rate.waiting()),
        (1, 0, 2)
    );
    hand.now.set(at(GAP));
    // A newcomer does not overtake.
    assert!(Queued::<Timer>::enter(&rate, hand.now(), Duration::MAX).is_err());
    assert!(calls[0].goes(&rate, &hand));
    drop(calls);
    assert_eq!((rate.waiting(), in_flight(&rate)), (0, 1));
}

#[test]
fn a_probe_that_is_admitted_wakes_the_first_call() {
    let hand = Hand::default();
    let (rate, epoch) = full(&hand);
    // Refused again and again: the gap grows to seconds.
    let mut probe = Some(epoch);
    while rate.turn_after(Duration::ZERO, hand.now()) < Duration::from_secs(4) {
        let epoch = probe.take().expect("a probe");
        rate.replied(REFUSED, epoch, || hand.now());
        hand.now
            .set(hand.now() + rate.turn_after(Duration::ZERO, hand.now()));
        probe = rate.enters(hand.now()).ok();
    }
    let mut calls = queue(&rate, &hand, Duration::MAX, 2);
    let turn = || rate.shared().lock().rules.turn(0);
    let far = turn();
    let epoch = probe.expect("a probe in flight");
    let change = rate.replied(Reply::Admitted, epoch, || hand.now());
    assert!(matches!(change, Some(RateChange::Opened { .. })));
    assert_eq!((calls[0].woken(), calls[1].woken()), (1, 0));
    assert!(!calls[0].goes(&rate, &hand));
    assert!(turn() < far);
}

/// A rate in its slow start, with as many calls in flight as may be. Returns their number.
fn full(hand: &Hand) -> (Rate, u8) {
    let rate = closed();
    hand.now.set(at(GAP));
    let probe = rate.enters(hand.now()).ok().expect("the turn of the probe");
    rate.replied(Reply::Admitted, probe, || hand.now());
    let mut epoch = 0;
    for n in 1..=2 {
        hand.now.set(at(GAP) + Duration::from_millis(200 * n));
        epoch = rate.enters(hand.now()).ok().expect("the window has room");
    }
    hand.now.set(at(SECOND));
    (rate, epoch)
}

#[test]
fn a_call_that_waits_for_a_reply_is_woken_by_a_reply_and_by_a_drop() {
    for is_dropped in [false, true] {
        let hand = Hand::default();
        let (rate, epoch) = full(&hand);
        let mut calls = queue(&rate, &hand, Duration::MAX, 2);
        // The reply may never come: then the first call asks again at the end of the rate.
        let ends = hand.timers.take();
        assert!(
            matches!(ends[..], [end] if end > at(50 * SECOND)),
            "{ends:?}"
        );
        match is_dropped {
            true => rate.dropped(),
            false => drop(rate.replied(Reply::Admitted, epoch, || hand.now())),
        }
        assert_eq!((calls[0].woken(), calls[1].woken()), (1, 0));
        assert!(calls[0].goes(&rate, &hand));
    }
}

#[test]
fn when_the_rate_is_switched_off_all_calls_go_one_after_the_other() {
    let (rate, hand) = (closed(), Hand::default());
    let early = rate.enters(at(GAP)).ok().expect("the turn of the probe");
    hand.now.set(at(GAP));
    let mut calls = queue(&rate, &hand, Duration::MAX, 3);
    // Nobody asks for two minutes, and then a reply comes.
    hand.now.set(at(120 * SECOND));
    let change = rate.replied(Reply::Admitted, early, || hand.now());
    assert_eq!((change, rate.per_second()), (Some(RateChange::Off), None));
    for call in &mut calls {
        assert_eq!(call.woken(), 1);
        assert!(call.goes(&rate, &hand));
    }
    assert_eq!((rate.waiting(), in_flight(&rate)), (0, 3));
}

#[test]
fn a_refusal_after_the_end_finds_calls_that_still_wait() {
    let (rate, hand) = (closed(), Hand::default());
    let early = rate.enters(at(GAP)).ok().expect("the turn of the probe");
    hand.now.set(at(GAP));
    let _calls = queue(&rate, &hand, Duration::MAX, 2);
    hand.now.set(at(120 * SECOND));
    rate.replied(Reply::Admitted, early, || hand.now());
    let epoch = rate.begins_if_off().expect("the rate is off");
    rate.replied(REFUSED, epoch, || hand.now());
    let probe = rate.shared().lock().rules.epoch();
    rate.in_flight.fetch_add(1, Relaxed);
    hand.now.set(at(121 * SECOND));
    rate.replied(Reply::Admitted, probe, || hand.now());
    let slow = rate.per_second().expect("the rate is on");
    hand.now.set(at(130 * SECOND));
    rate.turn_after(Duration::ZERO, hand.now());
    assert!(rate.per_second().expect("the rate is on") > 2.0 * slow);
}

#[test]
fn the_longest_wait_ends_the_waiting() {
    let (rate, hand) = (closed(), Hand::default());
    let limit = Duration::from_millis(30);
    let mut calls = queue(&rate, &hand, limit, 2);
    // A timer for each, because each has an end of its own.
    assert_eq!(*hand.timers.borrow(), [limit; 2]);
    hand.now.set(limit);
    for call in &mut calls {
        assert_eq!(
            call.poll(&rate, &hand),
            Poll::Ready(Err(TimedOut::in_queue(limit)))
        );
    }
    drop(calls);
    assert_eq!((rate.waiting(), in_flight(&rate)), (0, 0));
}

#[test]
fn a_clock_that_stands_still_does_not_stop_the_queue() {
    struct Still;
    impl Clock for Still {
        fn now(&self) -> Duration {
            Duration::ZERO
        }
    }
    impl Sleep for Still {
        type Sleep = core::future::Ready<()>;
        fn sleep(&self, _wait: Duration) -> Self::Sleep {
            core::future::ready(())
        }
    }
    let rate = closed();
    for _ in 0..100 {
        let queued = Queued::enter(&rate, Duration::ZERO, Duration::MAX);
        if let Err(mut queued) = queued {
            let mut cx = Context::from_waker(Waker::noop());
            assert!(matches!(
                queued.poll(&rate, &Still, &mut cx),
                Poll::Ready(Ok(_))
            ));
        }
    }
    assert_eq!((rate.waiting(), in_flight(&rate)), (0, 100));
}

#[cfg(feature = "tokio")]
#[tokio::test(start_paused = true)]
async fn an_attempt_that_panics_is_no_longer_in_flight() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    static RATE: Rate = Rate::new();
    const POLICY: crate::Policy = crate::Policy::exponential().rate(&RATE);
    fn panics() -> Result<(), TimedOut> {
        panic!("the operation")
    }
    let poll = |call: Pin<&mut dyn Future<Output = Result<(), TimedOut>>>| {
        let _ = call.poll(&mut Context::from_waker(Waker::noop()));
    };
    let calls: [&dyn Fn(); 4] = [
        &|| _ = POLICY.blocking(panics).call(),
        &|| {
            poll(core::pin::pin!(
                POLICY.retry(async || panics()).into_future()
            ))
        },
        &|| poll(core::pin::pin!(POLICY.retry_mut(async || panics()))),
        // Dropped in flight.
        &|| {
            let endless = core::future::pending::<Result<(), TimedOut>>;
            poll(core::pin::pin!(POLICY.retry(endless).into_future()));
            poll(core::pin::pin!(POLICY.retry_mut(async || endless().await)));
        },
    ];
    for (n, call) in calls.into_iter().enumerate() {
        let ended = catch_unwind(AssertUnwindSafe(call));
        assert_eq!((ended.is_err(), in_flight(&RATE)), (n < 3, 0), "{n}");
    }
}
