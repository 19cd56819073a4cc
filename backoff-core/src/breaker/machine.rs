//! The state machine of a breaker: one word, without I/O, clock and lock.

use crate::facts::fault::FaultKind;

/// The numbers of a breaker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// So many failures open the breaker,
    pub(super) failures: u32,
    /// if they are among so many last attempts.
    pub(super) attempts: u32,
    /// The time from the opening to the first probe, and between two probes, in milliseconds.
    pub(super) pause: u32,
    /// That time doubles with each probe up to this one, if it is longer.
    pub(super) max_pause: u32,
}

/// In the highest three bits, the number of the period: a period ends when the breaker opens or closes. Below it,
///
/// - closed: when an attempt failed last, in units of 16 s, and the history of the last attempts: a bit for each, set if it
///   failed; or, if they are too many, how many they were since the first failure, and how many of them failed;
/// - open: the time of the next probe in milliseconds of the clock, which repeats after six days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State(pub(super) u32);

/// The lowest bit of the number of a period.
const PERIOD: u32 = 1 << 29;
const TIME: u32 = PERIOD - 1;
/// The lowest bit of the time of the last failure.
const FAILED: u32 = 1 << 24;
/// A unit of that time: so many bits of the milliseconds are left out.
const UNIT: u32 = 14;
/// After so many units without a failure, about a minute, the failures are forgotten.
const FORGOTTEN: u32 = 4;

/// The highest number of attempts that have a bit each.
const MOST_BITS: u32 = FAILED.trailing_zeros();
/// Of a longer history, the bits of each of the two numbers.
const COUNT: u32 = MOST_BITS / 2;
/// The highest number of attempts that are remembered.
pub(super) const MOST_ATTEMPTS: u32 = (1 << COUNT) - 1;

/// The bit of a pause that says that it was set by hand.
pub(super) const BY_HAND: u32 = 1 << 31;

impl State {
    /// Closed, and no attempt has failed.
    pub(super) const NEW: State = State(PERIOD);

    /// The number of the period, from 1 to 7: odd if the breaker is closed.
    pub(super) const fn period(self) -> u8 {
        (self.0 / PERIOD) as u8
    }

    pub(super) const fn is_open(self) -> bool {
        self.0 & PERIOD == 0
    }

    /// The first state of the next period.
    const fn next(self, rest: u32) -> Self {
        let next = if self.period() == 7 {
            2
        } else {
            self.period() + 1
        };
        State((next as u32 * PERIOD) | rest)
    }

    const fn with(self, rest: u32) -> Self {
        State(self.0 & !TIME | rest)
    }

    /// Open, in a new period, until a probe may go at this time.
    pub(super) const fn opened(self, due: u32) -> Self {
        match self.is_open() {
            true => self.next(0).next(due),
            false => self.next(due),
        }
    }

    /// Closed, in a new period.
    pub(super) const fn closed(self) -> Self {
        self.next(0)
    }

    /// The milliseconds of this pause that are left until the next probe, of an open breaker.
    pub(super) const fn left(self, pause: u32, now: u32) -> u32 {
        let (left, pause) = (self.0.wrapping_sub(now) & TIME, pause & !BY_HAND);
        // A time that lies further ahead than the pause has passed, or the clock was set back.
        if left > pause { 0 } else { left }
    }
}

impl Limits {
    /// The pause after this one.
    pub(super) fn next_pause(self, pause: u32) -> u32 {
        match pause & BY_HAND {
            0 => self.max_pause.max(self.pause).min(2 * pause),
            _ => self.pause,
        }
    }

    /// An attempt asks during this pause whether it may begin as a probe. Returns the state then; nothing if the breaker is
    /// closed, or if no probe is due.
    pub(super) fn probe(self, state: State, pause: u32, now: impl Fn() -> u32) -> Option<State> {
        if !state.is_open() {
            return None;
        }
        let now = now();
        let is_due = state.left(pause, now) == 0;
        is_due.then(|| state.with(due(now, self.next_pause(pause))))
    }

