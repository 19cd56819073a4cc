//! The exact times at which calls go.

use super::*;

pub(super) const MS: u64 = 1_000_000;
pub(super) const SECOND: u64 = 1_000 * MS;
pub(super) const REFUSED: Reply = Reply::Refused { hint: 0 };

/// This number of nanoseconds.
pub(super) const fn at(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

/// The rules, and the number of calls in flight.
struct Calls {
    rules: Rules,
    in_flight: u32,
}

impl Calls {
    fn new() -> Self {
        Calls {
            rules: Rules::new(SETTLE),
            in_flight: 0,
        }
    }

    /// A call begins at this time, whether its turn has come or not. Returns its number.
    fn begin(&mut self, now: u64) -> u8 {
        self.rules.at(at(now));
        self.rules.goes(true);
        self.in_flight += 1;
        self.rules.epoch()
    }

    fn end(&mut self, now: u64, reply: Reply, epoch: u8) -> Option<RateChange> {
        self.rules.at(at(now));
        self.in_flight -= 1;
        self.rules.replied(reply, epoch, self.in_flight)
    }

    /// A call whose reply comes at once.
    fn call(&mut self, now: u64, reply: Reply) -> Option<RateChange> {
        let epoch = self.begin(now);
        self.end(now, reply, epoch)
    }

    /// When the next call may go.
    fn turn(&self) -> u64 {
        self.rules.turn(self.in_flight)
    }

    fn per_second(&self) -> f64 {
        self.rules.per_second().expect("the rate is on")
    }

    /// Ten calls in a second, and a refusal: 10 a second.
    fn closed() -> Self {
        let mut calls = Calls::new();
        calls.rules.queued();
        for n in 0..10 {
            assert_eq!(calls.call(n * 100 * MS, Reply::Admitted), None);
        }
        assert_eq!(calls.turn(), 0);
        assert_eq!(calls.rules.per_second(), None);
        // 11 calls in 1 s since the first reply.
        assert_eq!(calls.call(SECOND, REFUSED), Some(RateChange::Closed));
        calls.rules.queued();
        calls
    }

    /// The same, opened by a probe that goes at its turn.
    fn open() -> Self {
        let mut calls = Calls::closed();
        let now = calls.turn();
        let change = calls.call(now, Reply::Admitted);
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
    assert_eq!(calls.rules.turn_behind(0, Duration::ZERO), at(106_951_871));
}

#[test]
fn a_burst_after_a_trickle_counts_by_its_last_second() {
    let mut calls = Calls::new();
    for n in 0..30 {
        calls.call(n * SECOND, Reply::Admitted);
    }
    for n in 0..50 {
        calls.call(29 * SECOND + (501 + n * 10) * MS, Reply::Admitted);
    }
    calls.call(30 * SECOND, REFUSED);
    // The last count began at 29.501 s.
    near(calls.per_second(), BETA * 51.0 / 0.499);
}

#[test]
fn counts_begin_anew_after_a_minute_and_after_a_second() {
    let mut calls = Calls::new();
    for n in 0..61 {
        calls.call(n * SECOND, Reply::Admitted);
    }
    // 61 s is more than a minute: one call since then, in at least 50 ms.
    calls.call(61 * SECOND, Reply::Admitted);
    calls.call(61 * SECOND + 10 * MS, REFUSED);
    near(calls.per_second(), BETA * 2.0 / LEAST);
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
fn a_time_that_the_first_refusal_named_counts_from_the_fifth_refusal() {
    let mut calls = Calls::new();
    let named = 100 * SECOND;
    let mut turns = Vec::new();
    for n in 0..12 {
        let now = calls.turn();
        // The hints after the first one do not count.
        let hint = if n == 0 { named } else { SECOND };
        calls.call(now, Reply::Refused { hint });
        turns.push(calls.turn());
    }
    let gap = 1.0 / (BETA / LEAST);
    near(turns[3] as f64 / 1e9, gap * 4.0);
    let fifth = turns[4] - turns[3];
    assert_eq!(fifth, (named - turns[3]) / 4);
    assert_eq!(turns[5] - turns[4], (named - turns[4]) / 4);
    // Not beyond the time. After it, the gaps count again.
    assert!(turns.contains(&named), "{turns:?}");
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
fn a_probe_opens_and_a_window_grows_with_each_reply() {
    let mut calls = Calls::closed();
    let late = calls.begin(calls.turn());
    let now = calls.turn();
    let probe = calls.begin(now);
    let third = calls.begin(now);
    let opened = calls.end(now, Reply::Admitted, probe);
    // 11 admitted calls since the first one, and no more in the last second.
    let Some(RateChange::Opened { per_second }) = opened else {
        panic!("{opened:?}");
    };
    near(per_second, 11.0 / (now as f64 / 1e9));
    // Two in flight: at most four.
    let (four, five) = (calls.begin(now), calls.begin(now));
    assert_eq!(calls.turn(), AFTER_REPLY);
    // One ends: three are in flight, and five may be.
    calls.end(now, Reply::Admitted, third);
    calls.begin(now);
    assert_ne!(calls.turn(), AFTER_REPLY);
    calls.begin(now);
    assert_eq!(calls.turn(), AFTER_REPLY);
    // A refusal ends the slow start. The late reply is about an older rate.
    assert_eq!(calls.end(now, REFUSED, late), None);
    assert_eq!(calls.end(now, REFUSED, four), Some(RateChange::Closed));
    assert_eq!(calls.end(now, REFUSED, five), None);
    assert_ne!(calls.turn(), AFTER_REPLY);
}

#[test]
fn the_rate_is_flat_after_the_time_to_settle_and_then_grows() {
    let mut calls = Calls::open();
    let (cut, admitted) = (calls.rules.cut, calls.rules.admitted);
    for (settles, share) in [(0.0, 0.85), (1.0, 1.0), (2.0, 1.15), (5.0, 10.6)] {
        calls.rules.at(at(cut + (settles * SETTLE * 1e9) as u64));
        near(calls.per_second(), admitted * share);
    }
}

#[test]
fn time_in_which_nobody_waits_does_not_count() {
    let mut calls = Calls::open();
    let (cut, since) = (calls.rules.cut, calls.rules.cycle.since);
    calls.rules.at(at(cut + SECOND));
    let before = calls.per_second();
    calls.rules.emptied();
    calls.rules.at(at(cut + 20 * SECOND));
    near(calls.per_second(), before);
    calls.rules.queued();
    near(calls.per_second(), before);
    assert_eq!(calls.rules.cycle.since, since + 19 * SECOND);
}

#[test]
fn a_second_refusal_and_its_probe_find_the_rate_between() {
    let mut calls = Calls::open();
    let opened = calls.rules.cut;
    // 30 calls in 3 s, and a refusal at the rate of that time.
    for n in 1..=30 {
        calls.call(opened + n * 100 * MS, Reply::Admitted);
    }
    let refused = opened + 3 * SECOND;
    calls.rules.way = Way::Open { window: None };
    calls.rules.at(at(refused));
    let rate = calls.per_second();
    assert_eq!(calls.call(refused, REFUSED), Some(RateChange::Closed));
    near(calls.rules.flat_after, SETTLE * SLOWER);
    near(calls.per_second(), BETA * rate);
    let now = calls.turn();
    let opened = calls.call(now, Reply::Admitted);
    let counted = 31.0 / ((now - (refused - 3 * SECOND)) as f64 / 1e9);
    let per_second = (counted + rate) / 2.0;
    assert!(rate / 2.0 < counted && counted < rate);
    let Some(RateChange::Opened { per_second: found }) = opened else {
        panic!("{opened:?}");
    };
    near(found, per_second);
    // Each reply that is no refusal lets the rate settle faster again.
    near(calls.rules.flat_after, SETTLE * SLOWER.powf(1.0 - UNDONE));
}

#[test]
fn a_rate_settles_within_five_minutes() {
    let mut calls = Calls::open();
    for _ in 0..60 {
        let now = calls.turn();
        calls.call(now, REFUSED);
        let now = calls.turn();
        calls.call(now, Reply::Admitted);
    }
    near(calls.rules.flat_after, SLOWEST / SLOWER.powf(UNDONE));
}

#[test]
fn a_rate_without_refusals_is_switched_off_after_a_minute() {
    let mut calls = Calls::closed();
    let quiet = calls.turn() + 60 * SECOND;
    calls.rules.at(at(quiet - 1));
    assert!(calls.rules.is_on());
    calls.rules.at(at(quiet));
    assert_eq!(calls.rules.per_second(), None);
    // The next reply says so, once.
    assert_eq!(calls.call(quiet, Reply::Admitted), Some(RateChange::Off));
    assert_eq!(calls.call(quiet, Reply::Admitted), None);
}

#[test]
fn the_gap_between_two_probes_is_not_quiet() {
    let mut calls = Calls::closed();
    for _ in 0..60 {
        let now = calls.turn();
        calls.rules.at(at(now));
        assert!(calls.rules.is_on());
        calls.call(now, REFUSED);
    }
    assert_eq!(calls.turn() - calls.rules.now(), 64 * SECOND);
}

#[test]
fn a_late_timer_does_not_move_the_next_turn() {
    let mut calls = Calls::open();
    calls.rules.way = Way::Open { window: None };
    let (now, turn) = (calls.rules.now(), calls.turn());
    assert!(turn > now);
    calls.begin(turn + 5 * MS);
    let step = calls.turn() - turn;
    near(step as f64 / 1e9, 1.0 / calls.per_second());
    // Not if the timer is later than 20 ms.
    let late = calls.turn() + 50 * MS;
    calls.begin(late);
    near(
        (calls.turn() - late + 20 * MS) as f64 / 1e9,
        1.0 / calls.per_second(),
    );
}

#[test]
fn a_clock_that_goes_back_stands_until_it_runs_again() {
    let mut calls = Calls::closed();
    let now = calls.rules.now();
    // Ten seconds back: the time goes on evenly from there.
    calls.rules.at(at(0));
    assert_eq!(calls.rules.now(), now);
    calls.rules.at(at(50 * MS));
    assert_eq!(calls.rules.now(), now);
    calls.rules.at(at(SECOND + MS));
    assert_eq!(calls.rules.now(), SECOND + MS);
    let ahead = 20 * SECOND;
    calls.rules.at(at(ahead));
    calls.rules.at(at(SECOND));
    calls.rules.at(at(3 * SECOND));
    assert_eq!(calls.rules.now(), ahead + 2 * SECOND);
}

#[test]
fn readings_of_two_threads_out_of_order_do_not_add_up() {
    let mut calls = Calls::new();
    for n in 1..1_000 {
        calls.rules.at(at(n * MS + MS));
        calls.rules.at(at(n * MS));
    }
    assert_eq!(calls.rules.now(), SECOND);
}

#[test]
fn the_end_of_the_clock_breaks_nothing() {
    let mut calls = Calls::closed();
    for now in [u64::MAX - SECOND, u64::MAX - 1, u64::MAX] {
        calls.call(now, Reply::Refused { hint: u64::MAX });
        calls.call(now, REFUSED);
        calls.call(now, Reply::Admitted);
        calls.rules.at(Duration::MAX);
        calls.rules.at(Duration::ZERO);
    }
}
