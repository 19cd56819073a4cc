//! How the state of a retry fits into 15 bytes. Nobody else sees bytes: the getters speak `u64`.
//!
//! The state stands in every annotated future. Tokio gives a task of up to 144 bytes 256 bytes of
//! heap, and above that 384; with a plain `u64, u64, u32` a small annotated function would be a task
//! of 152 bytes.

use crate::policy::{MOST_ATTEMPTS, MOST_DEADLINE};

/// The state of a retry, packed. Its limits are those of a policy, which the setters there keep.
#[derive(Clone, Copy)]
pub(super) struct Packed {
    /// When the first attempt began, in nanoseconds of the caller's clock: the lowest 56 bits, which
    /// repeat after 2.3 years, or `UNTIMED` if nobody asked.
    started: [u8; 7],
    /// The lowest 21 bits: how many attempts have failed. The next 2: what a budget paid for last.
    /// The next one: no attempt has followed yet. The highest 40: the backoff drawn last, for the algorithms that grow from it. Together they
    /// are read and written by one instruction each.
    rest: [u8; 8],
}

/// What a budget has paid for the retry that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paid {
    Nothing,
    Transient,
    Throttled,
}

const UNTIMED: u64 = (1 << 56) - 1;

/// How far a clock may go back without being taken for one that went on: 26 days.
const BACK: u64 = 1 << 51;

const COUNT: u64 = (1 << 21) - 1;
const PAID: u64 = 1 << 21;
const PAID_THROTTLED: u64 = 2 << 21;
/// Whether no attempt has followed yet on what was paid.
const HELD: u64 = 4 << 21;
/// Where that bit stands, so that one byte is asked.
const HELD_BYTE: usize = 2;
const HELD_BIT: u8 = 0x80;
/// Where the backoff begins.
const BACKOFF: u32 = 24;

/// The shift of a wide backoff stands above its 34 bits.
const WIDE: u64 = (1 << 34) - 1;

// What a policy allows must fit.
const _: () = assert!(MOST_ATTEMPTS as u64 <= COUNT && MOST_DEADLINE < UNTIMED - BACK);
const _: () = assert!(HELD == (HELD_BIT as u64) << (8 * HELD_BYTE));

impl Packed {
    /// A retry whose start is not timed.
    pub(super) const UNTIMED: Packed = Packed {
        started: [0xff; 7],
        rest: [0; 8],
    };

    /// A retry that starts at this reading of the clock, after this many failures.
    #[inline]
    pub(super) fn started(now: u64, failures: u64) -> Self {
        let started = now & UNTIMED;
        let started = if started == UNTIMED {
            started - 1
        } else {
            started
        };
        Packed {
            started: lowest(started),
            rest: failures.to_le_bytes(),
        }
    }

    /// Whether the start was timed.
    #[inline]
    pub(super) fn is_timed(&self) -> bool {
        number(self.started) != UNTIMED
    }

    /// The start is this reading of the clock.
    #[inline]
    pub(super) fn set_started(&mut self, now: u64) {
        self.started = Self::started(now, 0).started;
    }

    /// The nanoseconds since the start; zero if the start was not timed.
    #[inline]
    pub(super) fn elapsed(&self, now: impl FnOnce() -> u64) -> u64 {
        let started = number(self.started);
        if started == UNTIMED {
            return 0;
        }
        let elapsed = now().wrapping_sub(started) & UNTIMED;
        if elapsed > UNTIMED - BACK { 0 } else { elapsed }
    }

    #[inline]
    fn rest(&self) -> u64 {
        u64::from_le_bytes(self.rest)
    }

    /// Sets the bits of the mask, and leaves the others.
    #[inline]
    fn set(&mut self, mask: u64, bits: u64) {
        self.rest = (self.rest() & !mask | bits).to_le_bytes();
    }

    /// How many attempts have failed.
    #[inline]
    pub(super) fn failures(&self) -> u64 {
        self.rest() & COUNT
    }

    /// Counts one more failure, of which there are fewer than can be counted.
    #[inline]
    pub(super) fn add_failure(&mut self) {
        self.rest = (self.rest() + 1).to_le_bytes();
    }

