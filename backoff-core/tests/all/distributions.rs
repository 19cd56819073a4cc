//! Random waits are as documented: the distribution of each jitter, with numbers from a fixed seed, and the
//! independence of the numbers that the library draws.
//!
//! Each test of a distribution also shows its power: the same statistic must reject samples whose range is
//! 1 % off.
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

/// The correlation of two series, times the root of their length: a standard normal number where
/// they have nothing to do with each other.
fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let n = pairs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / n;
    let (a, b) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let (mut both, mut first, mut second) = (0.0, 0.0, 0.0);
    for (x, y) in pairs {
        both += (x - a) * (y - b);
        first += (x - a).powi(2);
        second += (y - b).powi(2);
    }
    both / (first * second).sqrt() * n.sqrt()
}

/// The tests of the library's own numbers draw anew each time they run. So the limits are so wide that no chance
/// passes them: beyond this one lies one number in 10²².
const RELATED: f64 = 10.0;

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

/// A quarter of the whole range, and not of the part below the cap; and the cap for all that is beyond it.
#[test]
fn what_is_drawn_beyond_the_cap_waits_for_the_cap() {
    let decorrelated = Policy::exponential().jitter(Jitter::Decorrelated);
    let additive = Policy::exponential()
        .max_backoff(SECOND * 65 / 2)
        .jitter(Jitter::Additive(SECOND));
    for (policy, quarter, cap) in [(decorrelated, 30.75, 64.0), (additive, 32.25, 32.5)] {
        let waits = [1 << 62, 3 << 62].map(|random| policy.backoff(5, 40 * SECOND, random));
        assert_eq!(
            waits.map(|wait| wait.as_secs_f64()),
            [quarter, cap],
            "{policy}"
        );
    }
}

/// A number as a share of all.
fn share(random: u64) -> f64 {
    random as f64 / 2f64.powi(64)
}

fn pairs(a: &[f64], b: &[f64]) -> Vec<(f64, f64)> {
    a.iter().copied().zip(b.iter().copied()).collect()
}

#[track_caller]
fn assert_unrelated(what: &str, a: &[f64], b: &[f64]) {
    let found = correlation(&pairs(a, b)).abs();
    assert!(found < RELATED, "{what}: {found}");
}

#[test]
fn the_librarys_own_numbers_are_uniform_and_independent() {
    let draws: Vec<_> = (0..SAMPLES).map(|_| share(Std.random())).collect();
    let mut sorted = draws.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let found = distance(&sorted, 0.0, 1.0);
    // Not `FITS`: these numbers are others each time. Above 6.0 in one sample of 10³⁰.
    assert!(found < 6.0, "{found}");
    for lag in [1, 2, 3, 7] {
        assert_unrelated(&format!("lag {lag}"), &draws, &draws[lag..]);
    }
    // One number in 16 drawn twice would show.
    let mut twice = pairs(&draws, &draws[1..]);
    twice
        .iter_mut()
        .step_by(16)
        .for_each(|pair| pair.1 = pair.0);
    assert!(correlation(&twice) > RELATED);
}

const CONSTANT: Policy = Policy::constant(SECOND).max_attempts(1 << 20);

#[test]
fn the_waits_of_one_policy_and_of_clones_are_independent() {
    let original = CONSTANT.waits();
    let [a, b] = [original.clone(), original.clone()].map(|waits| -> Vec<f64> {
        let waits = waits.take(SAMPLES);
        waits.map(|wait| wait.as_secs_f64()).collect()
    });
    assert_eq!((a.len(), b.len()), (SAMPLES, SAMPLES));
    assert_ne!(a[..8], b[..8]);
    assert_unrelated("one", &a, &a[1..]);
    assert_unrelated("two clones", &a, &b);
    assert_unrelated("two clones, one late", &a, &b[1..]);

    // The first wait of each clone of one and the same series, and the next clone's.
    let first = || original.clone().next().unwrap().as_secs_f64();
    let firsts: Vec<_> = (0..SAMPLES).map(|_| first()).collect();
    assert_unrelated("first waits of clones", &firsts, &firsts[1..]);
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
