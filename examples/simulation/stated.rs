//! A service with two limits, requests and tokens a minute, whose replies state what remains of both, as OpenAI's do.
//! Minutes of small jobs, for which the requests are scarce, alternate with minutes of large ones, for which the tokens
//! are.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Duration;

use backoff_cloud::{Fault, Policy, Rate, TimedOut};
use rand::rngs::SmallRng;
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use reqwest::header::HeaderMap;

use crate::axis::Scale;
use crate::chart::{Chart, Panel};
use crate::executor::{self, Time};
use crate::quota::Left;
use crate::results::Results;
use crate::runs::Crew;
use crate::stats::Mean;
use crate::verdict::{Bound, Limit, Verdict};
use crate::{Error, Findings, headers};

const CALLS: &str = "calls for a job";
const TIME: &str = "time / least";

/// Requests and tokens a minute.
const LIMITS: [f64; 2] = [500.0, 80_000.0];
const MINUTE: f64 = 60.0;
/// Half of them with small jobs, half with large ones.
const MINUTES: usize = 10;
const POLICY: Policy = Policy::exponential()
    .max_attempts(100_000)
    .max_retry_after(Duration::from_secs(86_400));

/// How the calls of a process keep the limits.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Jitter,
    Refusals,
    Headers,
    /// One limiter with the right numbers, for all processes.
    Known,
}

impl Way {
    const ALL: [Self; 4] = [Self::Jitter, Self::Refusals, Self::Headers, Self::Known];

    const fn name(self) -> &'static str {
        match self {
            Self::Jitter => "full jitter",
            Self::Refusals => "Rate, from 429s",
            Self::Headers => "Rate, with headers",
            Self::Known => "the limits known",
        }
    }
}

struct Load {
    name: &'static str,
    processes: u32,
    workers: u32,
    /// By how many seconds the stated numbers are late.
    late: f64,
    /// The part of the limits that somebody else uses.
    neighbour: f64,
    /// The most calls for a job, and the longest time, of a `Rate` with headers.
    most: (f64, f64),
}

const fn load(name: &'static str, processes: u32, workers: u32, most: (f64, f64)) -> Load {
    Load {
        name,
        processes,
        workers,
        late: 0.0,
        neighbour: 0.0,
        most,
    }
}

const LOADS: [Load; 8] = [
    load("1 process, 10 workers", 1, 10, (1.02, 1.02)),
    load("1 process, 100 workers", 1, 100, (1.02, 1.02)),
    load("4 processes, 40 workers", 4, 40, (1.04, 1.13)),
    load("4 processes, 100 workers", 4, 100, (1.06, 1.11)),
    load("20 processes, 20 workers", 20, 20, (1.04, 1.06)),
    load("20 processes, 200 workers", 20, 200, (1.08, 1.12)),
    Load {
        late: 1.0,
        ..load(
            "1 process, 100 workers, headers 1 s late",
            1,
            100,
            (1.06, 1.02),
        )
    },
    Load {
        neighbour: 0.3,
        ..load(
            "1 process, 100 workers, others use 30 %",
            1,
            100,
            (1.04, 0.98),
        )
    },
];

#[derive(Fault)]
#[fault(status = 429)]
struct Refused {
    #[fault(retry_after)]
    hint: Option<Duration>,
}

impl From<TimedOut> for Refused {
    fn from(_late: TimedOut) -> Self {
        Refused { hint: None }
    }
}

/// Two buckets that refill steadily. What is left of each, at a time in seconds.
#[derive(Clone, Copy)]
struct Buckets {
    left: [f64; 2],
    at: f64,
}

impl Buckets {
    const FULL: Self = Self {
        left: LIMITS,
        at: 0.0,
    };

    fn settle(&mut self, now: f64) {
        for (left, limit) in self.left.iter_mut().zip(LIMITS) {
            *left = (*left + (now - self.at) * limit / MINUTE).min(limit);
        }
        self.at = now;
    }

