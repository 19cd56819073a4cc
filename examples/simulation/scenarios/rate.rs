//! Calls that meet a limit of so many a second. A call takes two hops of |N(10, 2)| ms. Nobody gives up.

use std::time::Duration;

use backoff_cloud::{Jitter, Policy, codes};

use super::*;
use crate::clock::SECOND;

/// Base 1 s, cap 64 s.
pub(super) const THROTTLED: Policy = Policy::exponential()
    .max_attempts(u32::MAX)
    .max_retry_after(Duration::from_secs(86_400))
    .on(codes![429]);

const fn fixed(name: &'static str, seconds: u64) -> Strategy {
    let policy = Policy::constant(Duration::from_secs(seconds))
        .jitter(Jitter::None)
        .max_attempts(u32::MAX)
        .on(codes![429]);
    Strategy::new(name, policy, Work::Call)
}

pub(super) const fn throttled(name: &'static str, policy: Policy) -> Strategy {
    Strategy::new(name, policy, Work::Call)
}

/// The last three are drawn. Calls with fixed waits come back together, with any hint.
const BATCH: [Strategy; 5] = [
    fixed("fixed 1 s", 1),
    fixed("fixed 5 s", 5),
    throttled("exponential", THROTTLED.jitter(Jitter::None)),
    throttled("exponential + jitter", THROTTLED),
    throttled(
        "jitter, spread_retry_after",
        THROTTLED.spread_retry_after(true),
    ),
];

const BUCKET: Quota = Quota::bucket(50.0, 1.0);
/// Calls are admitted evenly, and may come up to 0.1 s early.
const LEAKY: Quota = Quota::bucket(50.0, 0.1);
const MINUTES: Quota = Quota::windows(3_000.0, 60);
const TENTHS: Quota = Quota::windows(500.0, 10);
const TEN: Quota = Quota::bucket(10.0, 1.0);
const TWO: Quota = Quota::bucket(2.0, 1.0);

const HINTS: [(&str, Hint); 3] = [
    ("no Retry-After", Hint::Nothing),
    ("Retry-After: 1", Hint::Next),
    ("Retry-After in turn", Hint::InTurn),
];

/// Many calls come at once.
pub(crate) fn batch() -> Scenario {
    let title = "500 calls at once against a limit of 50 a second";
    let labels = ["Retry-After", "strategy"];
    let mut scenario = Scenario::new(title, labels, &[CALLS, HERD, HALF, ALL]);
    for (name, hint) in HINTS {
        let load = Load {
            limits: &[BUCKET],
            hint,
            ..Load::IDLE.crowd(500)
        };
        scenario.add(name, load, &BATCH, &[]);
    }
    scenario.remarks = "\
herd: the most calls in a tenth of a second, after the first.
in turn: the service tells each caller a second in which there is room for its call.
";
    scenario.series = |outcome| vec![in_bins(&outcome.arrived, SECOND / 10, 125)];
    scenario.draw = |findings| vec![("batch-calls", batch_drawn(findings))];
    scenario
}

fn batch_drawn(findings: &Findings) -> Chart {
    let herd = |hint, strategy: usize| findings.mean([hint, BATCH[strategy].name], HERD, 0);
    let panel = |strategy: &Strategy| {
        let line = |(number, (name, _)): (usize, (&str, Hint))| {
            let mut points = findings.points([name, strategy.name], 0, 0.1);
            // All calls arrive in the first tenth of a second, so it would set the scale.
            points.remove(0);
            Line::measured(name, number, points)
        };
        let lines = HINTS.into_iter().enumerate().map(line).collect();
        let y = ("calls that arrive within 0.1 s", Linear);
        let mut panel = Panel::new(("time, s", Linear), y, lines);
        panel.title = strategy.name.to_owned();
        panel
    };
    Chart {
        title: format!(
            "With jitter at most {} calls come back within 0.1 s. If the service answers each with \
             \"Retry-After: 1\", {} do; with spread_retry_after, {}",
            herd("no Retry-After", 3),
            herd("Retry-After: 1", 3),
            herd("Retry-After: 1", 4),
        ),
        subtitle: subtitle(
            "500 calls at once against a limit of 50 a second. The first tenth of a second, in which all arrive, is not drawn.",
            findings.seeds,
        ),
        panels: BATCH[2..].iter().map(panel).collect(),
    }
}

const FULL: Strategy = throttled("full jitter", THROTTLED);
const RATE: Strategy = throttled("Rate", THROTTLED).sharing(|it| Process::rated(it, false));

/// One process with 100 workers and 3,000 jobs.
const ONE: Load = Load {
    limits: &[BUCKET],
    workers: 100,
    jobs: 3_000,
    ..Load::IDLE
};

