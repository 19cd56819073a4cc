//! The number of calls of a policy: whether it ever waits, and how many calls fit into its deadline.

use super::{MOST_ATTEMPTS, NEVER, Policy};
use crate::{
    delay::{exponential, growth::Growth, jitter::Spread},
    facts::fault::FaultKind,
};

impl Policy {
    /// Whether no wait is ever longer than zero, for every random number and every number of failures.
    /// The waits of a custom function are unknown and count as longer than zero.
    pub(super) const fn never_waits(&self) -> bool {
        !self.may_wait(self.base)
            && (self.throttled_base == NEVER || !self.may_wait(self.throttled_base))
    }

    /// Whether a wait from this base can be longer than zero.
    pub(super) const fn may_wait(&self, base: u64) -> bool {
        let cap = self.max_backoff;
        // Like `Growth::delay` for the last counted retry: no wait is shorter than the wait before it.
        let grows = match self.growth {
            Growth::Linear(step) => base > 0 || step > 0,
            Growth::Constant | Growth::Exponential(_) | Growth::Fibonacci | Growth::Slots => {
                base > 0
            }
            Growth::Custom(_) => true,
        };
        // Like `Spread::apply`.
        cap > 0
            && match self.jitter {
                Spread::None | Spread::Full | Spread::Equal => grows,
                Spread::Decorrelated => base > 0,
                Spread::Additive(most) | Spread::AdditiveWithin(most) => grows || most > 0,
                Spread::Proportional(_) => grows && self.jitter.limit(cap) > 0,
                Spread::Slots => base > 0 && base <= cap,
                Spread::WholeSeconds(unit) => self.longest_plain(base) >= unit,
            }
    }

    /// The longest wait without jitter and without a cap.
    const fn longest_plain(&self, base: u64) -> u64 {
        let last = MOST_ATTEMPTS as u64;
        match self.growth {
            Growth::Constant | Growth::Exponential(1.0) => base,
            Growth::Linear(step) => base.saturating_add(step.saturating_mul(last)),
            Growth::Exponential(factor) => {
                let power = exponential::power(factor, MOST_ATTEMPTS);
                if base == 0 {
                    0
                } else {
                    (base as f64 * power + 0.5) as u64
                }
            }
            Growth::Fibonacci if base == 0 => 0,
            Growth::Fibonacci | Growth::Custom(_) => u64::MAX,
            Growth::Slots => base.saturating_mul(1_023),
        }
    }

    /// About how many calls fit into the deadline if each call fails at once, the first call included:
    /// the mean of many simulated calls. `None` if there is no deadline, if the number of attempts is
    /// limited, if the number is too large, or if a custom function gives the waits: the function may
    /// panic for a retry far beyond the retries of a real call.
    pub(super) fn calls_in_time(&self) -> Option<u64> {
        let is_custom = matches!(self.growth, Growth::Custom(_));
        if self.deadline == NEVER || self.attempts() != u32::MAX || is_custom {
            return None;
        }
        let mut lives = Lives::new(self.deadline);
        let mut retry = 0;
        while retry < LIVED && lives.go_on(self, retry) {
            retry += 1;
        }
        let begun = lives.begun();
        // The rest is too long to simulate: from here on, the means are added.
        let further = match lives.mean_left() {
            None => 0.0,
            Some(left) => lives.further(self, retry, left)?,
        };
        Some((1.0 + begun + further + 0.5) as u64)
    }
}

/// The number of simulated calls.
const LIVES: usize = 64;
/// The number of retries of each simulated call that are drawn one by one.
const LIVED: u32 = 256;

/// Simulated calls ("lives") that always fail. The random numbers are always the same, so the result is
/// too.
struct Lives {
    /// The time left of each call; `None` once a wait did not fit.
    left: [Option<u64>; LIVES],
    /// The last wait of each call.
    previous: [u64; LIVES],
    /// The number of retries begun by all calls.
    begun: u64,
    /// The sum and the number of the waits in the second half of the simulation.
    late: (f64, f64),
}

impl Lives {
    const fn new(deadline: u64) -> Self {
        Lives {
            left: [Some(deadline); LIVES],
            previous: [0; LIVES],
            begun: 0,
            late: (0.0, 0.0),
        }
    }

