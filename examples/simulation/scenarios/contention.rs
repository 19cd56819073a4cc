//! Clients that write one [row](crate::row), in many crowds and at the scale of IAM.

use std::time::Duration;

use backoff_cloud::{Codes, Jitter, Policy, codes, iam};

use super::*;
use crate::row::{ROW, change, jittered};

const fn paced(policy: Policy) -> Strategy {
    Strategy::new("paced", policy, Work::Paced)
}

/// Processes of ten clients each, which combine what their clients change, and keep a pace.
const fn combined(policy: Policy) -> Strategy {
    Strategy {
        name: "combined by tens",
        together: 10,
        ..paced(policy)
    }
}

const FULL: Strategy = change("full", ROW);

/// The article's, under its names, and ours.
const STRATEGIES: [Strategy; 7] = [
    change("none", ROW.base(Duration::ZERO).jitter(Jitter::None)),
    jittered("exponential", Jitter::None),
    FULL,
    jittered("equal", Jitter::Equal),
    jittered("decorrelated", Jitter::Decorrelated),
    paced(ROW),
    combined(ROW),
];

const CLIENTS: [u32; 5] = [10, 20, 50, 100, 200];
const LABELS: [&str; 2] = ["clients", "strategy"];

pub(crate) fn row() -> Scenario {
    let title = "Clients that write one row at the same time";
    let mut scenario = Scenario::new(title, LABELS, &[WRITES, CALLS, ALL, PRODUCT]);
    for clients in CLIENTS {
        let load = Load::IDLE.crowd(clients);
        scenario.add(&clients.to_string(), load, &STRATEGIES, &[]);
    }
    scenario.picture = Some(("contention-completion", row_drawn));
    scenario
}

fn row_drawn(findings: &Findings) -> Chart {
    let y = ("time until all are done, s", Logarithmic);
    let mut panel = over_clients(findings, &STRATEGIES, &CLIENTS, y, ALL);
    // Each reads the row the moment it was written. There is one hop before all that and one after.
    let least = CLIENTS.map(|clients| (clients.into(), f64::from(2 * clients + 2) * 0.01));
    panel.lines.push(Line::bound("one after the other", least));
    chart(
        findings,
        "With full jitter clients are done far sooner than without; at a pace, and combined, sooner",
        "Clients that write one row with optimistic concurrency: hops of |N(10, 2)| ms, base 5 ms, cap 2 s.",
        vec![panel],
    )
}

/// Whether a pace is worth being the default: crowds of all sizes, near and far, that come at once and one after the
/// other.
pub(crate) fn check() -> Scenario {
    let measures = &[WRITES, CALLS, WAIT, ALL, PRODUCT];
    let labels = ["hops, clients", "strategy"];
    let mut scenario = Scenario::new("A pace and full jitter", labels, measures);
    for hop @ (mean, deviation) in [(10.0, 2.0), (10.0, 8.0), (100.0, 20.0)] {
        for (over, come) in [(0.0, "at once"), (2.0, "over 2 s")] {
            for clients in [1, 2, 3, 5, 10, 20, 50, 100, 200] {
                let crowd = Load::IDLE.crowd(clients);
                let load = Load { hop, over, ..crowd };
                // Full jitter's first wait, 10 ms, is short beside the window of far clients: the last of three is
                // done later at a pace.
                let mut limits = vec![
                    (WRITES, Some(FULL.name), 0.0, 1.01),
                    (WAIT, Some(FULL.name), 0.0, 1.3),
                    (ALL, Some(FULL.name), 0.0, 1.45),
                ];
                if (deviation, over, clients) == (2.0, 0.0, 100) {
                    limits.push((PRODUCT, None, 0.0, 5.0));
                }
                let name = format!("|N({mean}, {deviation})| ms, {clients} {come}");
                scenario.add(&name, load, &[FULL, paced(ROW)], &limits);
            }
        }
    }
    // Three of four calls are refused: those who wait as long as they may still call 200 times a second. Each refused
    // write is a read for nothing.
    let short = ROW
        .base(Duration::from_millis(20))
        .max_backoff(Duration::from_millis(1_280))
        .on(codes![Codes::ABORTED, 429]);
    for (waits, policy, calls, time) in [
        ("1.28 s", short, 3_650.0, 15.7),
        ("64 s", iam::READ_MODIFY_WRITE, 860.0, 17.2),
    ] {
        let load = Load {
            hop: (3.0, 1.0),
            limits: const { &[Quota::bucket(60.0, 1.0)] },
            ..Load::IDLE.crowd(128)
        };
        let name = format!("128 writers, 60 calls/s, waits up to {waits}");
        let limits = [(CALLS, None, 0.0, calls), (ALL, None, 0.0, time)];
        scenario.add(&name, load, &[paced(policy)], &limits);
    }
    scenario
}

/// Base 1 s, cap 64 s, deadline 300 s.
const IAM: Policy = iam::READ_MODIFY_WRITE;

/// What a client of IAM may do about a conflict.
const IAM_STRATEGIES: [Strategy; 5] = [
    change("exponential", IAM.jitter(Jitter::None)),
    change("Google's formula", IAM.jitter(iam::DOCUMENTED_JITTER)),
    change("full", IAM),
    paced(IAM),
    combined(IAM),
];

