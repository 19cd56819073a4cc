//! Packs the state of a retry into 15 bytes. Other modules see only getters of `u64`.
//!
//! Every annotated future contains the state. Tokio uses 256 bytes of heap for a task of up to 144
//! bytes, and 384 bytes for a larger task; with a plain `u64, u64, u32`, a small annotated function
//! would be a task of 152 bytes.

use crate::policy::{MOST_ATTEMPTS, MOST_DEADLINE};

/// The packed state of a retry. The limits of its numbers are the limits that the setters of a policy
/// enforce.
#[derive(Clone, Copy)]
pub(super) struct Packed {
    /// The start of the first attempt, in nanoseconds of the caller's clock: the lowest 56 bits, which
    /// repeat after 2.3 years. `UNTIMED` if the start was not timed.
    started: [u8; 7],
    /// The lowest 21 bits: the number of failed attempts. The next 2 bits: the last payment of a
    /// budget. The next bit: no attempt has followed the payment yet. The highest 40 bits: the last
    /// backoff, for the algorithms that grow from the last backoff. One instruction reads or writes all
    /// four together.
    rest: [u8; 8],
}

/// A budget's payment for the current retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paid {
    Nothing,
    Transient,
    Throttled,
}

const UNTIMED: u64 = (1 << 56) - 1;

/// How far a clock may go back. A larger difference counts as a clock that went forward: 26 days.
const BACK: u64 = 1 << 51;

const COUNT: u64 = (1 << 21) - 1;
const PAID: u64 = 1 << 21;
const PAID_THROTTLED: u64 = 2 << 21;
/// The bit that says that no attempt has followed the payment yet.
const HELD: u64 = 4 << 21;
/// The position of that bit within its byte, so that a test reads one byte.
const HELD_BYTE: usize = 2;
const HELD_BIT: u8 = 0x80;
/// The position of the backoff.
const BACKOFF: u32 = 24;

/// The position of a wide backoff's shift, above its 34 bits.
const WIDE: u64 = (1 << 34) - 1;

// The limits of a policy must fit into the packed numbers.
const _: () = assert!(MOST_ATTEMPTS as u64 <= COUNT && MOST_DEADLINE < UNTIMED - BACK);
const _: () = assert!(HELD == (HELD_BIT as u64) << (8 * HELD_BYTE));

impl Packed {
    /// A retry whose start is not timed.
    pub(super) const UNTIMED: Packed = Packed {
        started: [0xff; 7],
        rest: [0; 8],
    };

    /// A retry that starts at this reading of the clock, with this number of failures.
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

    /// Sets the start to this reading of the clock.
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

    /// Sets the bits of the mask and leaves the other bits.
    #[inline]
    fn set(&mut self, mask: u64, bits: u64) {
        self.rest = (self.rest() & !mask | bits).to_le_bytes();
    }

    /// The number of failed attempts.
    #[inline]
    pub(super) fn failures(&self) -> u64 {
        self.rest() & COUNT
    }

    /// Counts one more failure. The caller ensures that the count does not overflow.
    #[inline]
    pub(super) fn add_failure(&mut self) {
        self.rest = (self.rest() + 1).to_le_bytes();
    }

    /// The last payment of a budget.
    #[inline]
    pub(super) fn paid(&self) -> Paid {
        match self.rest() & (PAID | PAID_THROTTLED) {
            PAID => Paid::Transient,
            PAID_THROTTLED => Paid::Throttled,
            _ => Paid::Nothing,
        }
    }

    /// Sets the number of failures and leaves the payment.
    #[inline]
    pub(super) fn set_failures(&mut self, failures: u64) {
        self.set(COUNT, failures);
    }

    /// Sets a budget's payment for a wait that begins now.
    #[inline]
    pub(super) fn set_paid(&mut self, paid: Paid) {
        let bits = match paid {
            Paid::Nothing => 0,
            Paid::Transient => PAID | HELD,
            Paid::Throttled => PAID_THROTTLED | HELD,
        };
        self.set(PAID | PAID_THROTTLED | HELD, bits);
    }

    /// Whether no attempt has followed the payment yet.
    #[inline]
    pub(super) fn is_held(&self) -> bool {
        self.rest[HELD_BYTE] & HELD_BIT != 0
    }

    /// An attempt follows the payment.
    #[inline]
    pub(super) fn spend(&mut self) {
        self.rest[HELD_BYTE] &= !HELD_BIT;
    }

    /// The stored backoff; `narrow` must be the same as when it was stored.
    #[inline]
    pub(super) fn previous(&self, narrow: bool) -> u64 {
        let packed = self.rest() >> BACKOFF;
        if narrow {
            packed
        } else {
            (packed & WIDE) << (packed >> 34)
        }
    }

    /// Stores a backoff: to the nanosecond if it is narrow (below 18 minutes), otherwise within one
    /// part in 2³³.
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
