//! A read takes 20 ms, two hops of |N(10, 2)| ms, and some reads take 20 times as long. A second request cuts the tail;
//! how many more requests does it cost?

use std::cell::{Cell, RefCell};
use std::time::Duration;

use backoff_cloud::{Hedge, Policy, TimedOut};
use rand::RngExt as _;
use rand::rngs::SmallRng;

use crate::executor::{self, Time};
use crate::results::Results;
use crate::row::Hop;
use crate::runs::Crew;
use crate::stats::{Mean, percentile};
use crate::{Error, Findings};

const LOAD: &str = "requests for a call";
const P99: &str = "99 % ended in, ms";

const WORKERS: u32 = 50;
const CALLS: u32 = 20_000;
const POLICY: Policy = Policy::exponential();

/// How often, and from which call on, a request is slow.
#[derive(Clone, Copy)]
struct Service {
    name: &'static str,
    slow: f64,
    /// After half of the calls, each request is as slow.
    declines: bool,
}

const fn service(name: &'static str, slow: f64) -> Service {
    let declines = false;
    Service {
        name,
        slow,
        declines,
    }
}

const SERVICES: [Service; 4] = [
    service("no reply is slow", 0.0),
    service("2 % are slow", 0.02),
    service("20 % are slow", 0.2),
    Service {
        declines: true,
        ..service("2 % are slow, then all", 0.02)
    },
];

/// When a second request begins.
#[derive(Clone, Copy)]
enum Way {
    Never,
    After(Duration),
    P95,
}

impl Way {
    const ALL: [Self; 3] = [
        Self::Never,
        Self::After(Duration::from_millis(40)),
        Self::P95,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Never => "no hedge",
            Self::After(_) => "Hedge::after(40 ms)",
            Self::P95 => "Hedge::p95()",
        }
    }
}

/// What happened: the number of requests, and how long each call took, in nanoseconds.
struct Outcome {
    requests: u32,
    took: Vec<u64>,
}

struct Server<'a> {
    time: Time,
    rng: RefCell<&'a mut SmallRng>,
    hop: Hop,
    service: Service,
    calls: u32,
    begun: Cell<u32>,
    requests: Cell<u32>,
    took: RefCell<Vec<u64>>,
}

impl Server<'_> {
    async fn read(&self) -> Result<(), TimedOut> {
        self.requests.set(self.requests.get() + 1);
        let nanos = {
            let rng = &mut self.rng.borrow_mut();
            let nanos = self.hop.draw(rng) + self.hop.draw(rng);
            let has_declined = self.service.declines && self.begun.get() > self.calls / 2;
            let is_slow = rng.random_bool(self.service.slow) || has_declined;
            nanos * if is_slow { 20 } else { 1 }
        };
        self.time.after(nanos).await;
        Ok(())
    }

    async fn call(&self, hedge: Option<&Hedge>) {
        let began = self.time.nanos();
        let call = POLICY.retry(|| self.read());
        let call = call.runtime((self.time.clone(), &self.rng));
        let done = match hedge {
            Some(hedge) => call.hedge(hedge).await,
            None => call.await,
        };
        if done.is_ok() {
            let took = self.time.nanos() - began;
            self.took.borrow_mut().push(took);
        }
    }
}

/// Workers with so many calls in all.
fn run(service: Service, way: Way, hop: Hop, calls: u32, rng: &mut SmallRng) -> Outcome {
    let hedge = match way {
        Way::Never => None,
        Way::After(delay) => Some(Hedge::after(delay)),
        Way::P95 => Some(Hedge::p95()),
    };
    let server = Server {
        time: Time::default(),
        rng: RefCell::new(rng),
        hop,
        service,
        calls,
        begun: Cell::default(),
        requests: Cell::default(),
        took: RefCell::default(),
    };
    let workers = (0..WORKERS).map(|_| {
        let (server, hedge) = (&server, hedge.as_ref());
        async move {
            while server.begun.get() < calls {
                server.begun.set(server.begun.get() + 1);
                server.call(hedge).await;
            }
        }
    });
    executor::run(&server.time, workers);
    Outcome {
        requests: server.requests.get(),
        took: server.took.into_inner(),
    }
}

/// Each way with each service.
pub(crate) fn findings(seeds: u64) -> Result<Findings, Error> {
    let hop = Hop::published()?;
    let crew = Crew::new(seeds, SERVICES.len() * Way::ALL.len());
    let mut results = Results::new(
        &["service", "way"],
        &[LOAD, "half ended in, ms", P99, "99.9 % ended in, ms"],
    );
    for service in SERVICES {
        for way in Way::ALL {
            let experiment = format!("{}, {}", service.name, way.name());
            let outcomes = crew.run(&experiment, |rng| run(service, way, hop, CALLS, rng));
            results.add([service.name, way.name()], means(&outcomes));
        }
    }
    drop(crew);
    Ok(Findings {
        title: format!("{CALLS} reads of {WORKERS} workers, {seeds} seeds."),
        results,
        remarks: "slow: a request takes 20 times as long.\n".to_owned(),
        charts: Vec::new(),
    })
}

fn means(outcomes: &[Outcome]) -> Vec<Option<Mean>> {
    let load = |outcome: &Outcome| f64::from(outcome.requests) / outcome.took.len() as f64;
    let ended = |share| {
        let ended = |outcome: &Outcome| percentile(&outcome.took, share);
        Mean::of(
            outcomes
                .iter()
                .filter_map(ended)
                .map(|nanos| nanos as f64 / 1e6),
        )
    };
    vec![
        Mean::of(outcomes.iter().map(load)),
        ended(0.5),
        ended(0.99),
        ended(0.999),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hedge_cuts_the_tail_for_few_requests() {
        let crew = Crew::silent(5);
        let hop = Hop::published().unwrap();
        let measured = |service, way| {
            let outcomes = crew.run("", |rng| run(service, way, hop, 5_000, rng));
            let means = means(&outcomes);
            [means[0], means[2]].map(|mean| mean.unwrap().mean)
        };
        for service in SERVICES {
            let [_, without] = measured(service, Way::Never);
            for way in &Way::ALL[1..] {
                let [load, p99] = measured(service, *way);
                let name = format!("{}, {}: {load}, {p99} ms", service.name, way.name());
                // The ten tokens of the start are 0.002.
                assert!(load <= 1.0521, "{name}");
                if service.name == "2 % are slow" {
                    assert!(p99 < without / 2.0, "{name}, without: {without}");
                }
                assert!(p99 < without * 1.02, "{name}, without: {without}");
            }
        }
    }
}
