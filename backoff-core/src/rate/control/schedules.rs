//! The exact times at which calls go.

use super::*;
use proptest::prelude::*;

pub(super) const MS: u64 = 1_000_000;
pub(super) const SECOND: u64 = 1_000 * MS;
pub(super) const REFUSED: RateReply = RateReply::Refused { hint: 0 };

/// This number of nanoseconds.
pub(super) const fn at(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

struct Calls {
    control: RateControl,
}

impl Calls {
    fn new() -> Self {
        Calls {
            control: RateControl::new(SETTLE, 0),
        }
    }

    /// A call begins at this time, whether its turn has come or not. Returns its number.
    fn begin(&mut self, now: u64) -> u16 {
        self.control.at(at(now));
        self.control.takes_slot(true, Share::of(0))
    }

    fn end(&mut self, now: u64, reply: RateReply, epoch: u16) -> Option<RateChange> {
        self.control.at(at(now));
        self.control.replied(reply, epoch)
    }

    /// A call whose reply comes at once.
    fn call(&mut self, now: u64, reply: RateReply) -> Option<RateChange> {
        let epoch = self.begin(now);
        self.end(now, reply, epoch)
    }

    /// When the next call may go.
    fn turn(&self) -> u64 {
        self.control.turn(Share::of(0))
    }

    fn per_second(&self) -> f64 {
        self.control.per_second().expect("the rate is on")
    }

    /// Ten calls in a second, and a refusal: 10 a second.
    fn closed() -> Self {
        let mut calls = Calls::new();
        for n in 0..10 {
            assert_eq!(calls.call(n * 100 * MS, RateReply::Admitted), None);
        }
        assert_eq!(calls.turn(), 0);
        assert_eq!(calls.control.per_second(), None);
        // 11 calls in 1 s since the first reply.
        assert_eq!(calls.call(SECOND, REFUSED), Some(RateChange::Closed));
        calls
    }

    /// The same, opened by a probe that goes at its turn.
    fn open() -> Self {
        let mut calls = Calls::closed();
        let now = calls.turn();
        let change = calls.call(now, RateReply::Admitted);
        assert!(matches!(change, Some(RateChange::Opened { .. })));
        calls
    }
}

fn near(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-6, "{value}, {expected}");
}

#[test]
fn the_first_refusal_closes_at_the_rate_that_was_counted() {
    let calls = Calls::closed();
    // 85 % of 11 a second: one call in 106.95 ms.
    near(calls.per_second(), 9.35);
    assert_eq!(calls.turn(), SECOND + 106_951_871);
    let behind = calls.control.turn_behind(0, Duration::ZERO, Share::of(0));
    assert_eq!(behind, at(106_951_871));
}

#[test]
fn a_burst_counts_by_its_last_second_and_the_first_count_by_at_least_50_ms() {
    let counted = |admitted: Vec<u64>, refused| {
        let mut calls = Calls::new();
        for now in admitted {
            calls.call(now, RateReply::Admitted);
        }
        calls.call(refused, REFUSED);
        calls.per_second()
    };
    // The last count began at 29.029 s.
    let trickle = (0..30).map(|n| n * 1_001 * MS);
    let burst = (0..50).map(|n| 29_029 * MS + n * 10 * MS);
    let both = trickle.chain(burst).collect();
    near(counted(both, 29_529 * MS), BETA * 52.0 / 0.5);
    let first = vec![61 * SECOND];
    near(counted(first, 61 * SECOND + 10 * MS), BETA * 2.0 / LEAST);
}

#[test]
fn probes_follow_each_other_after_a_quarter_of_the_time() {
    let mut calls = Calls::closed();
    let mut gaps = Vec::new();
    for _ in 0..40 {
        let now = calls.turn();
        calls.call(now, REFUSED);
        gaps.push(calls.turn() - now);
    }
    // The gap stays as it is until a quarter of the time since the first refusal is longer.
    assert_eq!(gaps[..3], [106_951_871; 3]);
    assert_eq!(gaps[3], 106_951_871);
    near(gaps[4] as f64, 106_951_871.0 * 5.0 / 4.0);
    near(gaps[5] as f64, 106_951_871.0 * 6.25 / 4.0);
    assert_eq!(gaps[39], 64 * SECOND);
}

#[test]
fn the_earliest_time_that_a_refusal_named_counts_from_the_fifth_refusal() {
    let mut calls = Calls::new();
    let named = 100 * SECOND;
    let mut turns = Vec::new();
    for n in 0..12 {
        let now = calls.turn();
        // The second refusal names a later time.
        let hint = [named, 200 * SECOND].get(n).map_or(0, |it| it - now);
        calls.call(now, RateReply::Refused { hint });
        turns.push(calls.turn());
    }
    let gap = 1.0 / (BETA / LEAST);
    near(turns[3] as f64 / 1e9, gap * 4.0);
    assert_eq!(turns[4] - turns[3], (named - turns[3]) / 4);
    assert_eq!(turns[5] - turns[4], (named - turns[4]) / 4);
    // Not beyond the time. After it, the gaps count again.
    assert!(turns.contains(&named), "{turns:?}");
}

