//! Many jobs, done by some workers against a service of their own, and what the service counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use emulator::{Emulator, Reply};
use examples::panel::Bar;
use indicatif::ProgressBar;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::client::{Strategy, allow_policy};
use crate::{Error, Options};

/// How long a call takes.
pub(crate) const LATENCY: Duration = Duration::from_millis(20);
/// How often the service is asked for its counts.
const EVERY: Duration = Duration::from_millis(500);

/// What came of the jobs in one way.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) strategy: Strategy,
    /// Since the beginning, again and again: how many calls the service had admitted and refused.
    samples: Vec<(Duration, [f64; 2])>,
    /// Until the last job had ended.
    pub(crate) took: Duration,
    pub(crate) jobs: u32,
    pub(crate) gave_up: u32,
}

impl Batch {
    /// All that the service counted: the admitted calls and the refused.
    pub(crate) fn calls(&self) -> (u64, u64) {
        let [admitted, refused] = self.samples.last().map_or([0.0; 2], |last| last.1);
        (admitted as u64, refused as u64)
    }

    pub(crate) fn calls_per_job(&self) -> f64 {
        let (admitted, refused) = self.calls();
        (admitted + refused) as f64 / f64::from(self.jobs)
    }

    /// The calls a second over time: the admitted, the refused.
    pub(crate) fn bars(&self) -> Vec<Bar<2>> {
        Bar::between(&self.samples)
    }
}

/// A service whose limit has a bucket of one second: full at first, so that the calls of a second may come
/// at once.
pub(crate) fn service(options: &Options) -> Result<Emulator, Error> {
    Ok(Emulator::builder()
        .latency(LATENCY)
        .rate_limit(options.rate, options.rate)
        .throttle_with(refusal(options))
        .start()?)
}

/// The reply to a call too many. `Retry-After` has whole seconds: one is the least that it can say.
fn refusal(options: &Options) -> Reply {
    let refusal = Reply::status(429);
    if options.hint {
        refusal.retry_after("1")
    } else {
        refusal
    }
}

/// Does all jobs. Each worker takes the next job when it has ended one.
pub(crate) async fn run(
    strategy: Strategy,
    service: Emulator,
    options: &Options,
    bar: ProgressBar,
) -> Result<Batch, Error> {
    let jobs = options.jobs;
    let client = reqwest::Client::new();
    let begun = Arc::new(AtomicU32::new(0));
    let gave_up = Arc::new(AtomicU32::new(0));
    let start = Instant::now();
    let mut workers = JoinSet::new();
    for _ in 0..options.workers {
        let (client, url, bar) = (client.clone(), service.url().to_owned(), bar.clone());
        let (begun, gave_up) = (Arc::clone(&begun), Arc::clone(&gave_up));
        workers.spawn(async move {
            while let job = begun.fetch_add(1, Relaxed)
                && job < jobs
            {
                if allow_policy(strategy.policy, &client, &url, job)
                    .await
                    .is_err()
                {
                    gave_up.fetch_add(1, Relaxed);
                }
                bar.inc(1);
            }
        });
    }

    // Before the first call.
    let mut samples = vec![(Duration::ZERO, [0.0; 2])];
    let mut took = None;
    let mut moments = interval_at(start + EVERY, EVERY);
    moments.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            ended = workers.join_next(), if took.is_none() => match ended {
                Some(ended) => ended?,
                None => took = Some(start.elapsed()),
            },
            _ = moments.tick() => {
                let stats = service.stats();
                let counts = [stats.calls - stats.faults, stats.faults];
                samples.push((start.elapsed(), counts.map(|count| count as f64)));
                bar.set_message(format!("{} calls, {} of them refused", stats.calls, stats.faults));
                // The last one is made after the last job, so that all are as far apart.
                if let Some(took) = took {
                    bar.abandon();
                    return Ok(Batch {
                        strategy,
                        samples,
                        took,
                        jobs,
                        gave_up: gave_up.load(Relaxed),
                    });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backoff_cloud::Policy;
    use clap::Parser as _;

    #[tokio::test]
    async fn jobs_that_gave_up_are_counted() {
        const ONCE: Strategy = Strategy {
            name: "one attempt",
            refused: "",
            policy: &Policy::exponential().max_attempts(1),
        };
        let options = Options::parse_from(["rate", "--rate=10", "--jobs=60", "--workers=60"]);
        let service = service(&options).unwrap();
        let batch = run(ONCE, service, &options, ProgressBar::hidden());
        let batch = batch.await.unwrap();
        let (admitted, refused) = batch.calls();
        assert_eq!((admitted + refused, refused), (60, batch.gave_up.into()));
        assert_eq!(batch.calls_per_job(), 1.0);
        // The bars have all calls.
        let sums = batch.bars().into_iter().fold([0.0; 2], |sums, bar| {
            let seconds = (bar.to - bar.from).as_secs_f64();
            std::array::from_fn(|share| sums[share] + bar.rates[share] * seconds)
        });
        assert_eq!(sums.map(|sum: f64| sum.round() as u64), [admitted, refused]);
    }

    #[test]
    fn a_hint_is_sent_where_it_is_asked_for() {
        for (args, reply) in [
            (&["rate"][..], Reply::status(429)),
            (&["rate", "--hint"], Reply::status(429).retry_after("1")),
        ] {
            assert_eq!(refusal(&Options::parse_from(args)), reply, "{args:?}");
        }
    }
}
