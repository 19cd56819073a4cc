//! The state machine of a breaker: one word, without I/O, clock and lock.

use crate::facts::fault::FaultKind;

/// The numbers of a breaker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// So many failures open the breaker,
    pub(super) failures: u32,
    /// if they are among so many last attempts.
    pub(super) attempts: u32,
    /// The time between two probes, in milliseconds.
    pub(super) pause: u32,
}

/// In the highest three bits, the number of the period: a period ends when the breaker opens or closes. Below it,
///
/// - closed: when an attempt failed last, in units of 16 s, and a bit for each of the last attempts, set if it failed;
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

/// The highest number of attempts that are remembered.
pub(super) const MOST_ATTEMPTS: u32 = FAILED.trailing_zeros();

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
}

impl Limits {
    /// When the next probe may go.
    const fn due(self, now: u32) -> u32 {
        now.wrapping_add(self.pause) & TIME
    }

    /// An attempt asks whether it may begin as a probe. Returns the state then; nothing if the breaker is closed, or if no
    /// probe is due.
    pub(super) fn probe(self, state: State, now: impl Fn() -> u32) -> Option<State> {
        if !state.is_open() {
            return None;
        }
        let now = now();
        // A time that lies further ahead than a pause has passed, or the clock was set back.
        let left = state.0.wrapping_sub(now) & TIME;
        (left == 0 || left > self.pause).then(|| state.with(self.due(now)))
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
            (true, false) => state.next(0),
            (false, false) => State(state.0 & !(FAILED - 1) | self.last(state.0 << 1)),
            (false, true) => {
                let now = now();
                let failed = now >> UNIT;
                let age = failed.wrapping_sub(state.0 / FAILED) & (TIME / FAILED);
                let before = if age < FORGOTTEN { state.0 } else { 0 };
                let last = self.last(before << 1 | 1);
                match last.count_ones() >= self.failures {
                    true => state.next(self.due(now)),
                    false => state.with(failed << MOST_ATTEMPTS & TIME | last),
                }
            }
        }
    }

    /// The bits of the last attempts.
    const fn last(self, bits: u32) -> u32 {
        bits & ((1 << self.attempts) - 1)
    }
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
    };

    #[test]
    fn the_clock_may_repeat_or_go_back() {
        const OPEN: u32 = 2 * PERIOD;
        let state = State(OPEN | 5);
        assert_eq!(
            LIMITS.probe(state, || 5 + (TIME + 1)),
            Some(State(OPEN | 1_005))
        );
        // Six days without an attempt, and a clock that was set back.
        assert!(LIMITS.probe(state, || TIME / 2).is_some());
        assert!(LIMITS.probe(State(OPEN | 50_000), || 48_999).is_some());
        assert_eq!(LIMITS.probe(State(OPEN | 50_000), || 49_000), None);
        let late = TIME - 10;
        let paused = State(OPEN | LIMITS.due(late));
        assert_eq!(LIMITS.probe(paused, || late + 999), None);
        assert!(LIMITS.probe(paused, || late + 1_000).is_some());
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
            (failures, attempts) in (1..=MOST_ATTEMPTS).prop_flat_map(|most| (1..=most, Just(most))),
            pause in 10..100_000u32,
            start in any::<u32>(),
            events in prop::collection::vec((0..3u8, 0..30_000u32, any::<prop::sample::Index>(), any_failure()), 0..400),
        ) {
            let limits = Limits { failures, attempts, pause };
            let (mut state, mut now) = (State::NEW, u64::from(start));
            let (mut running, mut last) = (Vec::new(), VecDeque::new());
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
                        let probe = limits.probe(state, clock);
                        // Never a second probe within a pause, and never longer than a pause without one.
                        prop_assert_eq!(probe.is_some(), due.is_some_and(|due| now >= due));
                        if let Some(then) = probe {
                            (state, due) = (then, Some(now + u64::from(pause)));
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
                                }
                                if has_failed {
                                    failed = before;
                                }
                                last.push_front(has_failed);
                                last.truncate(attempts as usize);
                                if last.iter().filter(|it| **it).count() >= failures as usize {
                                    (due, period) = (Some(now + u64::from(pause)), period + 1);
                                    last.clear();
                                }
                            }
                        }
                        prop_assert_eq!(state.is_open(), due.is_some());
                        prop_assert_eq!(state.period(), number(period));
                    }
                }
            }
            // Whatever hangs, after a pause an attempt may begin.
            let later = (now + u64::from(pause)) as u32;
            prop_assert!(!state.is_open() || limits.probe(state, || later).is_some());
        }
    }
}
