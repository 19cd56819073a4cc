//! Random waits are as documented: the distribution of each jitter, with numbers from a fixed seed, and the
//! independence of the numbers that the library draws.
//!
//! Each test of a distribution also shows its power: the same statistic must reject samples whose range is
//! 1 % off.
use backoff_core::{
    Decision, Jitter, Policy, Random, RetryState, Std,
    delay::{Celery, Delay, Slots},
};
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

/// How far a chi-squared statistic lies above what is expected, in standard deviations (Wilson and
/// Hilferty). Infinite where something was drawn that cannot be.
fn excess(sample: &[f64], shares: &[f64]) -> f64 {
    let mut counts = vec![0u32; shares.len()];
    for x in sample {
        match counts.get_mut(x.round() as usize) {
            Some(count) if (x - x.round()).abs() < 1e-6 => *count += 1,
            _ => return f64::INFINITY,
        }
    }
    let squares = counts.iter().zip(shares).map(|(count, share)| {
        let expected = share * sample.len() as f64;
        (f64::from(*count) - expected).powi(2) / expected
    });
    let chi: f64 = squares.sum();
    let freedom = (shares.len() - 1) as f64;
    let spread = 2.0 / (9.0 * freedom);
    ((chi / freedom).cbrt() - (1.0 - spread)) / spread.sqrt()
}