    /// An attempt that was admitted in this period has ended: with this failure, or with a success. Returns the state then.
    pub(super) fn ended(
        self,
        state: State,
        period: u8,
        failure: Option<FaultKind>,
        now: impl Fn() -> u32,
    ) -> State {
        let has_failed = match failure {
            Some(FaultKind::Transient) => true,
            // A conflict and a pending value show that the service works.
            None | Some(FaultKind::Conflict | FaultKind::Pending) => false,
            Some(FaultKind::Throttled | FaultKind::Permanent) => return state,
        };
        match (state.is_open(), has_failed) {
            // What began before the breaker opened or closed says nothing about the service now.
            _ if period != state.period() => state,
            (true, true) => state,
            (true, false) => state.closed(),
            (false, false) => State(state.0 & !(FAILED - 1) | self.last(state.0, false).0),
            (false, true) => {
                let now = now();
                let failed = now >> UNIT;
                let age = failed.wrapping_sub(state.0 / FAILED) & (TIME / FAILED);
                let before = if age < FORGOTTEN { state.0 } else { 0 };
                let (last, failures) = self.last(before, true);
                match failures >= self.failures {
                    true => state.next(due(now, self.pause)),
                    false => state.with(failed << MOST_BITS & TIME | last),
                }
            }
        }
    }

    /// The history after one more attempt, and how many failures are in it.
    const fn last(self, before: u32, has_failed: bool) -> (u32, u32) {
        if self.attempts <= MOST_BITS {
            let last = (before << 1 | has_failed as u32) & ((1 << self.attempts) - 1);
            return (last, last.count_ones());
        }
        let failures = (before & MOST_ATTEMPTS) + has_failed as u32;
        let attempts = (before >> COUNT & MOST_ATTEMPTS) + 1;
        // Nothing is counted before the first failure. Half of a full history is forgotten.
        let half = (attempts >= self.attempts) as u32;
        let last = match (attempts >> half, failures >> half) {
            (_, 0) => 0,
            (attempts, failures) => attempts << COUNT | failures,
        };
        (last, failures)
    }
}

/// When the next probe may go, after this pause.
pub(super) const fn due(now: u32, pause: u32) -> u32 {
    now.wrapping_add(pause) & TIME
}

#[cfg(test)]
mod tests {
    use super::*;
    use FaultKind::{Conflict, Pending, Permanent, Throttled, Transient};
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const LIMITS: Limits = Limits {
        failures: 2,
        attempts: 4,
        pause: 1_000,
        max_pause: 0,
    };

    /// A probe that asks during the first pause.
    fn probe(state: State, now: u32) -> Option<State> {
        LIMITS.probe(state, LIMITS.pause, || now)
    }

    #[test]
    fn the_clock_may_repeat_or_go_back() {
        const OPEN: u32 = 2 * PERIOD;
        let state = State(OPEN | 5);
        assert_eq!(probe(state, 5 + (TIME + 1)), Some(State(OPEN | 1_005)));
        // Six days without an attempt, and a clock that was set back.
        assert!(probe(state, TIME / 2).is_some());
        assert!(probe(State(OPEN | 50_000), 48_999).is_some());
        assert_eq!(probe(State(OPEN | 50_000), 49_000), None);
        let late = TIME - 10;
        let paused = State(OPEN | due(late, LIMITS.pause));
        assert_eq!(probe(paused, late + 999), None);
        assert!(probe(paused, late + 1_000).is_some());
    }

    fn any_failure() -> impl Strategy<Value = Option<FaultKind>> {
        prop_oneof![
            2 => Just(None),
            4 => Just(Some(Transient)),
            1 => prop_oneof![Just(Conflict), Just(Pending), Just(Throttled), Just(Permanent)].prop_map(Some),
        ]
    }

