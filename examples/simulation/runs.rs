//! The same run over many seeds, on all cores. A seed always gives the same run, whichever thread
//! takes it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use indicatif::{ProgressBar, ProgressStyle};
use rand::SeedableRng as _;
use rand::rngs::SmallRng;

/// The threads, and the bar that tells how far they are.
pub(crate) struct Crew {
    seeds: u64,
    threads: usize,
    bar: ProgressBar,
}

impl Crew {
    /// For a number of experiments, each of which is run with every seed from 0.
    pub(crate) fn new(seeds: u64, experiments: usize) -> Self {
        // Whatever is wrong with the template, a plain bar serves.
        let style = ProgressStyle::with_template("{bar:32} {percent:>3} %  {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::new(seeds * experiments as u64).with_style(style);
        Self::with_bar(seeds, bar)
    }

    /// For tests.
    #[cfg(test)]
    pub(crate) fn silent(seeds: u64) -> Self {
        Self::with_bar(seeds, ProgressBar::hidden())
    }

    fn with_bar(seeds: u64, bar: ProgressBar) -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Self {
            seeds,
            threads,
            bar,
        }
    }

    pub(crate) fn seeds(&self) -> u64 {
        self.seeds
    }

    /// One experiment with every seed; the results stand in the order of the seeds.
    pub(crate) fn run<T: Send>(
        &self,
        experiment: &str,
        run: impl Fn(&mut SmallRng) -> T + Sync,
    ) -> Vec<T> {
        self.bar.set_message(experiment.to_owned());
        let seeds = Mutex::new(0..self.seeds);
        let done = Mutex::new(BTreeMap::new());
        let next = || locked(&seeds).next();
        let work = || {
            while let Some(seed) = next() {
                let result = run(&mut SmallRng::seed_from_u64(seed));
                locked(&done).insert(seed, result);
                self.bar.inc(1);
            }
        };
        thread::scope(|scope| {
            for _ in 0..self.threads {
                scope.spawn(work);
            }
        });
        let done = std::mem::take(&mut *locked(&done));
        done.into_values().collect()
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng as _;

    #[test]
    fn a_seed_gives_the_same_whoever_runs_it() {
        let crew = |threads| {
            let mut crew = Crew::silent(50);
            crew.threads = threads;
            crew
        };
        let (alone, many) = (crew(1), crew(8));
        let draw = |rng: &mut SmallRng| rng.next_u64();
        assert_eq!(alone.run("", draw), many.run("", draw));
        assert_eq!(alone.run("", draw).len(), 50);
    }
}