/// A service refuses all calls for this time and says how long its block lasts, as many services do.
#[test]
fn a_rate_does_not_end_before_those_return_who_wait_for_their_hints() {
    for seconds in [50, 60, 90, 300] {
        let mut calls = Calls::new();
        let early = calls.begin(0);
        let hint = seconds * SECOND;
        calls.end(MS, RateReply::Refused { hint }, early);
        // Those who were refused with it come back together.
        calls.control.at(at(hint + 2 * MS));
        assert!(calls.control.is_on(), "{seconds}");
        let probe = calls.begin(hint + 2 * MS);
        let change = calls.end(hint + 30 * MS, RateReply::Admitted, probe);
        assert!(
            matches!(change, Some(RateChange::Opened { .. })),
            "{seconds}"
        );
    }
}

#[test]
fn a_pause_after_a_refusal_lasts_as_long_as_the_hint_or_as_its_own_time() {
    let mut calls = Calls::new();
    calls.control = RateControl::new(SETTLE, 60 * SECOND);
    for (hint, pause) in [(0, 60), (20 * SECOND, 20), (0, 60), (90 * SECOND, 90)] {
        let now = calls.turn();
        calls.call(now, RateReply::Refused { hint });
        assert_eq!(calls.turn() - now, pause * SECOND);
    }
}

#[test]
fn a_late_refusal_of_an_older_rate_changes_nothing() {
    let mut calls = Calls::new();
    let (one, other) = (calls.begin(0), calls.begin(0));
    calls.end(MS, REFUSED, one);
    let turn = calls.turn();
    assert_eq!(calls.end(2 * MS, REFUSED, other), None);
    assert_eq!(calls.turn(), turn);
}

#[test]
fn a_probe_opens_at_the_rate_that_was_counted() {
    let mut calls = Calls::closed();
    let late = calls.begin(SECOND);
    let now = calls.turn();
    let probe = calls.begin(now);
    let opened = calls.end(now, RateReply::Admitted, probe);
    // 11 admitted calls since the first one.
    let Some(RateChange::Opened { per_second }) = opened else {
        panic!("{opened:?}");
    };
    near(per_second, 11.0 / (now as f64 / 1e9));
    // The late reply is about an older rate.
    assert_eq!(calls.end(now, REFUSED, late), None);
}

#[test]
fn the_rate_is_flat_after_the_time_to_settle_and_then_grows() {
    let mut calls = Calls::open();
    let (cut, admitted) = (calls.control.cut, calls.control.admitted);
    for (settles, share) in [(0.0, 0.85), (1.0, 1.0), (2.0, 1.15), (5.0, 10.6)] {
        calls.control.at(at(cut + (settles * SETTLE * 1e9) as u64));
        near(calls.per_second(), admitted * share);
    }
}

#[test]
fn time_in_which_nobody_wanted_a_slot_does_not_count() {
    let mut calls = Calls::open();
    let (now, cut, since) = (calls.turn(), calls.control.cut, calls.control.since);
    // A slot that is taken 20 ms late was wanted.
    calls.begin(now + 20 * MS);
    assert_eq!((calls.control.cut, calls.control.since), (cut, since));
    let now = calls.turn();
    calls.begin(now + 9 * SECOND);
    assert_eq!(calls.control.cut, cut + 9 * SECOND);
    assert_eq!(calls.control.since, since + 9 * SECOND);
    // Nothing moves beyond the present.
    let now = calls.turn();
    calls.begin(now + 40 * SECOND);
    assert!(calls.control.cut <= calls.control.now && calls.control.since <= calls.control.now);
}

#[test]
fn a_second_refusal_and_its_probe_find_the_rate_between() {
    let mut calls = Calls::open();
    let opened = calls.control.cut;
    // 30 calls in 3 s, and a refusal at the rate of that time.
    for n in 1..=30 {
        calls.call(opened + n * 100 * MS, RateReply::Admitted);
    }
    let refused = opened + 3 * SECOND;
    calls.control.at(at(refused));
    let rate = calls.per_second();
    assert_eq!(calls.call(refused, REFUSED), Some(RateChange::Closed));
    near(calls.control.flat_after, SETTLE * SLOWER);
    near(calls.per_second(), BETA * rate);
    let now = calls.turn();
    let opened = calls.call(now, RateReply::Admitted);
    let counted = 31.0 / ((now - (refused - 3 * SECOND)) as f64 / 1e9);
    let per_second = (counted + rate) / 2.0;
    assert!(rate / 2.0 < counted && counted < rate);
    let Some(RateChange::Opened { per_second: found }) = opened else {
        panic!("{opened:?}");
    };
    near(found, per_second);
    // Each reply that is no refusal lets the rate settle faster again.
    near(calls.control.flat_after, SETTLE * SLOWER.powf(1.0 - UNDONE));
}

