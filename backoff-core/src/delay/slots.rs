//! Slots, as on Ethernet.

use super::{Delay, draw::uniform};
use crate::runtime::nanos;
use core::time::Duration;

/// After this number of collisions, the range does not grow further (IEEE 802.3).
const TRUNCATED: u32 = 10;

/// After this number of attempts, Ethernet gives up (IEEE 802.3).
pub(crate) const ATTEMPTS: u32 = 16;

/// Binary exponential backoff as on Ethernet: after collision `c`, wait `k` slots, with `k` drawn
/// uniformly from `0..=2^c − 1`. From the 10th collision on, the range stays the same. After 16
/// attempts the frame is given up, so there are 15 waits.
///
/// Source: IEEE 802.3, truncated binary exponential backoff.
///
/// ```
/// use backoff_core::delay::{Delay, Slots};
/// use std::time::Duration;
///
/// let slot = Duration::from_micros(51) + Duration::from_nanos(200);
/// let ethernet = Slots::new(slot);
/// assert_eq!(ethernet.delay(2, Duration::ZERO, u64::MAX), Some(7 * slot));
/// assert_eq!(Slots::expected(3), 3.5);
/// assert_eq!(ethernet.waits().count(), 15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    slot: u64,
}

impl Slots {
    /// Slots of this length; 51.2 µs on an Ethernet of 10 Mbit/s.
    pub const fn new(slot: Duration) -> Self {
        Slots { slot: nanos(slot) }
    }

    /// The average number of slots waited after collision `c`: `(2^c − 1) / 2`, with `c` limited to 10.
    pub fn expected(c: u32) -> f64 {
        range(c) as f64 / 2.0
    }
}

impl Delay for Slots {
    fn delay(&self, retry: u32, _previous: Duration, random: u64) -> Option<Duration> {
        let wait = self
            .slot
            .saturating_mul(uniform(range(retry.saturating_add(1)), random));
        (retry < ATTEMPTS - 1).then_some(Duration::from_nanos(wait))
    }
}

/// The highest number of slots after collision `c`.
fn range(c: u32) -> u64 {
    (1 << c.min(TRUNCATED)) - 1
}

/// The longest wait before retry `n`.
pub(super) fn most(slot: u64, n: u32) -> u64 {
    slot.saturating_mul(range(n.saturating_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expected_number_of_slots() {
        // E(c) = (2^c − 1) / 2: 0.5, 1.5, 3.5, …, and 511.5 from the 10th collision on.
        let expected = [0, 1, 2, 3, 9, 10, 11, u32::MAX].map(Slots::expected);
        assert_eq!(expected, [0.0, 0.5, 1.5, 3.5, 255.5, 511.5, 511.5, 511.5]);
    }

    #[test]
    fn every_slot_of_the_range_is_drawn_equally_often() {
        let slots = Slots::new(Duration::from_nanos(1));
        // 2^3 slots after the third collision: the highest three bits of the number.
        for k in 0..8u64 {
            let ends = [k << 61, (k << 61) + ((1 << 61) - 1)];
            let drawn = ends.map(|random| slots.delay(2, Duration::ZERO, random));
            assert_eq!(drawn, [Some(Duration::from_nanos(k)); 2]);
        }
    }
}
