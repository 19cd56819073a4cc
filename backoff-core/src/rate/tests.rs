//! Who goes, who is woken, and who holds a timer. The clock is moved by hand.

use super::{control::LATENESS, *};
use crate::{
    TimedOut,
    runtime::{Clock, Sleep},
};
use core::{
    cell::{Cell, RefCell},
    future::Future,
    pin::Pin,
    sync::atomic::Ordering::SeqCst,
    task::{Context, Poll, Waker},
};
use std::{rc::Rc, task::Wake};

const SECOND: u64 = 1_000_000_000;
const REFUSED: RateReply = RateReply::Refused { hint: 0 };

/// This number of nanoseconds.
const fn at(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

/// A clock that is moved by hand, and the waits of the timers that were made.
#[derive(Clone, Default)]
struct Hand {
    now: Rc<Cell<Duration>>,
    timers: Rc<RefCell<Vec<Duration>>>,
    /// Each timer is ready at once, although the clock does not move.
    stands_still: bool,
}

/// Ready when the clock shows its time.
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
        let (now, wait) = (
            self.now.clone(),
            if self.stands_still {
                Duration::ZERO
            } else {
                wait
            },
        );
        let ends = now.get() + wait;
        Timer { now, ends }
    }
}

#[derive(Default)]
struct Woken(AtomicU32);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A call in the queue.
struct Caller {
    queued: Queued<Timer>,
    woken: Arc<Woken>,
}

impl Caller {
    fn poll(&mut self, hand: &Hand) -> Poll<Result<Option<u16>, TimedOut>> {
        let waker = Waker::from(self.woken.clone());
        self.queued.poll(hand, &mut Context::from_waker(&waker))
    }

    fn gets_turn(&mut self, hand: &Hand) -> bool {
        matches!(self.poll(hand), Poll::Ready(Ok(Some(_))))
    }

    /// How often it was woken since the last question.
    fn woken(&self) -> u32 {
        self.woken.0.swap(0, SeqCst)
    }
}

/// A rate that one refusal has closed at 20 calls a second: one call in 58.8 ms.
fn closed() -> Rate {
    let rate = Rate::new();
    assert!(rate.is_off());
    let epoch = rate.begins();
    let change = rate.replied(REFUSED, epoch, || Duration::ZERO);
    assert_eq!(change, Some(RateChange::Closed));
    assert!(!rate.is_off());
    rate
}

const GAP: u64 = 58_823_529;

fn enter(rate: &Rate, hand: &Hand) -> Result<u16, Queued<Timer>> {
    Queued::enter(rate, hand.now(), (Duration::MAX, true), 0)
}

/// Calls that join the queue, and ask once.
fn queue(rate: &Rate, hand: &Hand, limit: Duration, calls: u32) -> Vec<Caller> {
    let joins = |_| {
        let queued = Queued::enter(rate, hand.now(), (limit, true), 0).err();
        let woken = Arc::default();
        let mut caller = Caller {
            queued: queued.expect("calls wait"),
            woken,
        };
        assert!(caller.poll(hand).is_pending());
        caller
    };
    (0..calls).map(joins).collect()
}

#[test]
fn calls_go_in_the_order_in_which_they_came() {
    let (rate, hand) = (closed(), Hand::default());
    let mut calls = queue(&rate, &hand, Duration::MAX, 5);
    // Each has a timer: the first until its turn, and the others until theirs as the rate is now, and 20 ms more.
    let timers = hand.timers.take();
    let expected = (0..5_u64).map(|n| match n {
        0 => at(GAP),
        n => at(GAP + n * SECOND / 20 + LATENESS),
    });
    assert!(timers.iter().copied().eq(expected), "{timers:?}");
    for n in 1..=5 {
        hand.now.set(at(GAP * n));
        // A later call that asks first does not overtake.
        for later in calls.iter_mut().skip(1) {
            assert!(!later.gets_turn(&hand));
        }
        assert!(calls.remove(0).gets_turn(&hand));
        // The next one is woken, because its turn comes before its timer.
        let woken = calls.iter().map(Caller::woken).enumerate();
        assert!(
            woken
                .into_iter()
                .all(|(n, woken)| woken == u32::from(n == 0))
        );
        if let Some(next) = calls.first_mut() {
            assert!(!next.gets_turn(&hand));
        }
        assert_eq!(rate.waiting(), calls.len());
    }
}

#[test]
fn a_call_that_comes_while_nobody_waits_goes_at_its_turn() {
    let (rate, hand) = (closed(), Hand::default());
    hand.now.set(at(GAP - 1));
    drop(queue(&rate, &hand, Duration::MAX, 1));
    hand.now.set(at(GAP));
    assert!(enter(&rate, &hand).is_ok());
    assert!(enter(&rate, &hand).is_err());
    assert_eq!(rate.waiting(), 0);
}

#[test]
fn a_call_that_is_dropped_leaves_the_queue() {
    let (rate, hand) = (closed(), Hand::default());
    let mut calls = queue(&rate, &hand, Duration::MAX, 4);
    drop(calls.remove(1));
    assert!(calls.iter().all(|call| call.woken() == 0));
    // The first one leaves: the call behind it is woken, and keeps the turn.
    drop(calls.remove(0));
    let woken = [0, 1].map(|n| calls[n].woken());
    assert_eq!((woken, rate.waiting()), ([1, 0], 2));
    hand.now.set(at(GAP));
    // A newcomer does not overtake.
    assert!(enter(&rate, &hand).is_err());
    assert!(calls[0].gets_turn(&hand));
    drop(calls);
    assert_eq!(rate.waiting(), 0);
}