#[test]
fn a_rate_settles_within_five_minutes() {
    let mut calls = Calls::open();
    for _ in 0..60 {
        let now = calls.turn();
        calls.call(now, REFUSED);
        let now = calls.turn();
        calls.call(now, RateReply::Admitted);
    }
    near(calls.control.flat_after, SLOWEST / SLOWER.powf(UNDONE));
}

/// A burst, and a block of some minutes: the rate of the burst counts over a second.
#[test]
fn after_a_block_it_opens_at_half_of_what_was_admitted_before_and_settles_as_slowly() {
    for (seconds, flat) in [(120, 120.0), (1_000, SLOWEST)] {
        let mut calls = Calls::new();
        for _ in 0..5 {
            calls.call(0, RateReply::Admitted);
        }
        let end = seconds * SECOND;
        calls.call(0, RateReply::Refused { hint: end });
        while calls.turn() < end {
            let now = calls.turn();
            calls.call(now, RateReply::Refused { hint: end - now });
        }
        let now = calls.turn();
        let opened = calls.call(now, RateReply::Admitted);
        // Five calls and the probe.
        assert_eq!(opened, Some(RateChange::Opened { per_second: 3.0 }));
        assert!(calls.control.flat_after >= flat && calls.control.flat_after < 1.01 * flat);
        calls.control.at(at(now + 30 * 120 * SECOND - 1));
        assert!(calls.control.is_on());
    }
    // If nothing was admitted before it, nothing is known. Beside a quota, calls may have waited for that.
    for is_stated in [false, true] {
        let mut calls = Calls::new();
        if is_stated {
            calls.call(0, RateReply::Admitted);
            let quota = Quota {
                limit: Some(100.0),
                left: 100.0,
                resets_in: Duration::from_secs(3_000),
                ..Quota::default()
            };
            calls.control.learn(vec![quota], None, 0);
        }
        for n in 0..40 {
            let now = calls.turn().max(n);
            calls.call(now, REFUSED);
        }
        let now = calls.turn();
        assert!(now - calls.control.closed > BLOCK);
        calls.call(now, RateReply::Admitted);
        near(calls.control.flat_after, SETTLE);
    }
}

/// The quota holds the next call back anyway.
#[test]
fn a_refusal_beside_an_empty_quota_closes_no_rate() {
    let mut calls = Calls::new();
    let quota = Quota {
        limit: Some(60.0),
        resets_in: Duration::from_secs(100),
        ..Quota::default()
    };
    calls.control.learn(vec![quota], None, 0);
    let now = calls.turn();
    assert_eq!((now, calls.call(now, REFUSED)), (2 * SECOND, None));
}

#[test]
fn a_rate_without_refusals_is_switched_off_after_a_minute() {
    let mut calls = Calls::closed();
    let quiet = calls.turn() + 60 * SECOND;
    calls.control.at(at(quiet - 1));
    assert!(calls.control.is_on());
    calls.control.at(at(quiet));
    assert_eq!(calls.control.per_second(), None);
    // The next reply says so, once.
    assert_eq!(
        calls.call(quiet, RateReply::Admitted),
        Some(RateChange::Off)
    );
    assert_eq!(calls.call(quiet, RateReply::Admitted), None);
}

#[test]
fn the_gap_between_two_probes_is_not_quiet() {
    let mut calls = Calls::closed();
    for _ in 0..60 {
        let now = calls.turn();
        calls.control.at(at(now));
        assert!(calls.control.is_on());
        calls.call(now, REFUSED);
    }
    assert_eq!(calls.turn() - calls.control.now, 64 * SECOND);
}

#[test]
fn a_late_timer_does_not_move_the_next_turn() {
    let mut calls = Calls::open();
    let (now, turn) = (calls.control.now, calls.turn());
    assert!(turn > now);
    calls.begin(turn + 5 * MS);
    let step = calls.turn() - turn;
    near(step as f64 / 1e9, 1.0 / calls.per_second());
    // Not if the timer is later than 20 ms.
    let late = calls.turn() + 50 * MS;
    calls.begin(late);
    let step = calls.turn() - late + 20 * MS;
    near(step as f64 / 1e9, 1.0 / calls.per_second());
}