    /// How many seconds pass until a request with so many tokens is admitted.
    fn wait(&self, tokens: f64) -> f64 {
        let missing = [1.0 - self.left[0], tokens - self.left[1]];
        let waits = missing.iter().zip(LIMITS);
        waits.fold(0.0, |wait, (missing, limit)| {
            f64::max(wait, missing * MINUTE / limit)
        })
    }

    fn take(&mut self, tokens: f64) {
        self.left[0] -= 1.0;
        self.left[1] -= tokens;
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for ((ending, left), limit) in ["-requests", "-tokens"].iter().zip(self.left).zip(LIMITS) {
            let full_in = (limit - left) * MINUTE / limit;
            headers::state(
                &mut headers,
                ending,
                &Left {
                    limit,
                    left,
                    full_in,
                },
            );
        }
        headers
    }
}

struct Server {
    time: Time,
    buckets: RefCell<Buckets>,
    /// What the replies state, and from when on.
    stated: RefCell<VecDeque<(f64, Buckets)>>,
    late: f64,
    calls: Cell<u32>,
}

impl Server {
    fn now(&self) -> f64 {
        self.time.nanos() as f64 / 1e9
    }

    async fn sleep(&self, seconds: f64) {
        self.time.after((seconds * 1e9) as u64).await;
    }

    /// Whether a request is admitted, and the state of the service that the reply states.
    fn answer(&self, tokens: u32) -> (Result<(), Refused>, Buckets) {
        let mut buckets = self.buckets.borrow_mut();
        buckets.settle(self.now());
        let wait = buckets.wait(tokens.into());
        let hint = Some(Duration::from_secs_f64(wait));
        let reply = match wait > 0.0 {
            true => Err(Refused { hint }),
            false => {
                buckets.take(tokens.into());
                Ok(())
            }
        };
        let mut stated = self.stated.borrow_mut();
        stated.push_back((self.now() + self.late, *buckets));
        while stated.len() > 1 && stated[1].0 <= self.now() {
            stated.pop_front();
        }
        (reply, stated[0].1)
    }

    async fn call(
        &self,
        tokens: u32,
        rng: &RefCell<SmallRng>,
        rate: Option<&Rate>,
    ) -> Result<(), Refused> {
        let draw = |from: f64, to: f64| rng.borrow_mut().random_range(from..to);
        self.sleep(draw(0.02, 0.06)).await;
        self.calls.set(self.calls.get() + 1);
        let (reply, stated) = self.answer(tokens);
        self.sleep(if reply.is_ok() {
            draw(0.2, 0.6)
        } else {
            draw(0.02, 0.06)
        })
        .await;
        if let Some(rate) = rate {
            rate.observe(&stated.headers());
        }
        reply
    }
}

/// The tokens of each job, and the least time for all.
fn jobs(rng: &mut SmallRng) -> (VecDeque<u32>, f64) {
    let mut jobs = VecDeque::new();
    for minute in 0..MINUTES {
        let (mut requests, mut tokens) = (0.0, 0.0);
        while requests < LIMITS[0] && tokens < LIMITS[1] {
            let job = match minute % 2 {
                0 => rng.random_range(20..=150),
                _ => rng.random_range(200..=6_000),
            };
            (requests, tokens) = (requests + 1.0, tokens + f64::from(job));
            jobs.push_back(job);
        }
    }
    let mut buckets = Buckets::FULL;
    for &job in &jobs {
        buckets.settle(buckets.at + buckets.wait(job.into()));
        buckets.take(job.into());
    }
    (jobs, buckets.at)
}