    proptest! {
        /// Any order of events: time passes, an attempt begins, one of those that have begun ends in any way, or never.
        #[test]
        fn any_order_of_events(
            (failures, attempts) in prop_oneof![1..=MOST_BITS, 1..=100u32, Just(MOST_ATTEMPTS)]
                .prop_flat_map(|most| (1..=most, Just(most))),
            pause in 10..100_000u32,
            max_pause in prop_oneof![Just(0), 10..1_000_000u32],
            start in any::<u32>(),
            events in prop::collection::vec((0..3u8, 0..30_000u32, any::<prop::sample::Index>(), any_failure()), 0..400),
        ) {
            let limits = Limits { failures, attempts, pause, max_pause };
            let (mut state, mut now) = (State::NEW, u64::from(start));
            let (mut running, mut last) = (Vec::new(), VecDeque::new());
            // Of a long history: the attempts since the first failure, and how many of them failed.
            let (mut counted, mut counted_failures) = (0, 0);
            let mut current = pause;
            let (mut period, mut failed) = (1_u64, 0);
            // The numbers of the periods repeat.
            let number = |period: u64| if period < 2 { 1 } else { 2 + ((period - 2) % 6) as u8 };
            // When the next probe may go; nothing if the breaker is closed.
            let mut due = None;
            for (event, passes, which, failure) in events {
                let clock = || now as u32;
                match event {
                    0 => now += u64::from(passes),
                    1 => {
                        let probe = limits.probe(state, current, clock);
                        // Never a second probe within a pause, and never longer than a pause without one.
                        prop_assert_eq!(probe.is_some(), due.is_some_and(|due| now >= due));
                        if let Some(then) = probe {
                            current = (2 * current).min(max_pause.max(pause));
                            (state, due) = (then, Some(now + u64::from(current)));
                        }
                        if probe.is_some() || due.is_none() {
                            running.push(period);
                        }
                    }
                    _ if running.is_empty() => {}
                    _ => {
                        let begun = running.swap_remove(which.index(running.len()));
                        let before = now >> UNIT;
                        state = limits.ended(state, number(begun), failure, clock);
                        let counts = match failure {
                            Some(Transient) => Some(true),
                            Some(Throttled | Permanent) => None,
                            _ => Some(false),
                        };
                        match counts {
                            _ if number(begun) != number(period) => {}
                            None => {}
                            Some(true) if due.is_some() => {}
                            Some(false) if due.is_some() => {
                                (due, period, failed) = (None, period + 1, 0);
                            }
                            Some(has_failed) => {
                                if has_failed && (before.wrapping_sub(failed) & 31) >= u64::from(FORGOTTEN) {
                                    last.clear();
                                    (counted, counted_failures) = (0, 0);
                                }
                                if has_failed {
                                    failed = before;
                                }
                                last.push_front(has_failed);
                                last.truncate(attempts as usize);
                                counted_failures += u32::from(has_failed);
                                counted = if counted_failures > 0 { counted + 1 } else { 0 };
                                let most = match attempts > MOST_BITS {
                                    true => counted_failures,
                                    false => last.iter().filter(|it| **it).count() as u32,
                                };
                                if most >= failures {
                                    (due, period, current) = (Some(now + u64::from(pause)), period + 1, pause);
                                    last.clear();
                                    (counted, counted_failures) = (0, 0);
                                } else if counted == attempts {
                                    (counted, counted_failures) = (counted / 2, counted_failures / 2);
                                }
                                if counted_failures == 0 {
                                    counted = 0;
                                }
                            }
                        }
                        prop_assert_eq!(state.is_open(), due.is_some());
                        prop_assert_eq!(state.period(), number(period));
                    }
                }
            }
            // Whatever hangs, after a pause an attempt may begin.
            let later = (now + u64::from(current)) as u32;
            prop_assert!(!state.is_open() || limits.probe(state, current, || later).is_some());
        }
    }
}
