//! Random waits are as documented: the distribution of each jitter, with numbers from a fixed seed, and the different
//! numbers that clones and processes draw.
//!
//! The test of a distribution also shows its power: the same statistic must reject samples whose range is 1 % off.
use backoff_core::{Jitter, Policy, Random, Std, delay::Delay as _};
use std::{collections::HashSet, process::Command, time::Duration};

const SECOND: Duration = Duration::from_secs(1);
const SAMPLES: usize = 200_000;

/// SplitMix64: a number for each step of a Weyl sequence.
struct Seeded(u64);

impl Seeded {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Waits in seconds, sorted, each drawn from another number.
fn drawn(seed: u64, mut wait: impl FnMut(u64) -> Duration) -> Vec<f64> {
    let mut random = Seeded(seed);
    let mut sample: Vec<_> = (0..SAMPLES)
        .map(|_| wait(random.next()).as_secs_f64())
        .collect();
    sample.sort_unstable_by(f64::total_cmp);
    sample
}

// Kolmogorov and Smirnov: the greatest distance between two distribution functions, times the root
// of the sample's size. Above 1.63 in one sample of a hundred, above 2.5 in one of 130,000.
const FITS: f64 = 1.63;
const REJECTED: f64 = 2.5;

/// The distance of a sorted sample from `U(least, most)`.
fn distance(sample: &[f64], least: f64, most: f64) -> f64 {
    let n = sample.len() as f64;
    let furthest = sample.iter().enumerate().map(|(i, x)| {
        let expected = ((x - least) / (most - least)).clamp(0.0, 1.0);
        let (below, above) = (i as f64 / n, (i + 1) as f64 / n);
        (expected - below).abs().max((above - expected).abs())
    });
    furthest.fold(0.0, f64::max) * n.sqrt()
}

/// A sorted sample is uniform over the range; samples whose range is 1 % off, at either end and in
/// either direction, are not.
fn assert_uniform(what: &str, sample: &[f64], least: f64, most: f64) {
    let found = distance(sample, least, most);
    assert!(found < FITS, "{what}: {found} from U({least}, {most})");
    for by in [0.99, 1.01] {
        let from_below: Vec<_> = sample.iter().map(|x| least + (x - least) * by).collect();
        let from_above: Vec<_> = sample.iter().map(|x| most - (most - x) * by).collect();
        for off in [from_below, from_above] {
            let found = distance(&off, least, most);
            assert!(found > REJECTED, "{what}: {by} goes unnoticed: {found}");
        }
    }
}

// Decorrelated jitter draws up to three times the wait before. At the cap of 64 s, proportional jitter has a wait of
// 51.2 s, so that a quarter more is the cap. What whole numbers are drawn, the unit tests of the algorithms show.
#[test]
fn each_jitter_is_uniform_over_its_range() {
    use Jitter::{Additive, AdditiveWithin, Decorrelated, Equal, Full, Proportional};
    let [additive, within] = [Additive(SECOND * 3 / 2), AdditiveWithin(3 * SECOND)];
    // The number of the retry and the seconds of the wait before it; the range in which all is equally likely.
    for (seed, (jitter, retry, previous, least, most)) in (11..).zip([
        (Full, 0, 0, 0.0, 1.0),
        (Full, 3, 0, 0.0, 8.0),
        (Full, 60, 0, 0.0, 64.0),
        (Equal, 1, 0, 1.0, 2.0),
        (Equal, 9, 0, 32.0, 64.0),
        (Decorrelated, 7, 0, 1.0, 3.0),
        (Decorrelated, 7, 5, 1.0, 15.0),
        (Decorrelated, 7, 21, 1.0, 63.0),
        (additive, 0, 0, 1.0, 2.5),
        (additive, 4, 0, 16.0, 17.5),
        (within, 0, 0, 1.0, 4.0),
        (within, 6, 0, 61.0, 64.0),
        (within, 40, 0, 61.0, 64.0),
        (Proportional(0.25), 0, 0, 0.75, 1.25),
        (Proportional(0.25), 30, 0, 38.4, 64.0),
    ]) {
        let policy = Policy::exponential().jitter(jitter);
        let previous = Duration::from_secs(previous);
        let sample = drawn(seed, |random| policy.backoff(retry, previous, random));
        let what = format!("{jitter:?}, retry {retry} after {previous:?}");
        assert_uniform(&what, &sample, least, most);
    }
}

/// A clone of the waits draws numbers of its own.
#[test]
fn two_clones_have_different_waits() {
    let waits = Policy::constant(SECOND).max_attempts(9).waits();
    let [a, b] = [waits.clone(), waits].map(|waits| waits.collect::<Vec<_>>());
    assert_eq!((a.len(), b.len()), (8, 8));
    assert_ne!(a, b);
}

/// The test runs itself, four times at once, with this variable set; then it only draws.
const DRAW: &str = "BACKOFF_TEST_DRAWS_ONLY";

#[test]
fn processes_started_at_once_do_not_draw_the_same_numbers() {
    const EACH: usize = 64;
    const MARK: &str = "drawn: ";
    if std::env::var_os(DRAW).is_some() {
        println!();
        (0..EACH).for_each(|_| println!("{MARK}{}", Std.random()));
        return;
    }
    let name = "distributions::processes_started_at_once_do_not_draw_the_same_numbers";
    let processes = [(); 4].map(|()| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(DRAW, "1")
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap()
    });
    let mut different: HashSet<u64> = (0..EACH).map(|_| Std.random()).collect();
    for process in processes {
        let output = process.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let draws = text.lines().filter_map(|line| line.strip_prefix(MARK));
        let draws: Vec<u64> = draws.filter_map(|text| text.parse().ok()).collect();
        assert_eq!(draws.len(), EACH, "{text}");
        different.extend(draws);
    }
    assert_eq!(different.len(), 5 * EACH);
}
