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

/// Closed: a bit for each of the last attempts, set if the attempt failed. Open: [`OPEN`], perhaps [`FREE`], and below
/// them the time of the next probe in milliseconds of the clock, which repeats after 12 days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State(pub(super) u32);

const OPEN: u32 = 1 << 31;
/// The last probe has left without an answer, so the next one may go at once.
const FREE: u32 = 1 << 30;
const TIME: u32 = FREE - 1;

/// The highest number of attempts that are remembered.
pub(super) const MOST_ATTEMPTS: u32 = OPEN.trailing_zeros();

impl State {
    /// Closed, and no attempt has failed.
    pub(super) const NEW: State = State(0);

    pub(super) const fn is_open(self) -> bool {
        self.0 & OPEN != 0
    }
}

impl Limits {
    /// Open, and a probe may go a pause from now.
    const fn paused(self, now: u32) -> State {
        State(OPEN | now.wrapping_add(self.pause) & TIME)
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
        let is_due = state.0 & FREE != 0 || left == 0 || left > self.pause;
        is_due.then(|| self.paused(now))
    }

    /// An attempt has ended: with this failure, or with a success. Returns the state then.
    pub(super) fn ended(
        self,
        state: State,
        is_probe: bool,
        failure: Option<FaultKind>,
        now: impl Fn() -> u32,
    ) -> State {
        let has_failed = match failure {
            Some(FaultKind::Transient) => Some(true),
            // A conflict and a pending value show that the service works.
            None | Some(FaultKind::Conflict | FaultKind::Pending) => Some(false),
            Some(FaultKind::Throttled | FaultKind::Permanent) => None,
        };
        match (state.is_open(), has_failed) {
            (true, Some(false)) if is_probe => State::NEW,
            (true, None) if is_probe => State(state.0 | FREE),
            // The next probe goes a pause after the last one has begun.
            (true, _) | (_, None) => state,
            (false, Some(has_failed)) => {
                let last = (state.0 << 1 | u32::from(has_failed)) & ((1 << self.attempts) - 1);
                match last.count_ones() >= self.failures {
                    true => self.paused(now()),
                    false => State(last),
                }
            }
        }
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

    /// Plays a schedule: each line is a time in milliseconds, what happens, and what comes of it. An attempt may `begin`,
    /// and is refused or a probe; or an attempt or a probe ends with a letter: `+` success, `-` failure, `c`onflict,
    /// `w`aiting for a value, `t`hrottled, `p`ermanent.
    fn play(schedule: &str) {
        let mut state = State::NEW;
        for line in schedule.lines().map(str::trim).filter(|it| !it.is_empty()) {
            let words: Vec<_> = line.split_whitespace().collect();
            let (now, came) = (words[0].parse().unwrap(), words[words.len() - 1]);
            let then = match words[1] {
                "begins" => match LIMITS.probe(state, || now) {
                    Some(then) => {
                        state = then;
                        "probe"
                    }
                    None if state.is_open() => "refused",
                    None => "attempt",
                },
                who => {
                    let failure = match words[2] {
                        "+" => None,
                        "-" => Some(Transient),
                        "c" => Some(Conflict),
                        "w" => Some(Pending),
                        "t" => Some(Throttled),
                        "p" => Some(Permanent),
                        other => panic!("{other}"),
                    };
                    state = LIMITS.ended(state, who == "probe", failure, || now);
                    if state.is_open() { "open" } else { "closed" }
                }
            };
            assert_eq!(then, came, "{line}: {state:?}");
        }
    }

    #[test]
    fn it_opens_when_enough_of_the_last_attempts_failed() {
        play(
            "
            0 attempt - closed
            0 attempt + closed
            0 attempt + closed
            0 attempt + closed
            0 attempt - closed
            0 attempt + closed
            0 attempt - open
            ",
        );
    }

    #[test]
    fn what_says_nothing_about_the_service_does_not_count() {
        play(
            "
            0 attempt - closed
            0 attempt t closed
            0 attempt p closed
            0 attempt t closed
            0 attempt p closed
            0 attempt - open
            ",
        );
        // These count as successes.
        play(
            "
            0 attempt - closed
            0 attempt c closed
            0 attempt w closed
            0 attempt c closed
            0 attempt - closed
            ",
        );
    }

    #[test]
    fn a_probe_goes_after_each_pause_until_one_succeeds() {
        play(
            "
            5 attempt - closed
            5 attempt - open
            1004 begins refused
            1005 begins probe
            1006 begins refused
            1500 probe - open
            2004 begins refused
            2005 begins probe
            2600 attempt + open
            2700 begins refused
            2800 probe + closed
            2800 begins attempt
            2800 attempt - closed
            2800 attempt - open
            3799 begins refused
            3800 begins probe
            ",
        );
    }

    #[test]
    fn a_probe_that_leaves_or_hangs_frees_its_place() {
        play(
            "
            0 attempt - closed
            0 attempt - open
            1000 begins probe
            1001 probe p open
            1001 begins probe
            1002 begins refused
            1003 probe t open
            1003 begins probe
            2002 begins refused
            2003 begins probe
            ",
        );
        // A probe that hung closes the breaker all the same.
        play(
            "
            0 attempt - closed
            0 attempt - open
            1000 begins probe
            2000 begins probe
            2001 probe + closed
            2002 probe + closed
            ",
        );
    }

    #[test]
    fn the_clock_may_repeat_or_go_back() {
        let state = State(OPEN | 5);
        assert_eq!(
            LIMITS.probe(state, || 5 + (TIME + 1)),
            Some(State(OPEN | 1_005))
        );
        // 12 days without an attempt, and a clock that was set back.
        assert!(LIMITS.probe(state, || TIME / 2).is_some());
        assert!(LIMITS.probe(State(OPEN | 50_000), || 48_999).is_some());
        assert_eq!(LIMITS.probe(State(OPEN | 50_000), || 49_000), None);
        let late = TIME - 10;
        assert_eq!(LIMITS.paused(late), State(OPEN | (late + 1_000) & TIME));
        assert_eq!(LIMITS.probe(LIMITS.paused(late), || late + 999), None);
        assert!(LIMITS.probe(LIMITS.paused(late), || late + 1_000).is_some());
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
                            running.push(probe.is_some());
                        }
                    }
                    _ if running.is_empty() => {}
                    _ => {
                        let is_probe = running.swap_remove(which.index(running.len()));
                        state = limits.ended(state, is_probe, failure, clock);
                        let counts = match failure {
                            Some(Transient) => Some(true),
                            Some(Throttled | Permanent) => None,
                            _ => Some(false),
                        };
                        if due.is_some() && is_probe {
                            due = match counts {
                                Some(true) => due,
                                Some(false) => None,
                                None => Some(0),
                            };
                        } else if let (None, Some(has_failed)) = (due, counts) {
                            last.push_front(has_failed);
                            last.truncate(attempts as usize);
                            if last.iter().filter(|it| **it).count() >= failures as usize {
                                due = Some(now + u64::from(pause));
                                last.clear();
                            }
                        }
                        prop_assert_eq!(state.is_open(), due.is_some());
                    }
                }
            }
            // Whatever hangs, after a pause an attempt may begin.
            let later = (now + u64::from(pause)) as u32;
            prop_assert!(!state.is_open() || limits.probe(state, || later).is_some());
        }
    }
}
