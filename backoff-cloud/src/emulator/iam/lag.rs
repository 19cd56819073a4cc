//! How late reads see a write: first never, then sometimes, then always.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Map, Value};

/// A stored policy; `None` if there was no write.
type Kept = Option<Map<String, Value>>;

/// How long reads do not show a write, and how long they show it only sometimes.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::emulator) struct Lag {
    pub(in crate::emulator) visible_after: Duration,
    pub(in crate::emulator) flaps_for: Duration,
}

impl Lag {
    /// Whether every read shows every write.
    pub(super) fn is_none(self) -> bool {
        self.visible_after.is_zero() && self.flaps_for.is_zero()
    }

    /// Whether a read may show the write of this time.
    fn is_visible(self, written: Instant, now: Instant) -> bool {
        written
            .checked_add(self.visible_after)
            .is_some_and(|visible| visible <= now)
    }

    /// Whether every read shows the write of this time.
    fn is_settled(self, written: Instant, now: Instant) -> bool {
        written
            .checked_add(self.visible_after)
            .and_then(|visible| visible.checked_add(self.flaps_for))
            .is_some_and(|settled| settled <= now)
    }
}

/// Draws the replica that answers.
#[derive(Debug)]
pub(super) struct Replicas(SmallRng);

impl Replicas {
    pub(super) fn new(seed: u64) -> Self {
        Self(SmallRng::seed_from_u64(seed))
    }
}

/// The old policies of one resource that reads may still show, the oldest first, each with the time of the
/// write that replaced it.
#[derive(Debug, Default)]
pub(super) struct Past(VecDeque<(Kept, Instant)>);

impl Past {
    /// Adds this policy, which is replaced now.
    pub(super) fn replaced(&mut self, policy: Kept, now: Instant) {
        self.0.push_back((policy, now));
    }

    /// The older policy that a read shows; `None` if it shows the newest one. If several may be shown, all
    /// have the same chance.
    pub(super) fn shown(
        &mut self,
        lag: Lag,
        replicas: &mut Replicas,
        now: Instant,
    ) -> Option<&Kept> {
        while let Some((_, written)) = self.0.front()
            && lag.is_settled(*written, now)
        {
            self.0.pop_front();
        }
        let visible = self.0.iter();
        let visible = visible.take_while(|(_, written)| lag.is_visible(*written, now));
        // A number is drawn only if there is a choice, so a seed fixes which reads flap.
        let shown = match visible.count() {
            0 => 0,
            newest => replicas.0.random_range(0..=newest),
        };
        self.0.get(shown).map(|(policy, _)| policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SECOND: Duration = Duration::from_secs(1);
    const LAG: Lag = Lag {
        visible_after: Duration::from_secs(10),
        flaps_for: Duration::from_secs(5),
    };

    fn policy(number: u32) -> Kept {
        json!({ "number": number }).as_object().cloned()
    }

    /// The policies that a hundred reads show: the number in each, 0 for none, and `newest`.
    fn shown(past: &mut Past, lag: Lag, newest: u64, now: Instant) -> Vec<u64> {
        let mut replicas = Replicas::new(1);
        let number = |kept: Option<&Kept>| match kept {
            None => newest,
            Some(kept) => kept.as_ref().map_or(0, |it| it["number"].as_u64().unwrap()),
        };
        let mut seen: Vec<_> = (0..100)
            .map(|_| number(past.shown(lag, &mut replicas, now)))
            .collect();
        seen.sort_unstable();
        seen.dedup();
        seen
    }

    #[test]
    fn a_write_is_hidden_then_flaps_then_stays() {
        let written = Instant::now();
        let mut past = Past::default();
        past.replaced(policy(1), written);
        let nano = Duration::from_nanos(1);
        for (after, expected) in [
            (Duration::ZERO, &[1][..]),
            (10 * SECOND - nano, &[1]),
            (10 * SECOND, &[1, 2]),
            (15 * SECOND - nano, &[1, 2]),
            (15 * SECOND, &[2]),
        ] {
            let seen = shown(&mut past, LAG, 2, written + after);
            assert_eq!(seen, expected, "{after:?}");
        }
        assert!(past.0.is_empty());
    }

    #[test]
    fn of_several_writes_each_that_is_visible_may_be_shown() {
        let start = Instant::now();
        let mut past = Past::default();
        // The writes are at 0, 2 and 8 s.
        past.replaced(None, start);
        past.replaced(policy(1), start + 2 * SECOND);
        past.replaced(policy(2), start + 8 * SECOND);
        for (after, expected) in [
            (9, &[0][..]),
            (10, &[0, 1]),
            (12, &[0, 1, 2]),
            (15, &[1, 2]),
            (17, &[2]),
            (18, &[2, 3]),
            (23, &[3]),
        ] {
            let seen = shown(&mut past, LAG, 3, start + after * SECOND);
            assert_eq!(seen, expected, "{after} s");
        }
    }

    #[test]
    fn a_time_without_end_never_ends() {
        let start = Instant::now();
        let later = start + 1_000_000 * SECOND;
        let never = Lag {
            visible_after: Duration::MAX,
            ..LAG
        };
        let flaps = Lag {
            visible_after: Duration::ZERO,
            flaps_for: Duration::MAX,
        };
        for (lag, expected) in [(never, &[0][..]), (flaps, &[0, 1])] {
            let mut past = Past::default();
            past.replaced(None, start);
            assert_eq!(shown(&mut past, lag, 1, later), expected, "{lag:?}");
        }
    }

    #[test]
    fn a_seed_fixes_what_flaps() {
        let now = Instant::now();
        let flaps = |seed| -> Vec<bool> {
            let (mut past, mut replicas) = (Past::default(), Replicas::new(seed));
            past.replaced(None, now);
            let at = now + 12 * SECOND;
            (0..64)
                .map(|_| past.shown(LAG, &mut replicas, at).is_some())
                .collect()
        };
        assert_eq!(flaps(7), flaps(7));
        assert_ne!(flaps(7), flaps(8));
    }
}