/// A `Rate` also needs no more than full jitter does.
const COMPARED: &[Row] = rows![ONE;
    "bucket of 1 s, 10 workers" { workers: 10, } (1.06, 1.10);
    "bucket of 1 s, 100 workers" {} (1.06, 1.10);
    // The first burst of 500 calls costs 0.15 alone.
    "bucket of 1 s, 500 workers" { workers: 500, } (1.18, 1.10);
    "leaky bucket, 10 workers" { workers: 10, limits: &[LEAKY], } (1.06, 1.10);
    "leaky bucket, 100 workers" { limits: &[LEAKY], } (1.06, 1.10);
    "leaky bucket, 500 workers" { workers: 500, limits: &[LEAKY], } (1.18, 1.10);
    "windows of 60 s" { limits: &[MINUTES], jobs: 12_000, } (1.06, 1.10);
    "bucket of 1 s, Retry-After" { hint: Hint::Next, } (1.06, 1.10);
    "leaky bucket, Retry-After" { limits: &[LEAKY], hint: Hint::Next, } (1.06, 1.10);
    "ten processes, bucket of 1 s" { processes: 10, workers: 200, jobs: 1_000, } (1.12, 1.08);
    "ten processes, leaky bucket" { processes: 10, workers: 200, jobs: 1_000, limits: &[LEAKY], } (1.12, 1.08);
];

/// Here full jitter may need less.
const ALONE: &[Row] = rows![ONE;
    "windows of 60 s, Retry-After" { limits: &[MINUTES], jobs: 12_000, hint: Hint::Next, } (1.06, 1.10);
    "ten processes, windows of 10 s" { limits: &[TENTHS], processes: 10, workers: 200, jobs: 1_000, } (1.35, 1.25);
    "50 processes, windows of 10 s" { limits: &[TENTHS], processes: 50, workers: 1_000, jobs: 200, } (1.75, 1.45);
    "10/s, a block of 60 s" { limits: &[TEN.blocking(60)], hint: Hint::Next, jobs: 1_000, } (1.31, 14.04);
    "10/s, a block of 300 s" { limits: &[TEN.blocking(300)], hint: Hint::Next, jobs: 1_000, } (1.13, 5.06);
    "2/s, a block of 60 s" { limits: &[TWO.blocking(60)], hint: Hint::Next, workers: 10, jobs: 200, } (2.75, 23.34);
];

pub(crate) fn rate() -> Scenario {
    let title = "Calls against a limit of 50 a second";
    let measures = &[EACH, TIME, DONE, P99, FAIR];
    let mut scenario = Scenario::new(title, ["limit", "strategy"], measures);
    for (name, load, most) in COMPARED {
        let mut limits = limits(*most);
        limits.extend([EACH, TIME].map(|measure| Limit::times(measure, FULL.name, 1.02)));
        if load.processes > 1 {
            limits.push(Limit::at_least(FAIR, 0.96));
        }
        scenario.add(name, *load, &[FULL], &[]);
        scenario.add(name, *load, &[RATE], &limits);
    }
    for (name, load, most) in ALONE {
        scenario.add(name, *load, &[RATE], &limits(*most));
    }
    scenario.remarks = "\
time / least: until the last job is done, as a multiple of the time that the limit needs.
Jain's index: of the rates of the processes; 1 if all are the same.
";
    scenario
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{check, measure};

    #[test]
    fn full_jitter_loses_what_a_rate_keeps() {
        let mut scenario = rate();
        scenario.experiments.retain(|it| it.name == COMPARED[1].0);
        let findings = measure(&scenario, 3);
        let of = |strategy, measure: Measure| {
            let mean = findings.results.mean(&[COMPARED[1].0, strategy], measure.0);
            mean.unwrap().mean
        };
        // Means of other code for the same model: calls and time.
        for (name, calls, time) in [("full jitter", 1.87, 1.89), ("Rate", 1.03, 1.0)] {
            let (found, took) = (of(name, EACH), of(name, TIME));
            assert!((found - calls).abs() < 0.04, "{name}: {found} calls");
            assert!(
                (took / time - 1.0).abs() < 0.12,
                "{name}: {took} times the least"
            );
        }
        let (text, missed) = check(&scenario, &findings.results).unwrap();
        assert_eq!(missed, 0, "{text}");
        // Without what they share, the calls miss the limits.
        scenario.experiments[1].strategy.process = FULL.process;
        let findings = measure(&scenario, 2);
        let (text, missed) = check(&scenario, &findings.results).unwrap();
        assert_eq!(missed, 2, "{text}");
    }

    #[test]
    fn a_hint_brings_the_calls_back_together_and_spreading_undoes_it() {
        let mut scenario = batch();
        scenario
            .experiments
            .retain(|it| it.name == "Retry-After: 1");
        let findings = measure(&scenario, 3);
        let herd = |strategy: &Strategy| {
            let mean = findings
                .results
                .mean(&["Retry-After: 1", strategy.name], HERD.0);
            mean.unwrap().mean
        };
        assert!(herd(&BATCH[3]) > 400.0 && herd(&BATCH[4]) < 80.0);
    }
}