#[test]
fn a_clock_that_goes_back_stands_until_it_runs_again() {
    let mut calls = Calls::closed();
    let now = calls.control.now;
    // Ten seconds back: the time goes on evenly from there.
    for (reads, shows) in [
        (0, now),
        (50 * MS, now),
        (SECOND + MS, SECOND + MS),
        (20 * SECOND, 20 * SECOND),
        (SECOND, 20 * SECOND),
        (3 * SECOND, 22 * SECOND),
    ] {
        calls.control.at(at(reads));
        assert_eq!(calls.control.now, shows, "at {reads}");
    }
    // Readings of two threads that come out of order do not add up.
    let mut calls = Calls::new();
    for n in 1..1_000 {
        calls.control.at(at(n * MS + MS));
        calls.control.at(at(n * MS));
    }
    assert_eq!(calls.control.now, SECOND);
}

#[test]
fn the_end_of_the_clock_breaks_nothing() {
    let mut calls = Calls::closed();
    for now in [u64::MAX - SECOND, u64::MAX - 1, u64::MAX] {
        calls.call(now, RateReply::Refused { hint: u64::MAX });
        calls.call(now, REFUSED);
        calls.call(now, RateReply::Admitted);
        calls.control.at(Duration::MAX);
        calls.control.at(Duration::ZERO);
    }
}

#[test]
fn each_warning_is_given_once_a_closing_or_once() {
    let mut calls = Calls::closed();
    let mut warned = Vec::new();
    let replies: [&[RateReply]; 3] = [&[REFUSED; 30], &[RateReply::Admitted; 5], &[REFUSED; 40]];
    for reply in replies.concat() {
        let now = calls.turn();
        calls.call(now, reply);
        calls.control.waits(true);
        warned.extend(calls.control.warning.take());
    }
    assert_eq!(warned, [BLOCKED, BLOCKED]);

    // Each second call is refused: others use the quota.
    let mut calls = Calls::closed();
    for _ in 0..100 {
        for reply in [REFUSED, RateReply::Admitted, RateReply::Admitted] {
            let now = calls.turn();
            calls.call(now, reply);
            calls.control.waits(true);
            warned.extend(calls.control.warning.take());
        }
    }
    assert_eq!(warned[2..].iter().filter(|it| **it == CROWDED).count(), 1);

    // A call that would wait for longer than it may.
    let mut calls = Calls::closed();
    calls
        .control
        .joins(20, Duration::from_secs(3), Share::of(0));
    assert_eq!(calls.control.warning.take(), None);
    calls
        .control
        .joins(40, Duration::from_secs(3), Share::of(0));
    assert_eq!(calls.control.warning.take(), Some(BLOCKED));
    calls
        .control
        .joins(40, Duration::from_secs(3), Share::of(0));
    assert_eq!(calls.control.warning.take(), None);
}

/// One step of many calls.
#[derive(Clone, Copy, Debug)]
enum Step {
    Passes(u64),
    /// A call begins, if its turn has come.
    Begins,
    /// One of the running calls ends, with a reply or without.
    Ends(prop::sample::Index, Option<RateReply>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let passes = prop_oneof![8 => 1..200_u64, 2 => 200..5_000_u64, 1 => 5_000..90_000_u64];
    let reply = prop_oneof![
        6 => Just(Some(RateReply::Admitted)),
        3 => Just(Some(REFUSED)),
        1 => (1..=300_u64).prop_map(|it| Some(RateReply::Refused { hint: it * SECOND })),
        1 => Just(None),
    ];
    let step = prop_oneof![
        4 => passes.prop_map(|ms| Step::Passes(ms * MS + 1)),
        4 => Just(Step::Begins),
        4 => (any::<prop::sample::Index>(), reply).prop_map(|(at, reply)| Step::Ends(at, reply)),
    ];
    prop::collection::vec(step, 1..400)
}

proptest! {
    /// However calls begin and end, the next one waits for no longer than a hint closes the queue, or than the longest
    /// gap between two probes, and the rate never stops.
    #[test]
    fn the_next_call_goes_within_76_seconds(steps in steps()) {
        let mut control = RateControl::new(SETTLE, 0);
        let (mut now, mut running) = (0, Vec::new());
        for step in steps {
            match step {
                Step::Passes(nanos) => now += nanos,
                Step::Begins if control.turn(Share::of(0)) <= control.now => {
                    running.push(control.takes_slot(true, Share::of(0)));
                }
                Step::Ends(at, reply) if !running.is_empty() => {
                    let epoch = running.swap_remove(at.index(running.len()));
                    if let Some(reply) = reply {
                        control.replied(reply, epoch);
                    }
                }
                Step::Begins | Step::Ends(..) => {}
            }
            control.at(at(now));
            prop_assert!(control.turn(Share::of(0)).saturating_sub(now) <= 76 * SECOND, "{control:?}");
            let least = 0.999 * BETA / LONGEST_GAP;
            prop_assert!(control.per_second().is_none_or(|rate| rate >= least && rate.is_finite()));
        }
    }
}
