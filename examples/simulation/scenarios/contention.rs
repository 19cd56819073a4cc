//! Clients that write one row with optimistic concurrency: the model of the AWS Architecture Blog's "Exponential Backoff
//! And Jitter". Each reads the row and writes it under the version that it has read.

use std::time::Duration;

use backoff_cloud::{Codes, Jitter, Policy, codes, iam};

use crate::axis::Scale;
use crate::chart::{Chart, Line, Panel};
use crate::load::{Load, Strategy, Work};
use crate::measures::{
    BOTH, COMPLETION, GAVE_UP, HALF, Measure, PRODUCT, READS, READS_FOR_WRITE, SLOWEST, WAIT,
    WRITES, WRITES_EACH,
};
use crate::quota::Quota;
use crate::scenario::{Findings, Limit, Scenario};

const BASE: Duration = Duration::from_millis(5);

/// Nobody gives up. The first wait is `BASE` · 2¹: the exponent of AWS' simulation counts from 1.
const ROW: Policy = Policy::exponential()
    .base(BASE.saturating_mul(2))
    .max_backoff(Duration::from_secs(2))
    .max_attempts(u32::MAX)
    .on(codes![Codes::ABORTED]);

const fn change(name: &'static str, policy: Policy) -> Strategy {
    Strategy::new(name, policy, Work::Change)
}

const fn paced(policy: Policy) -> Strategy {
    Strategy::new("paced", policy, Work::Paced)
}

/// Processes of ten clients each, which combine what their clients change, and keep a pace.
const fn combined(policy: Policy) -> Strategy {
    Strategy {
        together: 10,
        ..Strategy::new("combined by tens", policy, Work::Paced)
    }
}

const FULL: Strategy = change("full", ROW.jitter(Jitter::Full));

/// The article's, under its names, and ours.
const STRATEGIES: [Strategy; 7] = [
    change("none", ROW.base(Duration::ZERO).jitter(Jitter::None)),
    change("exponential", ROW.jitter(Jitter::None)),
    FULL,
    change("equal", ROW.jitter(Jitter::Equal)),
    change("decorrelated", ROW.base(BASE).jitter(Jitter::Decorrelated)),
    paced(ROW),
    combined(ROW),
];

const CLIENTS: [u32; 5] = [10, 20, 50, 100, 200];
const LABELS: [&str; 2] = ["clients", "strategy"];

pub(crate) fn row() -> Scenario {
    let title = "Clients that write one row at the same time";
    let measures = &[WRITES, COMPLETION, READS, PRODUCT];
    let mut scenario = Scenario::new(title, &LABELS, measures);
    for clients in CLIENTS {
        let load = Load::IDLE.crowd(clients);
        scenario.add(&clients.to_string(), load, &STRATEGIES, &[]);
    }
    scenario.remarks = "\
calls: writes. N clients need at least N.
product: (calls / N - 1) * (time / (N * 20 ms) - 1), where 20 ms is the time from a read to the write after it.
         It is 1 for writers who write at random moments and, all together, at a constant rate. Less is better.
combined by tens: each ten clients are one process, which combines their changes and keeps a pace.
";
    scenario.draw = |findings| {
        vec![
            ("contention-calls", writes_drawn(findings)),
            ("contention-completion", completion_drawn(findings)),
        ]
    };
    scenario
}

fn writes_drawn(findings: &Findings) -> Chart {
    let headline = |name| findings.mean(["200", name], WRITES, 0);
    let title = format!(
        "200 clients: {} calls with full jitter, {} at a pace, {} combined by tens",
        headline("full"),
        headline("paced"),
        headline("combined by tens"),
    );
    let least = CLIENTS.map(|clients| (clients.into(), clients.into()));
    let least = Line::bound("one call each", least);
    drawn(findings, title, (WRITES, "write calls", 1.0), least)
}

fn completion_drawn(findings: &Findings) -> Chart {
    let headline = |name| {
        let mean = findings.results.mean(&["200", name], COMPLETION.0);
        mean.unwrap_or_default().mean / 1e3
    };
    let title = format!(
        "200 clients: {:.1} s with full jitter, {:.1} s at a pace, {:.1} s combined by tens",
        headline("full"),
        headline("paced"),
        headline("combined by tens"),
    );
    // Each reads the row the moment it was written. There is one hop before all that and one after.
    let least = CLIENTS.map(|clients| (clients.into(), f64::from(2 * clients + 2) * 0.01));
    let least = Line::bound("one after the other", least);
    let y = (COMPLETION, "time until all are done, s", 1e-3);
    drawn(findings, title, y, least)
}

