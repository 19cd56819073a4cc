//! The same run over many seeds, on all cores. A seed always gives the same run, whichever thread takes it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use rand::SeedableRng as _;
use rand::rngs::SmallRng;

/// The results stand in the order of the seeds.
pub(crate) fn runs<T: Send>(seeds: u64, run: impl Fn(&mut SmallRng) -> T + Sync) -> Vec<T> {
    let next = AtomicU64::new(0);
    let work = || {
        let mut done = Vec::new();
        while let seed = next.fetch_add(1, Relaxed)
            && seed < seeds
        {
            done.push((seed, run(&mut SmallRng::seed_from_u64(seed))));
        }
        done
    };
    let mut done = thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let joined = threads.into_iter().map(|it| it.join().expect("no panic"));
        joined.flatten().collect::<Vec<_>>()
    });
    done.sort_by_key(|(seed, _)| *seed);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng as _;

    #[test]
    fn a_seed_gives_the_same_whoever_runs_it() {
        let alone = (0..50).map(|seed| SmallRng::seed_from_u64(seed).next_u64());
        assert_eq!(runs(50, |rng| rng.next_u64()), alone.collect::<Vec<_>>());
    }
}