    /// Adds one wait to each call. Returns whether any call continues.
    fn go_on(&mut self, policy: &Policy, retry: u32) -> bool {
        let mut any = false;
        for (life, left) in self.left.iter_mut().enumerate() {
            let Some(before) = *left else { continue };
            let previous = &mut self.previous[life];
            *previous = drawn(policy, retry, *previous, life);
            if retry >= LIVED / 2 {
                self.late.0 += *previous as f64;
                self.late.1 += 1.0;
            }
            *left = before.checked_sub(*previous);
            if left.is_some() {
                self.begun += 1;
                any = true;
            }
        }
        any
    }

    /// The average number of retries that a call has begun.
    fn begun(&self) -> f64 {
        self.begun as f64 / LIVES as f64
    }

    /// The average time left. A call that has ended counts as zero.
    fn mean_left(&self) -> Option<f64> {
        let left: u64 = self
            .left
            .iter()
            .flatten()
            .map(|left| left / LIVES as u64)
            .sum();
        (left > 0).then_some(left as f64)
    }

    /// How many more retries fit into the time left. `None` if the number has no limit.
    fn further(&self, policy: &Policy, from: u32, mut left: f64) -> Option<f64> {
        let mut further = 0.0;
        let mut retry = from;
        while retry < MOST_ATTEMPTS && !policy.remembers() {
            // Adds as many retries at once as have nearly equal waits.
            let step = (retry / 16).min(MOST_ATTEMPTS - retry);
            let wait = mean(policy, retry + step / 2);
            let waits = wait * f64::from(step);
            if waits >= left {
                return Some(further + left / wait);
            }
            left -= waits;
            further += f64::from(step);
            retry += step.max(1);
        }
        let wait = if policy.remembers() {
            self.late.0 / self.late.1
        } else {
            mean(policy, MOST_ATTEMPTS)
        };
        let calls = further + left / wait;
        calls.is_finite().then_some(calls)
    }
}

/// The width of one call's part of the range of random numbers.
const PART: u64 = u64::MAX / LIVES as u64;

/// The mean of the possible waits before this retry, from the middles of all parts of the range.
fn mean(policy: &Policy, retry: u32) -> f64 {
    let waits = (0..LIVES as u64).map(|part| {
        let random = || part * PART + PART / 2;
        policy.backoff_nanos(FaultKind::Transient, retry, || 0, random) as f64
    });
    waits.sum::<f64>() / LIVES as f64
}

/// One of the possible waits. Before each retry, the calls draw from all parts of the range, one part
/// for each call. The assignment of parts to calls is mixed again for each retry, so that earlier draws
/// of a call do not determine later draws.
fn drawn(policy: &Policy, retry: u32, previous: u64, life: usize) -> u64 {
    let bits = mixed(retry);
    let random = part(life as u64, bits) * PART + bits % PART;
    policy.backoff_nanos(FaultKind::Transient, retry, || previous, || random)
}

/// The part from which a call draws. Each call has a different part, because each step of the mix is
/// invertible.
fn part(life: u64, bits: u64) -> u64 {
    const ALL: u64 = LIVES as u64 - 1;
    const { assert!(LIVES.is_power_of_two()) };
    let mut part = life;
    for keys in [bits, bits >> 16, bits >> 32, bits >> 48] {
        part = part.wrapping_mul(keys | 1).wrapping_add(keys >> 8) & ALL;
        part ^= part >> (LIVES.trailing_zeros() / 2);
    }
    part
}