/// Each whole number below `cells` is drawn equally often; a range that is 1 % off, or one number,
/// does not fit.
fn assert_even(what: &str, sample: &[f64], cells: usize) {
    let even = |cells| vec![1.0 / cells as f64; cells];
    let found = excess(sample, &even(cells));
    assert!(found < 3.0, "{what}: {found}");
    let off = (cells / 100).max(1);
    for wrong in [cells - off, cells + off] {
        let found = excess(sample, &even(wrong));
        assert!(found > 5.0, "{what}: {wrong} goes unnoticed: {found}");
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

/// The jitter, and for a retry and the seconds of the wait before it the range in which all is equally likely.
type Row<'a> = (Jitter, &'a [(u32, u64, f64, f64)]);

#[test]
fn each_jitter_is_uniform_over_its_range() {
    let rows: [Row<'_>; 6] = [
        (
            Jitter::Full,
            &[
                (0, 0, 0.0, 1.0),
                (3, 0, 0.0, 8.0),
                (6, 0, 0.0, 64.0),
                (60, 0, 0.0, 64.0),
            ],
        ),
        (Jitter::Equal, &[(1, 0, 1.0, 2.0), (9, 0, 32.0, 64.0)]),
        // Up to three times the wait before.
        (
            Jitter::Decorrelated,
            &[
                (7, 0, 1.0, 3.0),
                (7, 1, 1.0, 3.0),
                (7, 5, 1.0, 15.0),
                (7, 21, 1.0, 63.0),
            ],
        ),
        (
            Jitter::Additive(SECOND * 3 / 2),
            &[(0, 0, 1.0, 2.5), (4, 0, 16.0, 17.5)],
        ),
        // At the cap too.
        (
            Jitter::AdditiveWithin(3 * SECOND),
            &[
                (0, 0, 1.0, 4.0),
                (4, 0, 16.0, 19.0),
                (6, 0, 61.0, 64.0),
                (40, 0, 61.0, 64.0),
            ],
        ),
        // At the cap of 64 s the wait is 51.2 s, so that a quarter more is the cap.
        (
            Jitter::Proportional(0.25),
            &[(0, 0, 0.75, 1.25), (3, 0, 6.0, 10.0), (30, 0, 38.4, 64.0)],
        ),
    ];
    for (seed, (jitter, ranges)) in (11..).zip(rows) {
        let policy = Policy::exponential().jitter(jitter);
        for (retry, previous, least, most) in ranges {
            let previous = Duration::from_secs(*previous);
            let sample = drawn(seed, |random| policy.backoff(*retry, previous, random));
            let what = format!("{jitter:?}, retry {retry} after {previous:?}");
            assert_uniform(&what, &sample, *least, *most);
        }
    }
    // What leaves nothing to chance: at the cap there is nothing to add, as the documents of Google have it.
    for (jitter, retry, wait) in [(Jitter::None, 3, 8.0), (Jitter::Additive(SECOND), 6, 64.0)] {
        let policy = Policy::exponential().jitter(jitter);
        let sample = drawn(25, |random| policy.backoff(retry, Duration::ZERO, random));
        assert!(sample.iter().all(|drawn| *drawn == wait), "{jitter:?}");
    }
}

/// The wait before as the state machine keeps it, not as a test hands it over.
#[test]
fn decorrelated_jitter_follows_what_the_retry_remembers() {
    let policy = Policy::exponential()
        .max_backoff(Duration::from_secs(1_000))
        .jitter(Jitter::Decorrelated);
    let mut random = Seeded(14);
    let mut shares = [Vec::new(), Vec::new()];
    for _ in 0..SAMPLES {
        let mut retry = RetryState::start(&policy, || Duration::ZERO);
        let mut wait = || next_wait(&mut retry, &policy, || random.next());
        let mut previous = wait();
        for shares in &mut shares {
            let next = wait();
            shares.push((next - 1.0) / (3.0 * previous - 1.0));
            previous = next;
        }
    }
    for mut shares in shares {
        shares.sort_unstable_by(f64::total_cmp);
        assert_uniform("decorrelated, remembered", &shares, 0.0, 1.0);
    }
}

/// The seconds that a retry waits after one more failure.
fn next_wait(retry: &mut RetryState, policy: &Policy, random: impl FnOnce() -> u64) -> f64 {
    match retry.failed(policy, true, || SECOND, random) {
        Decision::Wait(wait) => wait.delay.as_secs_f64(),
        Decision::Stop(reason) => panic!("{reason}"),
    }
}

#[test]
fn what_is_drawn_beyond_the_cap_waits_for_the_cap() {
    let decorrelated = Policy::exponential().jitter(Jitter::Decorrelated);
    let additive = Policy::exponential()
        .max_backoff(SECOND * 65 / 2)
        .jitter(Jitter::Additive(SECOND));
    for (what, policy, least, cap, most) in [
        ("decorrelated", decorrelated, 1.0, 64.0, 120.0),
        ("additive", additive, 32.0, 32.5, 33.0),
    ] {
        let sample = drawn(15, |random| policy.backoff(5, 40 * SECOND, random));
        let free: Vec<_> = sample.iter().copied().filter(|x| *x < cap).collect();
        assert_uniform(what, &free, least, cap);
        let capped = (sample.len() - free.len()) as f64;
        let share = (most - cap) / (most - least);
        let expected = share * SAMPLES as f64;
        let deviation = (expected * (1.0 - share)).sqrt();
        assert!((capped - expected).abs() < 2.0 * deviation, "{what}");
        // Had the range been 1 % longer, it would show.
        let longer = (most - least) * 1.01;
        let off = (1.0 - (cap - least) / longer) * SAMPLES as f64;
        assert!((capped - off).abs() > 2.5 * deviation, "{what}");
    }
}

#[test]
fn slots_are_drawn_equally_often() {
    let slot = Duration::from_micros(512);
    // 128 slots after the 7th collision: one more or less is 1 % of the range.
    for (collision, cells) in [(3, 8), (7, 128), (10, 1_024), (15, 1_024)] {
        for mut sample in of_both(19, Slots::new(slot), Policy::slots(slot), collision - 1) {
            sample.iter_mut().for_each(|x| *x /= slot.as_secs_f64());
            assert_even("slots", &sample, cells);
        }
    }
}

/// The waits before a retry, from an algorithm alone and from the policy that uses it.
fn of_both(seed: u64, alone: impl Delay, policy: Policy, retry: u32) -> [Vec<f64>; 2] {
    let by_policy = |random| policy.backoff(retry, Duration::ZERO, random);
    let alone = |random| alone.delay(retry, Duration::ZERO, random);
    [
        drawn(seed, |random| alone(random).expect("it goes on")),
        drawn(seed + 1, by_policy),
    ]
}

#[test]
fn celerys_whole_seconds_are_drawn_equally_often() {
    let alone = || Celery::new(1, 600).full_jitter(true);
    // 0..=64 and 0..=128.
    for (retry, cells) in [(6, 65), (7, 129)] {
        for sample in of_both(21, alone(), Policy::celery(1), retry) {
            assert_even("Celery", &sample, cells);
        }
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

/// Draws the waits of one retry by the library's own numbers.
fn series() -> Vec<f64> {
    let mut retry = RetryState::start(&CONSTANT, || SECOND);
    let mut wait = || next_wait(&mut retry, &CONSTANT, || Std.random());
    (0..SAMPLES).map(|_| wait()).collect()
}

#[test]
fn the_waits_of_one_retry_and_of_two_and_of_clones_are_independent() {
    let [a, b] = [series(), series()];
    assert_unrelated("one retry", &a, &a[1..]);
    assert_unrelated("two retries", &a, &b);
    assert_unrelated("two retries, one late", &a, &b[1..]);
    assert!(correlation(&pairs(&a, &a)) > RELATED);

    let original = CONSTANT.waits();
    let [a, b] = [original.clone(), original.clone()].map(|waits| -> Vec<f64> {
        let waits = waits.take(SAMPLES);
        waits.map(|wait| wait.as_secs_f64()).collect()
    });
    assert_eq!((a.len(), b.len()), (SAMPLES, SAMPLES));
    assert_ne!(a[..8], b[..8]);
    assert_unrelated("two clones", &a, &b);

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