    /// What a budget has paid for last.
    #[inline]
    pub(super) fn paid(&self) -> Paid {
        match self.rest() & (PAID | PAID_THROTTLED) {
            PAID => Paid::Transient,
            PAID_THROTTLED => Paid::Throttled,
            _ => Paid::Nothing,
        }
    }

    /// Sets the number of failures, and leaves what was paid.
    #[inline]
    pub(super) fn set_failures(&mut self, failures: u64) {
        self.set(COUNT, failures);
    }

    /// Sets what a budget has paid for a wait that begins now.
    #[inline]
    pub(super) fn set_paid(&mut self, paid: Paid) {
        let bits = match paid {
            Paid::Nothing => 0,
            Paid::Transient => PAID | HELD,
            Paid::Throttled => PAID_THROTTLED | HELD,
        };
        self.set(PAID | PAID_THROTTLED | HELD, bits);
    }

    /// Whether no attempt has followed yet on what was paid.
    #[inline]
    pub(super) fn is_held(&self) -> bool {
        self.rest[HELD_BYTE] & HELD_BIT != 0
    }

    /// An attempt follows on what was paid.
    #[inline]
    pub(super) fn spend(&mut self) {
        self.rest[HELD_BYTE] &= !HELD_BIT;
    }

    /// The backoff that was kept; `narrow` as it was then.
    #[inline]
    pub(super) fn previous(&self, narrow: bool) -> u64 {
        let packed = self.rest() >> BACKOFF;
        if narrow {
            packed
        } else {
            (packed & WIDE) << (packed >> 34)
        }
    }

    /// Keeps a backoff: to the nanosecond if it is narrow, which means below 18 minutes, else within
    /// one part in 2³³.
    #[inline]
    pub(super) fn set_previous(&mut self, backoff: u64, narrow: bool) {
        let packed = if narrow {
            backoff
        } else {
            let shift = 30u32.saturating_sub(backoff.leading_zeros());
            backoff >> shift | u64::from(shift) << 34
        };
        self.set(!0 << BACKOFF, packed << BACKOFF);
    }

    /// Whether a backoff of at most `longest` nanoseconds is narrow.
    #[inline]
    pub(super) const fn is_narrow(longest: u64) -> bool {
        longest < 1 << 40
    }
}

/// The lowest bytes of a number.
#[inline]
fn lowest<const N: usize>(number: u64) -> [u8; N] {
    let bytes = number.to_le_bytes();
    core::array::from_fn(|i| bytes[i])
}

/// The number that [`lowest`] was given, if it was small enough.
#[inline]
fn number<const N: usize>(lowest: [u8; N]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..N].copy_from_slice(&lowest);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_backoff_is_kept_within_one_part_in_two_to_the_33(backoff: u64) {
            let mut packed = Packed::UNTIMED;
            packed.set_previous(backoff, false);
            let kept = packed.previous(false);
            prop_assert!(kept <= backoff && backoff - kept <= backoff >> 33);
            let narrow = backoff >> 24;
            packed.set_previous(narrow, true);
            prop_assert_eq!(packed.previous(true), narrow);
        }

        #[test]
        fn what_is_set_leaves_the_rest(
            started: u64, failures in 0..=COUNT, narrow in 0u64..1 << 40, paid in 0..3usize,
        ) {
            let paid = [Paid::Nothing, Paid::Transient, Paid::Throttled][paid];
            let mut packed = Packed::started(started, 0);
            packed.set_failures(failures);
            packed.set_paid(paid);
            packed.set_previous(narrow, true);
            let now = started.wrapping_add(5);
            prop_assert!(packed.elapsed(|| now).abs_diff(5) <= 1);
            prop_assert_eq!((packed.failures(), packed.paid()), (failures, paid));
            prop_assert_eq!(packed.previous(true), narrow);
            prop_assert_eq!(packed.is_held(), paid != Paid::Nothing);
            packed.spend();
            prop_assert_eq!((packed.failures(), packed.paid()), (failures, paid));
            prop_assert_eq!((packed.previous(true), packed.is_held()), (narrow, false));
        }
    }
}