/// The first three calls are kept and not polled.
#[test]
fn a_slot_that_nobody_takes_goes_to_the_next_call_that_asks() {
    let (rate, hand) = (closed(), Hand::default());
    let mut calls = queue(&rate, &hand, Duration::MAX, 5);
    hand.now.set(at(GAP + LATENESS - 1));
    assert!(!calls[4].gets_turn(&hand) && !calls[3].gets_turn(&hand));
    let mut now = GAP + LATENESS;
    // Whoever asks goes, and one call that did not ask is passed over.
    for call in [4, 3] {
        hand.now.set(at(now));
        assert!(calls[call].gets_turn(&hand), "{call}");
        now += GAP;
    }
    // Those that were passed over ask again, and have their old places.
    assert!(!calls[2].gets_turn(&hand) && !calls[0].gets_turn(&hand) && !calls[1].gets_turn(&hand));
    assert_eq!(rate.waiting(), 3);
    for call in [0, 1, 2] {
        hand.now.set(at(now - LATENESS));
        for later in &mut calls[call + 1..3] {
            assert!(!later.gets_turn(&hand), "before {call}");
        }
        assert!(calls[call].gets_turn(&hand), "{call}");
        now += GAP;
    }
}

#[test]
fn each_sixteenth_admitted_call_reads_the_clock_while_the_rate_is_off_and_all_are_counted() {
    let (rate, reads) = (Rate::new(), Cell::new(0));
    for n in 0..65 {
        let clock = || {
            reads.set(reads.get() + 1);
            at(n * SECOND / 100)
        };
        rate.replied(RateReply::Admitted, 0, clock);
    }
    assert_eq!(reads.get(), 5);
    rate.replied(REFUSED, 0, || at(SECOND));
    let rate = rate.shared().lock().control.counted(0.0, 0.0);
    assert!((rate - 65.0).abs() < 1e-6, "{rate}");
}

#[test]
fn a_probe_that_is_admitted_wakes_the_first_call() {
    let (rate, hand) = (Rate::new(), Hand::default());
    // A hundred calls in a second, and then refused again and again: the gap grows to seconds.
    for n in 0..100 {
        rate.replied(RateReply::Admitted, 0, || at(n * SECOND / 100));
    }
    hand.now.set(at(SECOND));
    rate.replied(REFUSED, 0, || hand.now());
    let mut probe = None;
    let wait = || rate.turn_after(Duration::ZERO, 0, hand.now());
    while wait() < Duration::from_secs(4) {
        hand.now.set(hand.now() + wait());
        if let Some(epoch) = probe.replace(enter(&rate, &hand).ok().expect("the turn of a probe")) {
            rate.replied(REFUSED, epoch, || hand.now());
        }
    }
    let calls = queue(&rate, &hand, Duration::MAX, 2);
    let turn = || rate.shared().lock().control.turn(Share::of(0));
    let far = turn();
    let epoch = rate.shared().lock().control.epoch;
    let change = rate.replied(RateReply::Admitted, epoch, || hand.now());
    assert!(matches!(change, Some(RateChange::Opened { .. })));
    assert_eq!([0, 1].map(|n| calls[n].woken()), [1, 0]);
    assert!(turn() < far);
}

#[test]
fn when_the_rate_ends_all_calls_go_in_their_order() {
    let (rate, hand) = (closed(), Hand::default());
    hand.now.set(at(GAP));
    let early = enter(&rate, &hand).ok().expect("the turn of the probe");
    let mut calls = queue(&rate, &hand, Duration::MAX, 3);
    // Nobody asks for two minutes, and then a reply comes.
    hand.now.set(at(120 * SECOND));
    let change = rate.replied(RateReply::Admitted, early, || hand.now());
    assert_eq!((change, rate.per_second()), (Some(RateChange::Off), None));
    for call in &mut calls {
        assert_eq!(call.woken(), 1);
        assert!(call.gets_turn(&hand));
    }
    assert_eq!(rate.waiting(), 0);
}

#[test]
fn a_clock_that_stands_still_does_not_stop_the_queue() {
    let (rate, mut hand) = (closed(), Hand::default());
    hand.stands_still = true;
    for _ in 0..100 {
        if let Err(queued) = enter(&rate, &hand) {
            let woken = Arc::default();
            assert!(Caller { queued, woken }.gets_turn(&hand));
        }
    }
    assert_eq!(rate.waiting(), 0);
}

/// A program that hears replies, and makes no call with the rate.
#[cfg(feature = "http-1")]
#[test]
fn replies_without_a_call_between_do_not_fill_the_memory() {
    let (rate, mut headers) = (Rate::new(), http_1::HeaderMap::new());
    for (name, value) in [("limit", 9), ("remaining", 5), ("reset", 30)] {
        let name = format!("x-ratelimit-{name}");
        headers.insert(name.parse::<http_1::HeaderName>().unwrap(), value.into());
    }
    for _ in 0..1_000 {
        rate.observe(&headers);
    }
    assert_eq!(rate.shared().lock().heard.len(), 32);
    for _ in 0..1_000 {
        rate.used(800);
    }
    let state = rate.shared().lock();
    let used = |it: &(Heard, _, _)| match it.0 {
        Heard::Used(tokens) => tokens,
        _ => 0,
    };
    assert_eq!(state.heard.len(), 32);
    assert_eq!(state.heard.iter().map(used).sum::<u32>(), 800_000);
}
