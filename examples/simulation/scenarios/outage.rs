//! A service is down for half a minute: who makes it worse, and does it come back?
//!
//! 20 client processes share a load of 700 requests a second, which come by chance. The service answers 1,000 a second.
//! Each request makes up to five attempts (base 100 ms, full jitter), and an attempt is cut after a second. Each process
//! has a budget, a breaker or both of its own. The service answers for 10 s, then it is down for 30 s, then it is up for
//! a minute. In other runs it is up, and answers a share of all attempts with an error for three minutes, the last of
//! which is looked at, once the budgets have settled.

use std::time::Duration;

use backoff_cloud::{Breaker, Budget, Policy};

use super::rows;
use crate::axis::Scale;
use crate::chart::{Chart, Line, Panel};
use crate::clock::SECOND;
use crate::load::{Load, Shared, Strategy, Trouble, Work};
use crate::measures::{
    ANSWERED, ATTEMPTS, LAST_REFUSED, LOST, LOST_FOR, NEVER, RECOVERED, REFUSED, in_bins,
};
use crate::scenario::{Findings, Limit, Scenario};

/// What a request does when the service is down.
const REQUEST: Policy = Policy::exponential()
    .base(Duration::from_millis(100))
    .max_attempts(5);

const fn client(name: &'static str, shared: Shared) -> Strategy {
    Strategy::new(name, REQUEST, Work::Call).sharing(shared)
}

fn patient() -> Breaker {
    Breaker::new().opens_at(15, 24)
}

const BREAKER: Strategy = client("breaker", Shared::Breaker(Breaker::new));
const PATIENT: Strategy = client("breaker, 15 of 24", Shared::Breaker(patient));

const CLIENTS: [Strategy; 10] = [
    client("no budget", Shared::Nothing),
    client(
        "20 % of successes",
        Shared::Budget(|| Budget::ratio(0.2, 100)),
    ),
    client(
        "AWS, retry costs 5",
        Shared::Budget(|| Budget::costs(500, 5, 5)),
    ),
    client("AWS, retry costs 14", Shared::Budget(Budget::aws)),
    client("gRPC (10, 0.1)", Shared::Budget(|| Budget::grpc(10, 0.1))),
    Strategy::new("no retry", REQUEST.max_attempts(1), Work::Call),
    BREAKER,
    PATIENT,
    client(
        "breaker, 15 of 24, probes each 5 s",
        Shared::Breaker(|| patient().probe_every(Duration::from_secs(5))),
    ),
    client(
        "breaker, 15 of 24, and AWS, 14",
        Shared::Both(Budget::aws, patient),
    ),
];

/// The other breakers' lines would lie on that of the first one.
const DRAWN: usize = 7;

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
    let measures = &[ATTEMPTS, ANSWERED, LOST, LOST_FOR, RECOVERED, NEVER];
    let mut scenario = Scenario::new(title, &["trouble", "budget or breaker"], measures);
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
        let came = |is_done: bool| {
            let jobs = outcome.jobs.iter();
            let jobs = jobs.filter(|job| !is_done || job.stopped.is_none());
            of(&jobs.map(|job| job.began).collect::<Vec<_>>())
        };
        let answered = came(true).into_iter().zip(came(false));
        let answered = answered.map(|(done, all)| 100.0 * done / all);
        let attempts = of(&outcome.arrived).into_iter().map(|count| count / 2.0);
        vec![attempts.collect(), answered.collect()]
    };
    scenario.draw = |findings| vec![("outage-hanging", drawn(findings))];
    scenario
}

fn drawn(findings: &Findings) -> Chart {
    let lines = |series| {
        let clients = CLIENTS[..DRAWN].iter().enumerate();
        let line = |(number, client): (usize, &Strategy)| {
            let labels = ["down, hanging", client.name];
            findings.line(labels, series, 2.0, (client.name, number))
        };
        clients.map(line).collect::<Vec<_>>()
    };
    let panel = |y, scale, lines| Panel {
        band: Some((10.0, 40.0, "down")),
        ..Panel::new(("time, s", Scale::Linear), (y, scale), lines)
    };
    let mut attempts = lines(0);
    let capacity = [(1.0, 1_000.0), (99.0, 1_000.0)];
    attempts.push(Line::bound("the service's capacity", capacity));
    Chart {
        title: "Without a budget the retries keep the service down after it is up again".to_owned(),
        subtitle: format!(
            "For 30 s a service of 1000/s does not answer; 20 processes call it 700 times a second, with up to five \
             attempts.\nMeans of {} seeds in steps of 2 s; bars show ± 1 standard error where it is larger than the line.",
            findings.seeds
        ),
        panels: vec![
            panel("attempts a second", Scale::Logarithmic, attempts),
            panel("requests that are answered, %", Scale::Linear, lines(1)),
        ],
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

/// The most attempts for a call during the outage, the most calls that are refused after it, and the seconds until the
/// last of them.
const ILL: &[(&str, Load, [f64; 3])] = rows![ONE;
    "hangs, cut after 1 s" {} [0.5, 30.0, 1.0];
    "hangs, cut after 5 s" { cut: 5, } [0.5, 30.0, 1.0];
    "hangs, cut after 30 s" { cut: 30, } [2.0, 100.0, 20.0];
    "refuses" { trouble: Trouble::Refuses, } [0.5, 30.0, 1.0];
    "answers after 8 s, cut after 5 s" { trouble: Trouble::IsSlow, cut: 5, } [0.5, 30.0, 1.0];
    "answers after 8 s, cut after 30 s" { trouble: Trouble::IsSlow, cut: 30, } [2.0, 0.0, 0.0];
    "throttles after 3 s" { trouble: Trouble::Throttles, } [0.5, 30.0, 1.0];
];

/// Whether a breaker spares a service that is down, closes soon after that, and lets most calls through if a part of them
/// fails.
pub(crate) fn check() -> Scenario {
    let title = "A breaker in outages";
    let measures = &[ATTEMPTS, ANSWERED, RECOVERED, REFUSED, LAST_REFUSED];
    let mut scenario = Scenario::new(title, &["trouble", "breaker"], measures);
    for (breaker, attempts, answered) in [(BREAKER, 0.0772, 96.3), (PATIENT, 0.0865, 99.9)] {
        let limits = [
            Limit::AtMost(ATTEMPTS, attempts),
            Limit::AtMost(RECOVERED, 1.0),
        ];
        scenario.add("down, hanging", HANGING, [&breaker], &limits);
        let limits = [Limit::AtLeast(ANSWERED, answered)];
        scenario.add("20 % errors", errors(0.2), [&breaker], &limits);
    }
    for (name, load, [attempts, refused, last]) in ILL {
        let limits = [
            Limit::AtMost(ATTEMPTS, *attempts),
            Limit::AtMost(REFUSED, *refused),
            Limit::AtMost(LAST_REFUSED, *last),
        ];
        scenario.add(name, *load, [&BREAKER], &limits);
    }
    scenario
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::Measure;
    use crate::runs::Crew;
    use crate::scenario::measure;

    #[test]
    fn only_without_a_budget_a_service_that_hung_does_not_come_back() {
        let mut scenario = outage();
        scenario.experiments.drain(20..);
        for experiment in &mut scenario.experiments {
            experiment.load.by_chance.1 = 60;
        }
        scenario.series = |_| Vec::new();
        let findings = measure(&scenario, &Crew::silent(1));
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