/// A number that looks random, but is always the same for the same retry.
fn mixed(retry: u32) -> u64 {
    let mut bits = (u64::from(retry) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for _ in 0..2 {
        bits ^= bits >> 32;
        bits = bits.wrapping_mul(0xd6e8_feb8_6659_fd93);
    }
    bits ^ bits >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        delay::jitter::Jitter,
        policy::tests::{any_duration, any_policy},
        state::{Decision, RetryState},
    };
    use core::{cell::Cell, time::Duration};
    use proptest::{prelude::*, test_runner::RngSeed};
    use rand::{SeedableRng as _, rngs::SmallRng};

    const SECOND: Duration = Duration::from_secs(1);
    const MILLISECOND: Duration = Duration::from_millis(1);
    const PLAIN: Policy = Policy::exponential().jitter(Jitter::None);

    /// The number of calls if each call fails at once, up to `most`.
    fn played(policy: &Policy, most: u64, mut random: impl FnMut() -> u64) -> u64 {
        let now = Cell::new(Duration::ZERO);
        let mut retry = RetryState::start(policy, || now.get());
        for calls in 1..most {
            match retry.failed(policy, true, || now.get(), &mut random) {
                Decision::Wait(wait) => now.set(now.get() + wait.delay),
                Decision::Stop(_) => return calls,
            }
        }
        most
    }

    fn mean_of_lives(policy: &Policy, lives: u32) -> f64 {
        let mut generator = SmallRng::seed_from_u64(7);
        let calls = (0..lives).map(|_| played(policy, u64::MAX, || generator.next_u64()));
        calls.sum::<u64>() as f64 / f64::from(lives)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn only_where_every_wait_is_zero_the_attempts_are_limited_beside_a_deadline(
            policy in any_policy(),
            throttled in prop_oneof![Just(None), any_duration().prop_map(Some)],
            zero in any::<[bool; 3]>(),
            deadline in any_duration(),
            set in prop_oneof![Just(None), (1u32..100).prop_map(Some)],
        ) {
            let mut policy = policy;
            if zero[0] {
                policy = policy.base(Duration::ZERO);
            }
            if let Some(base) = throttled {
                policy = policy.throttled_base(if zero[1] { Duration::ZERO } else { base });
            }
            // Sometimes the deadline is set first, so the test shows that each setter keeps the limit.
            let mut policy = if zero[2] {
                let base = Duration::from_nanos(policy.base);
                policy.base(SECOND).deadline(deadline).base(base)
            } else {
                policy.deadline(deadline)
            };
            if let Some(set) = set {
                policy = policy.max_attempts(set);
            }
            // With the greatest random number, no wait is longer than the last wait, except for a
            // custom function.
            let longest = |kind| policy.backoff_nanos(kind, MOST_ATTEMPTS, || 0, || u64::MAX);
            let waits = longest(FaultKind::Transient) > 0 || longest(FaultKind::Throttled) > 0;
            let is_custom = matches!(policy.growth, Growth::Custom(_));
            prop_assert!(policy.waits == waits || is_custom && policy.waits, "{policy:?}");
            // The policies of slots, Celery and APUE set a number of attempts themselves.
            let expected = match policy.max_attempts {
                0 if policy.waits => u32::MAX,
                0 => 5,
                set => set,
            };
            prop_assert_eq!(policy.attempts(), expected, "{:?}", policy);
            prop_assert_eq!(policy.attempts_in_time(), expected, "{:?}", policy);
            prop_assert!(!policy.is_simple(0), "the deadline has to be asked");
            if !policy.waits {
                let made = played(&policy, 1_000, || u64::MAX);
                prop_assert_eq!(made, u64::from(expected));
            }
        }
    }

    proptest! {
        // The lives are a sample, so the policies are drawn from a fixed seed.
        #![proptest_config(ProptestConfig {
            cases: 200,
            rng_seed: RngSeed::Fixed(7),
            ..ProptestConfig::default()
        })]

        #[test]
        fn the_number_of_calls_is_that_of_lives_in_virtual_time(
            base in 1u64..2_000,
            cap in 1u64..20_000,
            deadline in 1u64..100_000,
            growth in 0..5,
            factor in prop_oneof![Just(1.0), Just(2.0), 1.0..3.0f64],
            jitter in prop_oneof![
                Just(Jitter::None),
                Just(Jitter::Full),
                Just(Jitter::Equal),
                Just(Jitter::Decorrelated),
                Just(Jitter::Slots),
                Just(Jitter::Additive(700 * MILLISECOND)),
                Just(Jitter::AdditiveWithin(700 * MILLISECOND)),
                (0.0..=1.0f64).prop_map(Jitter::Proportional),
            ],
        ) {
            let base = Duration::from_millis(base);
            let policy = match growth {
                0 => Policy::constant(base),
                1 => Policy::linear(base, base / 3),
                2 => Policy::fibonacci(base),
                _ => Policy::exponential().base(base).factor(factor),
            };
            let policy = policy
                .max_backoff(Duration::from_millis(cap))
                .jitter(jitter)
                .deadline(Duration::from_millis(deadline));
            prop_assume!(policy.waits);
            let told = policy.calls_in_time().expect("a number") as f64;
            let mean = mean_of_lives(&policy, 100);
            // With decorrelated jitter, the simulated calls differ most.
            let share = if jitter == Jitter::Decorrelated { 0.25 } else { 0.15 };
            // The number is a whole one.
            let off = (told - mean).abs();
            prop_assert!(off <= (share * mean).max(0.7), "{told} {mean} {policy:?}");
        }
    }

    /// The first waits decide nearly everything, and each first wait is zero or a whole slot.
    #[test]
    fn few_slots_that_just_fit_are_counted_as_lives_have_them() {
        for slots in 1..8 {
            let base = Duration::from_millis(1_783);
            let policy = Policy::exponential().base(base).jitter(Jitter::Slots);
            let policy = policy.max_backoff(3 * base).deadline(slots * base);
            let told = policy.calls_in_time().expect("a number") as f64;
            let mean = mean_of_lives(&policy, 2_000);
            assert!((told - mean).abs() < 0.6, "{slots} {told} {mean}");
        }
    }

    #[test]
    fn each_life_draws_from_a_part_of_its_own() {
        for retry in 0..1_000 {
            let mut parts: Vec<_> = (0..LIVES as u64)
                .map(|life| part(life, mixed(retry)))
                .collect();
            parts.sort_unstable();
            assert!(parts.into_iter().eq(0..LIVES as u64), "{retry}");
        }
    }

    #[test]
    fn exact_where_nothing_is_drawn() {
        let calls = |policy: Policy, deadline| policy.deadline(deadline).calls_in_time();
        // 1 + 2 + 4 end exactly at the deadline.
        assert_eq!(calls(PLAIN, 7 * SECOND), Some(4));
        assert_eq!(calls(PLAIN, 7 * SECOND - MILLISECOND), Some(3));
        assert_eq!(calls(PLAIN, Duration::ZERO), Some(1));
        assert_eq!(calls(PLAIN.max_attempts(3), SECOND), None);
        assert_eq!(PLAIN.calls_in_time(), None);
        assert_eq!(calls(PLAIN.base(Duration::ZERO), SECOND), None);
    }

    /// The function overflows at the 64th retry.
    #[test]
    fn a_function_is_asked_for_no_number() {
        let doubled = Policy::custom(|n| Duration::from_secs(1 << n));
        let hour = doubled.deadline(3_600 * SECOND);
        let said = hour.to_string();
        assert!(
            said.ends_with("gives up when the next wait would end after 3600s"),
            "{said}"
        );
        assert_eq!(hour.explain().to_string(), said);
    }

    /// Too many retries to draw one by one.
    #[test]
    fn a_year_of_short_waits_is_counted_at_once() {
        let about = |policy: Policy, expected: f64| {
            let calls = policy.calls_in_time().expect("a number") as f64;
            assert!((calls / expected - 1.0).abs() < 0.03, "{calls} {policy:?}");
        };
        let year = 365 * 86_400 * SECOND;
        let nanosecond = Duration::from_nanos(1);
        about(
            Policy::constant(nanosecond)
                .jitter(Jitter::None)
                .deadline(year),
            3.1536e16,
        );
        let hasty = Policy::exponential().max_backoff(10 * MILLISECOND);
        about(hasty.deadline(300 * SECOND), 60_000.0);
        // n · (n + 1) / 2 µs.
        let micro = 1_000 * nanosecond;
        let linear = Policy::linear(micro, micro).jitter(Jitter::None);
        about(linear.deadline(300 * SECOND), 24_495.0);
        let decorrelated = hasty.base(MILLISECOND).jitter(Jitter::Decorrelated);
        let decorrelated = decorrelated.deadline(1_000 * SECOND);
        about(decorrelated, mean_of_lives(&decorrelated, 3));
        // Every wait after the first ones is at the cap.
        about(PLAIN.deadline(year), 365.0 * 86_400.0 / 64.0);
    }
}
