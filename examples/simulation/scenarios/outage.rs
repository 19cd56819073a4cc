//! A service is down for half a minute: who makes it worse, and does it come back?
//!
//! 20 client processes share a load of 700 requests a second, which come by chance. The service answers 1,000 a second.
//! Each request makes up to five attempts (base 100 ms, full jitter), and an attempt is cut after a second. Each process
//! has a budget, a breaker or both of its own. The service answers for 10 s, then it is down for 30 s, then it is up for
//! a minute. In other runs it is up, and answers a share of all attempts with an error for three minutes, the last of
//! which is looked at, once the budgets have settled.

use std::time::Duration;

use backoff_cloud::{Breaker, Budget, Policy};

use super::*;
use crate::clock::SECOND;
use crate::load::{Trouble, leaked};
use crate::service::Job;

/// What a request does when the service is down.
const REQUEST: Policy = Policy::exponential()
    .base(Duration::from_millis(100))
    .max_attempts(5);

const fn client(name: &'static str, process: fn(Policy) -> Process) -> Strategy {
    Strategy::new(name, REQUEST, Work::Call).sharing(process)
}

fn slower() -> Breaker {
    Breaker::new().opens_at(15, 24)
}

fn with(policy: Policy, budget: Budget) -> Process {
    policy.budget(leaked(budget)).into()
}

fn under(policy: Policy, breaker: Breaker) -> Process {
    policy.breaker(leaked(breaker)).into()
}

const BREAKER: Strategy = client("breaker", |p| under(p, Breaker::new()));
const SLOWER: Strategy = client("breaker, 15 of 24", |p| under(p, slower()));

/// The first seven are drawn: the other breakers' lines would lie on that of the first one.
const CLIENTS: [Strategy; 10] = [
    Strategy::new("no budget", REQUEST, Work::Call),
    client("20 % of successes", |p| with(p, Budget::ratio(0.2, 100))),
    client("AWS, retry costs 5", |p| with(p, Budget::costs(500, 5, 5))),
    client("AWS, retry costs 14", |p| with(p, Budget::aws())),
    client("gRPC (10, 0.1)", |p| with(p, Budget::grpc(10, 0.1))),
    Strategy::new("no retry", REQUEST.max_attempts(1), Work::Call),
    BREAKER,
    SLOWER,
    client("breaker, 15 of 24, probes each 5 s", |p| {
        under(p, slower().probe_every(Duration::from_secs(5)))
    }),
    client("breaker, 15 of 24, and AWS, 14", |p| {
        under(p.budget(leaked(Budget::aws())), slower())
    }),
];

const HANGING: Load = Load {
    hop: (0.0, 0.0),
    capacity: 1_000,
    trouble: Trouble::Hangs,
    ill: (10, 40),
    processes: 20,
    by_chance: (700, 100),
    cut: 1,
    ..Load::IDLE
};

const REFUSING: Load = Load {
    trouble: Trouble::Refuses,
    ..HANGING
};

const fn errors(share: f64) -> Load {
    Load {
        trouble: Trouble::Errors(share),
        ill: (0, 180),
        by_chance: (700, 180),
        ..HANGING
    }
}

/// Every budget and every breaker in every trouble.
pub(crate) fn outage() -> Scenario {
    let title = "A service of 1000/s at a load of 700/s from 20 processes";
    let labels = ["trouble", "budget or breaker"];
    let measures = &[ATTEMPTS, ANSWERED, LOST, LOST_FOR, RECOVERED, NEVER];
    let mut scenario = Scenario::new(title, labels, measures);
    for (name, load) in [
        ("down, refusing", REFUSING),
        ("down, hanging", HANGING),
        ("5 % errors", errors(0.05)),
        ("20 % errors", errors(0.2)),
    ] {
        scenario.add(name, load, &CLIENTS, &[]);
    }
    scenario.remarks = "\
attempts, answered, given up: during the trouble. recovered after: the mean of the runs that recovered within a minute.
";
    scenario.series = |outcome| {
        let of = |times: &[u64]| in_bins(times, 2 * SECOND, 50);
        let attempts = of(&outcome.arrived).into_iter().map(|count| count / 2.0);
        let came = |is_asked: fn(&&Job) -> bool| {
            let jobs = outcome.jobs.iter().filter(is_asked);
            of(&jobs.map(|job| job.began).collect::<Vec<_>>()).into_iter()
        };
        let answered = came(|job| job.stopped.is_none()).zip(came(|_| true));
        let answered = answered.map(|(done, all)| 100.0 * done / all);
        vec![attempts.collect(), answered.collect()]
    };
    scenario.draw = |findings| vec![("outage-hanging", drawn(findings))];
    scenario
}