/// Calls for a job, and the time over the least.
fn run(load: &Load, way: Way, rng: &mut SmallRng) -> [f64; 2] {
    let (jobs, least) = jobs(rng);
    let count = jobs.len() as f64;
    let jobs = RefCell::new(jobs);
    let server = Server {
        time: Time::default(),
        buckets: RefCell::new(Buckets::FULL),
        stated: RefCell::default(),
        late: load.late,
        calls: Cell::new(0),
    };
    let known = RefCell::new(Buckets::FULL);
    let rates: Vec<_> = (0..load.processes).map(|_| Rate::new()).collect();
    let workers = (0..load.workers).map(|worker| {
        let rng = RefCell::new(SmallRng::seed_from_u64(rng.next_u64()));
        let (server, jobs, known) = (&server, &jobs, &known);
        let rate = &rates[(worker % load.processes) as usize];
        async move {
            while let Some(job) = { jobs.borrow_mut().pop_front() } {
                if way == Way::Known {
                    loop {
                        let now = server.now();
                        known.borrow_mut().settle(now);
                        let wait = known.borrow().wait(job.into());
                        if wait <= 0.0 {
                            break known.borrow_mut().take(job.into());
                        }
                        server.sleep(wait + 1e-6).await;
                    }
                }
                let heard = (way == Way::Headers).then_some(rate);
                let call = POLICY.retry(|| server.call(job, &rng, heard));
                let call = call.runtime((server.time.clone(), &rng));
                // No call gives up.
                let _done = match way {
                    Way::Refusals | Way::Headers => call.rate(rate).tokens(job).await,
                    Way::Jitter | Way::Known => call.await,
                };
            }
        }
    });
    let workers: Vec<_> = workers
        .map(|worker| Box::pin(worker) as std::pin::Pin<Box<dyn Future<Output = ()>>>)
        .collect();
    let others = async {
        while load.neighbour > 0.0 && !jobs.borrow().is_empty() {
            let _refused = server.answer(160);
            server.sleep(MINUTE / LIMITS[0] / load.neighbour).await;
        }
    };
    let tasks = workers.into_iter().chain([Box::pin(others) as _]);
    executor::run(&server.time, tasks);
    let least = least / (1.0 - load.neighbour);
    [f64::from(server.calls.get()) / count, server.now() / least]
}

fn measure(seeds: u64, ways: &[Way]) -> Results {
    let mut results = Results::new(&["load", "strategy"], &[CALLS, TIME]);
    let crew = Crew::new(seeds, LOADS.len() * ways.len());
    for load in &LOADS {
        for &way in ways {
            let runs = crew.run(load.name, |rng| run(load, way, rng));
            let of = |measure: usize| Mean::of(runs.iter().map(|run| run[measure]));
            results.add([load.name, way.name()], vec![of(0), of(1)]);
        }
    }
    results
}

/// Whether a `Rate` that hears of the quotas keeps them.
pub(crate) fn check(seeds: u64) -> Verdict {
    let results = measure(seeds, &[Way::Headers]);
    let limits = LOADS.iter().flat_map(|load| {
        let (calls, time) = load.most;
        [(CALLS, calls), (TIME, time)].map(|(measure, most)| {
            Some(Limit {
                what: measure.to_owned(),
                bound: Bound::AtMost(most),
                measured: results.mean(&[load.name, Way::Headers.name()], measure)?,
                at: load.name.to_owned(),
            })
        })
    });
    Verdict::new(
        &format!("{}\n", results.table()),
        limits.flatten().collect(),
    )
}

pub(crate) fn findings(seeds: u64) -> Result<Findings, Error> {
    let results = measure(seeds, &Way::ALL);
    let processes = [1, 4, 20];
    let mut drawn = Results::new(&["processes", "strategy"], &[CALLS]);
    for (count, load) in processes.iter().zip([1, 3, 5]) {
        for way in Way::ALL {
            let mean = results.mean(&[LOADS[load].name, way.name()], CALLS);
            drawn.add([&count.to_string(), way.name()], vec![mean]);
        }
    }
    let lines = drawn.lines(Way::ALL.map(Way::name), &processes, CALLS, 1.0);
    let chart = Chart {
        title: "A Rate that hears of quotas is hardly ever refused".into(),
        subtitle: "100 workers, and 200 in 20 processes; 500 requests and 80,000 tokens a minute"
            .into(),
        panels: vec![Panel::new(
            ("processes", Scale::Logarithmic),
            (CALLS, Scale::Linear),
            lines,
        )],
    };
    Ok(Findings {
        title: format!(
            "{seeds} runs of ten minutes of jobs, limits of 500 requests and 80,000 tokens a minute"
        ),
        results,
        remarks: String::new(),
        charts: vec![("quota-calls", chart)],
    })
}
