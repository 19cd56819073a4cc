//! The same run over many seeds, on all cores. A seed always gives the same run, whichever thread
//! takes it.

use std::sync::atomic::{AtomicU64, Ordering};
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

    /// One experiment with every seed; the results stand in the order of the seeds.
    pub(crate) fn run<T: Send>(
        &self,
        experiment: &str,
        run: impl Fn(&mut SmallRng) -> T + Sync,
    ) -> Vec<T> {
        self.bar.set_message(experiment.to_owned());
        let next = AtomicU64::new(0);
        let work = || {
            let mut done = Vec::new();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= self.seeds {
                    return done;
                }
                done.push((seed, run(&mut SmallRng::seed_from_u64(seed))));
                self.bar.inc(1);
            }
        };
        let mut done = thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads).map(|_| scope.spawn(work)).collect();
            let mut done = Vec::new();
            for thread in threads {
                match thread.join() {
                    Ok(part) => done.extend(part),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            done
        });
        done.sort_by_key(|&(seed, _)| seed);
        done.into_iter().map(|(_, result)| result).collect()
    }
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
