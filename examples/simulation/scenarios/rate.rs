//! Calls that meet a limit of so many a second. A call takes two hops of |N(10, 2)| ms. Nobody gives up.

use std::time::Duration;

use backoff_cloud::{Jitter, Policy, codes};

use super::*;
use crate::load::rated;

/// Base 1 s, cap 64 s.
const THROTTLED: Policy = Policy::exponential()
    .max_attempts(Policy::UNLIMITED)
    .max_retry_after(Duration::from_secs(86_400))
    .on(codes![429]);

const fn throttled(name: &'static str, policy: Policy) -> Strategy {
    Strategy::new(name, policy, Work::Call)
}

const BATCH: [Strategy; 3] = [
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

const HINTS: [(&str, Hint); 3] = [
    ("no Retry-After", Hint::Nothing),
    ("Retry-After: 1", Hint::Next),
    ("Retry-After in turn", Hint::InTurn),
];

/// Many calls come at once.
pub(crate) fn batch() -> Scenario {
    let title = "500 calls at once against a limit of 50 a second";
    let labels = ["Retry-After", "strategy"];
    let mut scenario = Scenario::new(title, labels, &[CALLS, HERD, ALL]);
    for (name, hint) in HINTS {
        let load = Load {
            limits: &[BUCKET],
            hint,
            ..Load::IDLE.crowd(500)
        };
        scenario.add(name, load, &BATCH, &[]);
    }
    scenario.series = |outcome| arrivals(outcome, SECOND / 10, 125);
    scenario.picture = Some(("batch-calls", batch_drawn));
    scenario
}

fn batch_drawn(findings: &Findings) -> Chart {
    let panel = |strategy: &Strategy| {
        let line = |(number, (name, _)): (usize, (&str, Hint))| {
            let mut points = findings.points([name, strategy.name], 0..125, 0.1);
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
    chart(
        findings,
        "Jitter spreads the calls. The same Retry-After for all brings them back together, unless the policy has spread_retry_after",
        "500 calls at once against a limit of 50 a second. The first tenth of a second, in which all arrive, is not drawn.",
        BATCH.iter().map(panel).collect(),
    )
}

/// What calls do that a service refuses.
pub(super) const WAYS: [Strategy; 3] = [
    throttled("full jitter", THROTTLED),
    throttled("Rate, from 429s", THROTTLED).sharing(|it| rated(it, false)),
    throttled("Rate, with headers", THROTTLED).sharing(|it| rated(it, true)),
];

/// One process with 100 workers and 3,000 jobs.
const ONE: Load = Load {
    limits: &[BUCKET],
    workers: 100,
    jobs: 3_000,
    ..Load::IDLE
};

const ROWS: &[Row] = rows![ONE;
    "bucket of 1 s, 10 workers" { workers: 10, } (1.06, 1.10);
    "bucket of 1 s, 100 workers" {} (1.06, 1.10);
    // The first burst of 500 calls costs 0.15 alone.
    "bucket of 1 s, 500 workers" { workers: 500, } (1.18, 1.10);
    "leaky bucket, 100 workers" { limits: &[LEAKY], } (1.06, 1.10);
    "leaky bucket, 500 workers" { workers: 500, limits: &[LEAKY], } (1.18, 1.10);
    "windows of 60 s" { limits: &[MINUTES], jobs: 12_000, } (1.06, 1.10);
    "bucket of 1 s, Retry-After" { hint: Hint::Next, } (1.06, 1.10);
    "ten processes, bucket of 1 s" { processes: 10, workers: 200, jobs: 1_000, } (1.12, 1.08);
    "ten processes, leaky bucket" { processes: 10, workers: 200, jobs: 1_000, limits: &[LEAKY], } (1.12, 1.08);
    "windows of 60 s, Retry-After" { limits: &[MINUTES], jobs: 12_000, hint: Hint::Next, } (1.06, 1.10);
    "ten processes, windows of 10 s" { limits: &[TENTHS], processes: 10, workers: 200, jobs: 1_000, } (1.35, 1.25);
    "50 processes, windows of 10 s" { limits: &[TENTHS], processes: 50, workers: 1_000, jobs: 200, } (1.75, 1.45);
];

pub(crate) fn rate() -> Scenario {
    let title = "Calls against a limit of 50 a second";
    let mut scenario = Scenario::new(title, ["limit", "strategy"], &[EACH, TIME, DONE]);
    for (name, load, most) in ROWS {
        scenario.add(name, *load, &WAYS[..2], &limits(*most));
    }
    scenario
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{measure, missed};

    #[test]
    fn full_jitter_loses_what_a_rate_keeps() {
        let mut scenario = rate();
        scenario.experiments.retain(|it| it.name == ROWS[1].0);
        let findings = measure(&scenario, 3);
        let of = |strategy, measure: Measure| {
            let mean = findings.results.mean(&[ROWS[1].0, strategy], measure.0);
            mean.unwrap().mean
        };
        // Means of other code for the same model: calls and time.
        for (name, calls, time) in [("full jitter", 1.87, 1.89), ("Rate, from 429s", 1.03, 1.0)] {
            let (found, took) = (of(name, EACH), of(name, TIME));
            assert!((found - calls).abs() < 0.04, "{name}: {found} calls");
            assert!(
                (took / time - 1.0).abs() < 0.12,
                "{name}: {took} times the least"
            );
        }
        assert_eq!(missed(&scenario, &findings.results), [""; 0]);
        // Without what they share, the calls miss the limits.
        scenario.experiments[1].strategy.process = WAYS[0].process;
        let missed = missed(&scenario, &measure(&scenario, 2).results);
        assert_eq!(missed.len(), 2, "{missed:?}");
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
        assert!(herd(&BATCH[1]) > 400.0 && herd(&BATCH[2]) < 80.0);
    }
}
