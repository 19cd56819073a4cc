//! A read takes 20 ms, and some reads take 20 times as long. A second request makes the slow reads quicker; how many more
//! requests does it cost?

use std::time::Duration;

use backoff_cloud::{Hedge, Policy};

use super::*;

const fn read(name: &'static str, work: Work) -> Strategy {
    Strategy::new(name, Policy::exponential(), work)
}

const WAYS: [Strategy; 3] = [
    read("no hedge", Work::Call),
    read(
        "Hedge::after(40 ms)",
        Work::Hedged(|| Hedge::after(Duration::from_millis(40))),
    ),
    read("Hedge::p95()", Work::Hedged(Hedge::p95)),
];

/// Which share of the replies is slow.
const SERVICES: [(&str, f64); 3] = [
    ("no reply is slow", 0.0),
    ("2 % are slow", 0.02),
    ("20 % are slow", 0.2),
];

pub(crate) fn hedge() -> Scenario {
    let title = "20,000 reads of 50 workers";
    let mut scenario = Scenario::new(title, ["service", "way"], &[EACH, P99, P999]);
    for (name, slow) in SERVICES {
        let load = Load {
            slow,
            workers: 50,
            jobs: 20_000,
            ..Load::IDLE
        };
        scenario.add(name, load, &WAYS, &[]);
    }
    scenario
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::measure;

    #[test]
    fn a_hedge_cuts_the_tail_for_few_requests() {
        let mut scenario = hedge();
        for experiment in &mut scenario.experiments {
            experiment.load.jobs = 5_000;
        }
        let findings = measure(&scenario, 5);
        for (service, _) in SERVICES {
            let of = |way: &Strategy| {
                let of = |name| findings.results.mean(&[service, way.name], name);
                [EACH.0, P99.0].map(|name| of(name).unwrap().mean)
            };
            let [_, without] = of(&WAYS[0]);
            for way in &WAYS[1..] {
                let [load, p99] = of(way);
                let name = format!("{service}, {}: {load}, {p99} s", way.name);
                // The ten tokens of the start are 0.002.
                assert!(load <= 1.0521, "{name}");
                let most = if service == "2 % are slow" { 0.5 } else { 1.02 };
                assert!(p99 < without * most, "{name}, without: {without}");
            }
        }
    }
}