/// The same at the scale of IAM, where a client gives up after a deadline.
pub(crate) fn iam() -> Scenario {
    let title = "Clients that change one IAM policy at the same time";
    let mut scenario = Scenario::new(title, LABELS, &[DONE, WRITES_EACH, P99]);
    let hop = (250.0, 50.0);
    let load = Load { hop, ..Load::IDLE };
    for clients in &CLIENTS[..4] {
        let load = load.crowd(*clients);
        scenario.add(&clients.to_string(), load, &IAM_STRATEGIES, &[]);
    }
    scenario.picture = Some(("iam-contention", iam_drawn));
    scenario
}

fn iam_drawn(findings: &Findings) -> Chart {
    let panel = |name, scale, measure| {
        let y = (name, scale);
        over_clients(findings, &IAM_STRATEGIES, &CLIENTS[..4], y, measure)
    };
    chart(
        findings,
        "With Google's formula half of 100 clients give up; with full jitter or at a pace none does",
        "Clients that change one IAM policy: hops of |N(250, 50)| ms, base 1 s, cap 64 s, deadline 300 s.",
        vec![
            panel("clients that succeed, %", Linear, DONE),
            panel("write calls per client", Logarithmic, WRITES_EACH),
            panel("p99 of the time to success, s", Logarithmic, P99),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{measure, missed};
    use crate::service::run;
    use crate::stats::Mean;
    use rand::SeedableRng as _;

    #[test]
    fn clients_conflict_only_if_they_come_together() {
        // One client needs four hops. Of two in step, the second fails at 40 ms, waits 10, and reads
        // and writes once more. Four clients come at 0, 40, 80 and 120 ms.
        for (clients, over, strategy, calls, last) in
            [(1, 0.0, 0, 1, 40), (2, 0.0, 1, 3, 90), (4, 0.16, 1, 4, 160)]
        {
            let load = Load {
                hop: (10.0, 0.0),
                over,
                ..Load::IDLE.crowd(clients)
            };
            let mut rng = rand::rngs::SmallRng::seed_from_u64(0);
            let outcome = run(&load, &STRATEGIES[strategy], &mut rng);
            assert_eq!(outcome.writes, calls, "{clients} clients");
            let ended = outcome.jobs.last().unwrap().ended;
            assert_eq!(ended, last * 1_000_000, "{clients} clients");
        }
    }

    /// Clients, strategy, writes and seconds to completion, each with its standard error: means of 1,000 seeds, from a
    /// run of the same model by other code. Debug builds are slow, so there are only the smaller crowds.
    const PUBLISHED: [(&str, &str, [f64; 2], [f64; 2]); 10] = [
        ("10", "none", [51.2, 0.1], [0.382, 0.001]),
        ("10", "exponential", [50.8, 0.1], [3.462, 0.041]),
        ("10", "full", [39.1, 0.1], [0.467, 0.004]),
        ("10", "equal", [42.6, 0.1], [0.733, 0.006]),
        ("10", "decorrelated", [37.6, 0.1], [0.436, 0.003]),
        ("20", "none", [152.9, 0.4], [0.606, 0.002]),
        ("20", "exponential", [150.1, 0.4], [14.392, 0.09]),
        ("20", "full", [100.3, 0.1], [0.993, 0.008]),
        ("20", "equal", [108.1, 0.1], [1.633, 0.015]),
        ("20", "decorrelated", [101.2, 0.2], [0.818, 0.005]),
    ];

    #[test]
    fn meets_the_published_table() {
        let mut scenario = row();
        scenario
            .experiments
            .retain(|it| ["10", "20"].contains(&&*it.name));
        let findings = measure(&scenario, 100);
        for (clients, name, calls, completion) in PUBLISHED {
            for (measure, [mean, error]) in [(WRITES, calls), (ALL, completion)] {
                let found = findings.results.mean(&[clients, name], measure.0).unwrap();
                let off = found.distance(Mean { mean, error });
                assert!(off.abs() < 3.0, "{clients} {name}: {found}, off by {off}");
            }
        }
    }

    #[test]
    fn a_pace_holds_its_limits_and_a_wait_without_jitter_misses_them() {
        let missed = |strategy: Strategy| {
            let mut scenario = check();
            scenario
                .experiments
                .retain(|it| it.name == "|N(10, 2)| ms, 100 at once");
            scenario.experiments[1].strategy = strategy;
            missed(&scenario, &measure(&scenario, 20).results)
        };
        assert_eq!(missed(paced(ROW)), [""; 0]);
        let without = missed(change("paced", ROW.jitter(Jitter::None)));
        assert!(without.len() >= 3, "{without:?}");
    }

    #[test]
    fn with_full_jitter_nobody_gives_up_at_the_scale_of_iam() {
        let mut scenario = iam();
        scenario.experiments.retain(|it| it.name == "50");
        let findings = measure(&scenario, 10);
        let of = |name| findings.results.mean(&["50", name], DONE.0).unwrap().mean;
        assert_eq!((of("full"), of("paced")), (100.0, 100.0));
        assert!(of("Google's formula") < 90.0);
    }
}