fn drawn(findings: &Findings) -> Chart {
    let panel = |y, scale, series| {
        let line = |(number, client): (usize, &Strategy)| {
            let points = findings.points(["down, hanging", client.name], series, 2.0);
            Line::measured(client.name, number, points)
        };
        let lines = CLIENTS[..7].iter().enumerate().map(line).collect();
        let mut panel = Panel::new(("time, s", Linear), (y, scale), lines);
        panel.band = Some((10.0, 40.0, "down"));
        panel
    };
    let mut attempts = panel("attempts a second", Logarithmic, 0);
    let capacity = [(1.0, 1_000.0), (99.0, 1_000.0)];
    attempts
        .lines
        .push(Line::bound("the service's capacity", capacity));
    Chart {
        title: "Without a budget the retries keep the service down after it is up again".to_owned(),
        subtitle: subtitle(
            "For 30 s a service of 1000/s does not answer; 20 processes call it 700 times a second, with up to five attempts.",
            findings.seeds,
        ),
        panels: vec![attempts, panel("requests that are answered, %", Linear, 1)],
    }
}

/// 50 calls a second of one process, to a service that is ill for 15 s.
const ONE: Load = Load {
    capacity: 0,
    work: 50.0,
    ill: (10, 25),
    processes: 1,
    by_chance: (50, 70),
    ..HANGING
};

/// The most attempts for a call during the trouble, and the most seconds until the last call is refused after it.
const ILL: &[Row] = rows![ONE;
    "hangs, cut after 1 s" {} (0.12, 0.65);
    "hangs, cut after 5 s" { cut: 5, } (0.40, 0.60);
    "hangs, cut after 30 s" { cut: 30, } (1.05, 18.0);
    "refuses" { trouble: Trouble::Refuses, } (0.036, 0.60);
];

/// Whether a breaker spares a service that is down, closes soon after that, and lets most calls through if a part of them
/// fails.
pub(crate) fn check() -> Scenario {
    let measures = &[ATTEMPTS, ANSWERED, RECOVERED, REFUSED];
    let mut scenario = Scenario::new("A breaker in outages", ["trouble", "breaker"], measures);
    for (breaker, attempts, answered) in [(BREAKER, 0.0772, 96.3), (SLOWER, 0.0865, 99.9)] {
        let limits = [
            Limit::at_most(ATTEMPTS, attempts),
            Limit::at_most(RECOVERED, 1.0),
        ];
        scenario.add("down, hanging", HANGING, &[breaker], &limits);
        let limits = [Limit::at_least(ANSWERED, answered)];
        scenario.add("20 % errors", errors(0.2), &[breaker], &limits);
    }
    for (name, load, (attempts, refused)) in ILL {
        let limits = [
            Limit::at_most(ATTEMPTS, *attempts),
            Limit::at_most(REFUSED, *refused),
        ];
        scenario.add(name, *load, &[BREAKER], &limits);
    }
    scenario
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::measure;

    #[test]
    fn only_without_a_budget_a_service_that_hung_does_not_come_back() {
        let mut scenario = outage();
        scenario.experiments.drain(20..);
        for experiment in &mut scenario.experiments {
            experiment.load.by_chance.1 = 60;
        }
        scenario.series = |_| Vec::new();
        let findings = measure(&scenario, 1);
        let of = |trouble, client: usize, measure: Measure| {
            let labels = [trouble, CLIENTS[client].name];
            findings.results.mean(&labels, measure.0).map(|it| it.mean)
        };
        let (refusing, hanging) = ("down, refusing", "down, hanging");
        let near = |found: Option<f64>, mean: f64| (found.unwrap() - mean).abs() < 0.05;
        assert!(near(of(refusing, 0, ATTEMPTS), 4.95));
        assert!(near(of(hanging, 0, ATTEMPTS), 4.62));
        assert_eq!(of(hanging, 0, NEVER), Some(100.0));
        // The budgets and the breakers, with the most attempts.
        for (client, most) in [(2, 1.1), (3, 1.05), (4, 1.01), (5, 1.0), (6, 0.1)] {
            for trouble in [refusing, hanging] {
                let attempts = of(trouble, client, ATTEMPTS).unwrap();
                assert!(attempts <= most, "{trouble}, {client}: {attempts}");
                let recovered = of(trouble, client, RECOVERED).unwrap();
                assert!(recovered <= 3.0, "{trouble}, {client}: {recovered}");
            }
        }
    }
}
