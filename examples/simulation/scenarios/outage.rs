//! A service is down for half a minute: who makes it worse, and does it come back?
//!
//! 20 client processes share a load of 700 requests a second, which come by chance. The service answers 1,000 a second.
//! Each request makes up to five attempts (base 100 ms, full jitter), and an attempt is cut after a second. Each process
//! has a budget, a breaker or both of its own. The service answers for 10 s, then it is down for 30 s, then it is up for
//! a minute. In other runs it is up, and answers a share of all attempts with an error for three minutes, the last of
//! which is looked at, once the budgets have settled.

use std::ops::Range;
use std::time::Duration;

use backoff_cloud::{Breaker, Budget, Policy};

use super::*;
use crate::load::leaked;

/// What a request does when the service is down.
const REQUEST: Policy = Policy::exponential()
    .base(Duration::from_millis(100))
    .max_attempts(5);

const fn client(name: &'static str, process: fn(Policy) -> Process) -> Strategy {
    Strategy::new(name, REQUEST, Work::Request).sharing(process)
}

fn slower() -> Breaker {
    Breaker::new().opens_at(15, 24)
}

fn with(policy: Policy, budget: Budget) -> Process {
    (policy.budget(leaked(budget)), None)
}

fn under(policy: Policy, breaker: Breaker) -> Process {
    (policy.breaker(leaked(breaker)), None)
}

const BREAKER: Strategy = client("breaker", |p| under(p, Breaker::new()));
const SLOWER: Strategy = client("breaker, 15 of 24", |p| under(p, slower()));

const CLIENTS: [Strategy; 10] = [
    Strategy::new("no budget", REQUEST, Work::Request),
    client("20 % of successes", |p| with(p, Budget::ratio(0.2, 100))),
    client("AWS, retry costs 5", |p| with(p, Budget::costs(500, 5, 5))),
    client("AWS, retry costs 14", |p| with(p, Budget::aws())),
    client("gRPC (10, 0.1)", |p| with(p, Budget::grpc(10, 0.1))),
    Strategy::new("no retry", REQUEST.max_attempts(1), Work::Request),
    BREAKER,
    SLOWER,
    client("breaker, 15 of 24, probes each 5 s", |p| {
        under(p, slower().probe_every(Duration::from_secs(5)))
    }),
    client("breaker, 15 of 24, and AWS, 14", |p| {
        under(p.budget(leaked(Budget::aws())), slower())
    }),
];

const DOWN: Load = Load {
    hop: (0.0, 0.0),
    capacity: 1_000,
    ill: (10, 40),
    processes: 20,
    by_chance: (700, 100),
    ..Load::IDLE
};

const ERRORS: Load = Load {
    errors: 0.2,
    ill: (0, 180),
    by_chance: (700, 180),
    ..DOWN
};

const LABELS: [&str; 2] = ["trouble", "budget or breaker"];

/// Every budget and every breaker in every trouble.
pub(crate) fn outage() -> Scenario {
    let title = "A service of 1000/s at a load of 700/s from 20 processes";
    let measures = &[ATTEMPTS, ANSWERED, LOST, LOST_FOR, RECOVERED];
    let mut scenario = Scenario::new(title, LABELS, measures);
    scenario.add("down", DOWN, &CLIENTS, &[]);
    scenario.add("20 % errors", ERRORS, &CLIENTS, &[]);
    scenario.series = |outcome| {
        let attempts = arrivals(outcome, 2 * SECOND, 50).into_iter();
        let answered = shares(&outcome.jobs, (0, 2 * SECOND, 50), is_done);
        attempts.map(|it| it / 2.0).chain(answered).collect()
    };
    scenario.picture = Some(("outage-hanging", drawn));
    scenario
}

fn drawn(findings: &Findings) -> Chart {
    let panel = |y, part: Range<usize>| {
        let line = |(client, name): (usize, _)| {
            let points = findings.points(["down", CLIENTS[client].name], part.clone(), 2.0);
            Line::measured(name, client, points)
        };
        let lines = [(0, "no budget"), (3, "budget")].map(line).into();
        let mut panel = Panel::new(("time, s", Linear), (y, Linear), lines);
        panel.band = Some((10.0, 40.0, "down"));
        panel
    };
    let mut attempts = panel("attempts a second", 0..50);
    let capacity = [(1.0, 1_000.0), (99.0, 1_000.0)];
    attempts.lines.push(Line::bound("capacity", capacity));
    let answered = panel("requests that are answered, %", 50..100);
    let title = "A service hangs for 30 s. Without a budget, retries keep it down";
    let what = "It answers 1,000 calls a second. 20 processes make 700, each with up to five attempts. Budget: Budget::aws().";
    Chart {
        width: PHONE,
        ..chart(findings, title, what, vec![attempts, answered])
    }
}

/// Whether a breaker spares a service that is down, closes soon after that, and lets most calls through if a part of them
/// fails.
pub(crate) fn check() -> Scenario {
    let measures = &[ATTEMPTS, ANSWERED, RECOVERED];
    let mut scenario = Scenario::new("A breaker in outages", LABELS, measures);
    for (breaker, attempts, answered) in [(BREAKER, 0.0772, 96.3), (SLOWER, 0.0865, 99.9)] {
        let limits = [(ATTEMPTS, None, 0.0, attempts), (RECOVERED, None, 0.0, 1.0)];
        scenario.add("down", DOWN, &[breaker], &limits);
        let limits = [(ANSWERED, None, answered, 100.0)];
        scenario.add("20 % errors", ERRORS, &[breaker], &limits);
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
        scenario.experiments.drain(10..);
        for experiment in &mut scenario.experiments {
            experiment.load.by_chance.1 = 60;
        }
        scenario.series = |_| Vec::new();
        let findings = measure(&scenario, 1);
        let of = |client: usize, measure: Measure| {
            let labels = ["down", CLIENTS[client].name];
            findings.results.mean(&labels, measure.0).map(|it| it.mean)
        };
        assert!((of(0, ATTEMPTS).unwrap() - 4.62).abs() < 0.05);
        assert_eq!(of(0, RECOVERED), None);
        // The budgets and the breakers, with the most attempts.
        for (client, most) in [(2, 1.1), (3, 1.05), (4, 1.01), (5, 1.0), (6, 0.1)] {
            let attempts = of(client, ATTEMPTS).unwrap();
            assert!(attempts <= most, "{client}: {attempts}");
            let recovered = of(client, RECOVERED).unwrap();
            assert!(recovered <= 3.0, "{client}: {recovered}");
        }
    }
}