fn drawn(
    findings: &Findings,
    title: String,
    (measure, y, factor): (Measure, &'static str, f64),
    least: Line,
) -> Chart {
    let names = STRATEGIES.map(|strategy| strategy.name);
    let mut lines = findings.results.lines(names, &CLIENTS, measure.0, factor);
    lines.push(least);
    let scale = Scale::Logarithmic;
    Chart {
        title,
        subtitle: format!(
            "Clients that write one row with optimistic concurrency: hops of |N(10, 2)| ms, base 5 ms, cap 2 s. \
             Means of {} seeds; bars show ± 1 standard error where it is larger than the mark.",
            findings.seeds
        ),
        panels: vec![Panel::new(("clients", scale), (y, scale), lines)],
    }
}

/// Whether a pace is worth being the default: crowds of all sizes, near and far, that come at once and one after the
/// other.
pub(crate) fn check() -> Scenario {
    let title = "A pace and full jitter";
    let measures = &[WRITES, WAIT, COMPLETION, PRODUCT, READS_FOR_WRITE, BOTH];
    let mut scenario = Scenario::new(title, &["hops, clients", "strategy"], measures);
    // Full jitter's first wait, 10 ms, is short beside the window of far clients: the last of three is done later at
    // a pace.
    let ratios = [(WRITES, 1.01), (WAIT, 1.3), (COMPLETION, 1.45)];
    let ratios = ratios.map(|(measure, most)| Limit::Times(measure, FULL.name, most));
    for (mean, deviation) in [(10.0, 2.0), (10.0, 8.0), (100.0, 20.0)] {
        for (over, come) in [(0.0, "at once"), (2.0, "over 2 s")] {
            for clients in [1, 2, 3, 5, 10, 20, 50, 100, 200] {
                let load = Load {
                    hop: (mean, deviation),
                    over,
                    ..Load::IDLE.crowd(clients)
                };
                let mut limits = ratios.to_vec();
                if (mean, deviation, over, clients) == (10.0, 2.0, 0.0, 100) {
                    limits.push(Limit::AtMost(PRODUCT, 5.0));
                    limits.push(Limit::AtMost(READS_FOR_WRITE, 1.3));
                }
                let name = format!("|N({mean}, {deviation})| ms, {clients} {come}");
                scenario.add(&name, load, [&FULL], &[]);
                scenario.add(&name, load, [&paced(ROW)], &limits);
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
        ("waits up to 1.28 s", short, 3_650.0, 15_700.0),
        ("waits up to 64 s", iam::READ_MODIFY_WRITE, 860.0, 17_200.0),
    ] {
        let load = Load {
            hop: (3.0, 1.0),
            limits: const { &[Quota::bucket(60.0, 1.0)] },
            ..Load::IDLE.crowd(128)
        };
        let limits = [Limit::AtMost(BOTH, calls), Limit::AtMost(COMPLETION, time)];
        let name = format!("128 writers, 60 calls/s, {waits}");
        scenario.add(&name, load, [&paced(policy)], &limits);
    }
    scenario
}

/// Base 1 s, cap 64 s, deadline 300 s.
const IAM: Policy = iam::READ_MODIFY_WRITE;

/// What a client of IAM may do about a conflict.
const IAM_STRATEGIES: [Strategy; 9] = [
    change("none", IAM.base(Duration::ZERO).jitter(Jitter::None)),
    change("exponential", IAM.jitter(Jitter::None)),
    change("full", IAM.jitter(Jitter::Full)),
    change("equal", IAM.jitter(Jitter::Equal)),
    change("decorrelated", IAM.jitter(Jitter::Decorrelated)),
    change("Google's formula", IAM.jitter(iam::DOCUMENTED_JITTER)),
    change(
        "Google's, drawn within cap",
        IAM.jitter(Jitter::AdditiveWithin(Duration::from_secs(1))),
    ),
    paced(IAM),
    combined(IAM),
];

const IAM_CLIENTS: [u32; 4] = [10, 20, 50, 100];

/// The same at the scale of IAM, where a client gives up after a deadline.
pub(crate) fn iam() -> Scenario {
    let title = "Clients that change one IAM policy at the same time";
    let measures = &[GAVE_UP, WRITES_EACH, HALF, SLOWEST];
    let mut scenario = Scenario::new(title, &LABELS, measures);
    for clients in IAM_CLIENTS {
        let load = Load {
            hop: (250.0, 50.0),
            ..Load::IDLE.crowd(clients)
        };
        scenario.add(&clients.to_string(), load, &IAM_STRATEGIES, &[]);
    }
    scenario.remarks = "\
Times to success are those of the clients that did not give up.
\"none\" gives up after five attempts, as every policy that never waits.
combined by tens: each ten clients are one process, which combines their changes and keeps a pace.
";
    scenario.draw = |findings| vec![("iam-contention", iam_drawn(findings))];
    scenario
}

fn iam_drawn(findings: &Findings) -> Chart {
    let gave_up = |name| findings.mean(["100", name], GAVE_UP, 0);
    let panel = |y, scale, measure: Measure| {
        let names = IAM_STRATEGIES.iter().map(|strategy| strategy.name);
        let mut lines = findings.results.lines(names, &IAM_CLIENTS, measure.0, 1.0);
        let table_only = [
            "none",
            "equal",
            "decorrelated",
            "Google's, drawn within cap",
        ];
        lines.retain(|line| !table_only.contains(&&*line.name));
        Panel::new(("clients", Scale::Logarithmic), (y, scale), lines)
    };
    Chart {
        title: format!(
            "Of 100 clients {} % give up with Google's formula, {} % with full jitter, {} % at a pace",
            gave_up("Google's formula"),
            gave_up("full"),
            gave_up("paced"),
        ),
        subtitle: format!(
            "Clients that change one IAM policy: hops of |N(250, 50)| ms, base 1 s, cap 64 s, deadline 300 s. \
             Means of {} seeds; bars show ± 1 standard error where it is larger than the mark.",
            findings.seeds
        ),
        panels: vec![
            panel("clients that give up, %", Scale::Linear, GAVE_UP),
            panel("write calls per client", Scale::Logarithmic, WRITES_EACH),
            panel("p99 of the time to success, s", Scale::Logarithmic, SLOWEST),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::Crew;
    use crate::scenario::measure;
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

    /// Clients, strategy, calls and milliseconds to completion, each with its standard error: means of 1,000 seeds, from a
    /// run of the same model by other code. Debug builds are slow, so there are only the smaller crowds.
    const PUBLISHED: [(&str, &str, [f64; 2], [f64; 2]); 10] = [
        ("10", "none", [51.2, 0.1], [382.0, 1.0]),
        ("10", "exponential", [50.8, 0.1], [3462.0, 41.0]),
        ("10", "full", [39.1, 0.1], [467.0, 4.0]),
        ("10", "equal", [42.6, 0.1], [733.0, 6.0]),
        ("10", "decorrelated", [37.6, 0.1], [436.0, 3.0]),
        ("20", "none", [152.9, 0.4], [606.0, 2.0]),
        ("20", "exponential", [150.1, 0.4], [14392.0, 90.0]),
        ("20", "full", [100.3, 0.1], [993.0, 8.0]),
        ("20", "equal", [108.1, 0.1], [1633.0, 15.0]),
        ("20", "decorrelated", [101.2, 0.2], [818.0, 5.0]),
    ];

    #[test]
    fn meets_the_published_table() {
        let mut scenario = row();
        scenario
            .experiments
            .retain(|it| ["10", "20"].contains(&&*it.name));
        let findings = measure(&scenario, &Crew::silent(100));
        for (clients, name, calls, completion) in PUBLISHED {
            for (measure, [mean, error]) in [(WRITES, calls), (COMPLETION, completion)] {
                let found = findings.results.mean(&[clients, name], measure.0).unwrap();
                let off = found.distance(Mean { mean, error });
                assert!(off.abs() < 3.0, "{clients} {name}: {found}, off by {off}");
            }
        }
    }

    #[test]
    fn a_pace_holds_its_limits_and_a_wait_without_jitter_misses_them() {
        let verdict = |strategy: Strategy| {
            let mut scenario = check();
            scenario
                .experiments
                .retain(|it| it.name == "|N(10, 2)| ms, 100 at once");
            scenario.experiments[1].strategy = strategy;
            let findings = measure(&scenario, &Crew::silent(20));
            crate::scenario::check(&scenario, &findings.results).unwrap()
        };
        let (text, missed) = verdict(paced(ROW));
        assert_eq!(missed, 0, "{text}");
        let (text, missed) = verdict(change("paced", ROW.jitter(Jitter::None)));
        assert!(missed >= 3 && text.contains("MISSED"), "{text}");
    }

    #[test]
    fn with_full_jitter_nobody_gives_up_at_the_scale_of_iam() {
        let mut scenario = iam();
        scenario.experiments.retain(|it| it.name == "50");
        let findings = measure(&scenario, &Crew::silent(10));
        let of = |name| {
            findings
                .results
                .mean(&["50", name], GAVE_UP.0)
                .unwrap()
                .mean
        };
        assert_eq!((of("full"), of("paced")), (0.0, 0.0));
        assert!(of("Google's formula") > 10.0);
    }
}
