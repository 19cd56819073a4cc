//! What a wait is on average, computed and not drawn.

use super::{growth::Growth, jitter::Spread};

/// How finely the distribution of a wait is kept that the next one depends on.
const QUANTILES: usize = 64;

/// The wait before the retry that was asked for last, as far as the next mean depends on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mean {
    previous: Option<[f64; QUANTILES]>,
}

impl Mean {
    /// The mean wait before retry `n`, in nanoseconds. To be asked for each retry in its turn.
    pub(crate) fn of(
        &mut self,
        growth: Growth,
        spread: Spread,
        base: u64,
        cap: u64,
        n: u32,
    ) -> f64 {
        let plain = |cap| growth.delay(base, cap, n) as f64;
        let most = cap as f64;
        match spread {
            Spread::None => plain(cap),
            Spread::Full => plain(cap) / 2.0,
            Spread::Equal => plain(cap) * 0.75,
            Spread::Decorrelated => self.decorrelated(base.min(cap) as f64, most),
            Spread::Additive(0) => plain(cap),
            Spread::Additive(added) => {
                let (plain, added) = (plain(cap), added as f64);
                // What is drawn beyond the cap counts as what is left up to it.
                let left = added.min(most - plain);
                plain + left - left * left / (2.0 * added)
            }
            Spread::AdditiveWithin(added) => {
                let added = added.min(cap);
                plain(cap - added) + added as f64 / 2.0
            }
            Spread::Proportional(share) => plain((most / (1.0 + share)) as u64),
            Spread::Slots if base == 0 => 0.0,
            Spread::Slots => (growth.delay(base, cap, n) / base) as f64 * base as f64 / 2.0,
            Spread::WholeSeconds(unit) => {
                let seconds = growth.delay(base, u64::MAX, n) / unit;
                let whole = (cap / unit).min(seconds);
                let below = whole as f64 * (whole as f64 + 1.0) / 2.0 * unit as f64;
                (below + (seconds - whole) as f64 * most) / (seconds as f64 + 1.0)
            }
        }
    }

    fn decorrelated(&mut self, base: f64, cap: f64) -> f64 {
        let previous = self.previous.unwrap_or([base; QUANTILES]);
        let mut waits = [0.0; QUANTILES * QUANTILES];
        for (i, wait) in waits.iter_mut().enumerate() {
            let drawn = (i % QUANTILES) as f64 + 0.5;
            let most = 3.0 * previous[i / QUANTILES];
            *wait = (base + (most - base) * drawn / QUANTILES as f64).min(cap);
        }
        waits.sort_unstable_by(f64::total_cmp);
        let mut quantiles = [0.0; QUANTILES];
        for (quantile, waits) in quantiles.iter_mut().zip(waits.chunks_exact(QUANTILES)) {
            *quantile = waits.iter().sum::<f64>() / QUANTILES as f64;
        }
        self.previous = Some(quantiles);
        quantiles.iter().sum::<f64>() / QUANTILES as f64
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use crate::{delay::jitter::Jitter, facts::fault::Class, policy::Policy};
    use core::time::Duration;

    /// Draws each wait often and compares; the seeds are fixed.
    fn agrees(policy: Policy, within: f64) {
        const SAMPLES: u32 = 20_000;
        let policy = policy.max_attempts(9);
        let mut rng = SmallRng::seed_from_u64(7);
        let mut sums = [0.0; 8];
        for _ in 0..SAMPLES {
            let mut previous = 0;
            for (n, sum) in sums.iter_mut().enumerate() {
                let random = rng.u64(..);
                previous = policy.backoff_nanos(Class::Transient, n as u32, previous, || random);
                *sum += previous as f64;
            }
        }
        let planned: Vec<_> = policy.schedule().collect();
        assert_eq!(planned.len(), 8);
        for (planned, sum) in planned.iter().zip(sums) {
            let (drawn, mean) = (sum / f64::from(SAMPLES), planned.mean.as_nanos() as f64);
            let error = (drawn - mean).abs() / mean.max(1.0);
            assert!(error < within, "{policy:?}: {planned:?}: {drawn} drawn");
        }
    }

    #[test]
    fn the_mean_is_what_is_drawn_on_average() {
        let second = Duration::from_secs(1);
        for jitter in [
            Jitter::None,
            Jitter::Full,
            Jitter::Equal,
            Jitter::Additive(second),
            Jitter::Additive(100 * second),
            Jitter::AdditiveWithin(second),
            Jitter::AdditiveWithin(Duration::MAX),
            Jitter::Proportional(0.2),
            Jitter::Slots,
            Jitter::WholeSeconds,
        ] {
            agrees(Policy::exponential().jitter(jitter), 0.03);
            agrees(
                Policy::fibonacci(3 * second)
                    .jitter(jitter)
                    .max_backoff(20 * second),
                0.03,
            );
        }
        agrees(Policy::slots(second), 0.03);
        agrees(Policy::celery(3), 0.03);
        agrees(Policy::exponential().jitter(Jitter::Decorrelated), 0.03);
        agrees(
            Policy::exponential()
                .jitter(Jitter::Decorrelated)
                .max_backoff(5 * second),
            0.03,
        );
    }
}
