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
    /// The lowest 20 bits: the number of failed attempts. The next bit: a rate counts a running attempt.
    /// The next 2 bits: the last payment of a budget. The next bit: no attempt has followed the payment
    /// yet. The highest 40 bits: the last backoff, for the algorithms that grow from the last backoff. In
    /// a call with a rate, the lowest 8 of these are the number of the rate's refusal before the attempt.
    /// One instruction reads or writes all of them together.
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

const COUNT: u64 = (1 << 20) - 1;
/// The bit that says that a rate counts a running attempt.
const IN_FLIGHT: u64 = 1 << 20;
const PAID: u64 = 1 << 21;
const PAID_THROTTLED: u64 = 2 << 21;
/// The bit that says that no attempt has followed the payment yet.
const HELD: u64 = 4 << 21;
/// The byte of these two bits, so that a test of both reads one byte.
const OPEN_BYTE: usize = 2;
const HELD_BIT: u8 = 0x80;
const IN_FLIGHT_BIT: u8 = 0x10;
/// The position of the backoff.
const BACKOFF: u32 = 24;

/// The position of the number of a rate's refusal.
const EPOCH: u32 = 24;

/// How the last backoff is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// To the nanosecond, for backoffs below 18 minutes.
    Narrow,
    /// Within one part in 2³³.
    Wide,
    /// Within one part in 2²⁵, in a call with a rate.
    Rated,
}

impl Form {
    /// The form for backoffs of at most `longest` nanoseconds.
    #[inline]
    pub(super) const fn of(longest: u64, has_rate: bool) -> Self {
        match has_rate {
            true => Form::Rated,
            false if longest < 1 << 40 => Form::Narrow,
            false => Form::Wide,
        }
    }

    /// The bits of the number, and the bits below it that belong to a rate.
    #[inline]
    const fn bits(self) -> (u32, u32) {
        match self {
            Form::Narrow => (40, 0),
            Form::Wide => (34, 0),
            Form::Rated => (26, 8),
        }
    }
}

// The limits of a policy must fit into the packed numbers.
const _: () = assert!(MOST_ATTEMPTS as u64 <= COUNT && MOST_DEADLINE < UNTIMED - BACK);
const _: () = assert!(HELD == (HELD_BIT as u64) << (8 * OPEN_BYTE));
const _: () = assert!(IN_FLIGHT == (IN_FLIGHT_BIT as u64) << (8 * OPEN_BYTE));

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

    /// Moves the start back by so many nanoseconds, if the start was timed.
    pub(super) fn start_earlier(&mut self, by: u64) {
        if self.is_timed() {
            self.set_started(number(self.started).wrapping_sub(by));
        }
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
        self.rest[OPEN_BYTE] & HELD_BIT != 0
    }

    /// An attempt follows the payment.
    #[inline]
    pub(super) fn spend(&mut self) {
        self.rest[OPEN_BYTE] &= !HELD_BIT;
    }

    /// Whether a rate counts a running attempt.
    #[inline]
    pub(super) fn is_in_flight(&self) -> bool {
        cfg!(feature = "rate") && self.rest[OPEN_BYTE] & IN_FLIGHT_BIT != 0
    }

    /// A rate counts the attempt that begins after the refusal with this number.
    #[inline]
    pub(super) fn set_in_flight(&mut self, epoch: u8) {
        self.set(
            0xff << EPOCH | IN_FLIGHT,
            u64::from(epoch) << EPOCH | IN_FLIGHT,
        );
    }

    /// The attempt that a rate counts has ended. Returns its number.
    #[inline]
    pub(super) fn land(&mut self) -> Option<u8> {
        let is_in_flight = self.is_in_flight();
        self.rest[OPEN_BYTE] &= !IN_FLIGHT_BIT;
        is_in_flight.then_some(self.rest[EPOCH as usize / 8])
    }

    /// The stored backoff; `form` must be the same as when it was stored.
    #[inline]
    pub(super) fn previous(&self, form: Form) -> u64 {
        let (number, below) = form.bits();
        let packed = self.rest() >> (BACKOFF + below);
        (packed & ((1 << number) - 1)) << (packed >> number)
    }

    /// Stores a backoff in this form.
    #[inline]
    pub(super) fn set_previous(&mut self, backoff: u64, form: Form) {
        let (number, below) = form.bits();
        let shift = (64 - number).saturating_sub(backoff.leading_zeros());
        let packed = match form {
            Form::Narrow => backoff,
            _ => backoff >> shift | u64::from(shift) << number,
        };
        self.set(!0 << (BACKOFF + below), packed << (BACKOFF + below));
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
        fn a_backoff_is_kept_within_its_form(backoff: u64) {
            let mut packed = Packed::UNTIMED;
            for (form, lost) in [(Form::Wide, 33), (Form::Rated, 25)] {
                packed.set_previous(backoff, form);
                let kept = packed.previous(form);
                prop_assert!(kept <= backoff && backoff - kept <= backoff >> lost, "{form:?}");
            }
            let narrow = backoff >> 24;
            packed.set_previous(narrow, Form::Narrow);
            prop_assert_eq!(packed.previous(Form::Narrow), narrow);
        }

        #[cfg(feature = "rate")]
        #[test]
        fn the_number_of_a_refusal_leaves_the_rest(
            failures in 0..=COUNT, backoff in 0u64..1 << 26, epoch: u8, other: u8,
        ) {
            let mut packed = Packed::started(5, failures);
            packed.set_paid(Paid::Throttled);
            packed.set_previous(backoff, Form::Rated);
            packed.set_in_flight(other);
            packed.set_in_flight(epoch);
            prop_assert!(packed.is_in_flight() && packed.is_held());
            packed.spend();
            prop_assert_eq!((packed.land(), packed.land()), (Some(epoch), None));
            prop_assert_eq!((packed.failures(), packed.paid()), (failures, Paid::Throttled));
            prop_assert_eq!(packed.previous(Form::Rated), backoff);
        }

        #[test]
        fn what_is_set_leaves_the_rest(
            started: u64, failures in 0..=COUNT, narrow in 0u64..1 << 40, paid in 0..3usize,
        ) {
            let paid = [Paid::Nothing, Paid::Transient, Paid::Throttled][paid];
            let mut packed = Packed::started(started, 0);
            packed.set_failures(failures);
            packed.set_paid(paid);
            packed.set_previous(narrow, Form::Narrow);
            let now = started.wrapping_add(5);
            prop_assert!(packed.elapsed(|| now).abs_diff(5) <= 1);
            prop_assert_eq!((packed.failures(), packed.paid()), (failures, paid));
            prop_assert_eq!(packed.previous(Form::Narrow), narrow);
            prop_assert_eq!(packed.is_held(), paid != Paid::Nothing);
            packed.spend();
            prop_assert_eq!((packed.failures(), packed.paid()), (failures, paid));
            prop_assert_eq!((packed.previous(Form::Narrow), packed.is_held()), (narrow, false));
        }
    }
}
