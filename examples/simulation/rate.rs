//! The calls of a process meet a limit of 50 a second and share what they learn about it, or nothing. A call
//! takes 20 ms: two hops of |N(10, 2)| ms.

use std::time::Duration;

use backoff_cloud::{Jitter, Policy};

use crate::Error;
use crate::Findings;
use crate::calls::{Load, Outcome, Sharing, run};
use crate::headers::Stated;
use crate::quota::{Hint, LIMIT, Quota, SECOND};
use crate::results::Results;
use crate::row::Hop;
use crate::runs::Crew;
use crate::stats::{Mean, percentile};
use crate::strategies::SHARED;

/// Two hops.
const CALL: Duration = Duration::from_millis(20);

/// The measures, which are the titles of their columns.
pub(crate) const CALLS: &str = "calls for a job";
pub(crate) const TIME: &str = "time / least";
pub(crate) const DONE: &str = "done, %";
const SLOW: &str = "99 % ended in, s";
pub(crate) const FAIR: &str = "Jain's index";
pub(crate) const USED: &str = "90 % used after, s";

/// What is run with every strategy.
#[derive(Clone, Copy)]
pub(crate) struct Experiment {
    pub(crate) name: &'static str,
    pub(crate) load: Load,
    /// Of a call that shares nothing.
    policy: Policy,
    /// The most calls for a job and the longest time of a `Rate`, where other limits than the usual ones hold.
    pub(crate) most: Option<(f64, f64)>,
}

const BUCKET: Quota = Quota::bucket(LIMIT);
const LEAKY: Quota = Quota::leaky(LIMIT);
const MINUTES: Quota = Quota::minutes(LIMIT);

/// One process with 100 workers and 3,000 jobs. No call gives up.
const fn experiment(name: &'static str, quota: Quota) -> Experiment {
    let load = Load {
        jobs: 3_000,
        ..Load::at_once(100, quota)
    };
    let policy = SHARED;
    Experiment {
        name,
        load,
        policy,
        most: None,
    }
}

impl Experiment {
    /// One process with ten workers and jobs for four and a half minutes of 600 calls. The replies state the limit.
    pub(crate) const fn stated(name: &'static str, quota: Quota, stated: Stated) -> Self {
        let mut one = experiment(name, quota).workers(10).jobs(2_700);
        one.load.stated = Some(stated);
        one.load.work = Duration::from_millis(400);
        one.policy = SHARED.max_retry_after(Duration::from_secs(7_200));
        one
    }

    pub(crate) const fn workers(mut self, workers: u32) -> Self {
        self.load.workers = workers;
        self
    }

    /// So many, each with ten workers, do the jobs of one.
    pub(crate) const fn processes(mut self, processes: u32) -> Self {
        self.load.processes = processes;
        self.load.jobs /= processes;
        self.workers(10 * processes)
    }

    pub(crate) const fn jobs(mut self, jobs: u32) -> Self {
        self.load.jobs = jobs;
        self
    }

    pub(crate) const fn working(mut self, millis: u64) -> Self {
        self.load.work = Duration::from_millis(millis);
        self
    }

    pub(crate) const fn hinted(mut self) -> Self {
        self.load.hint = Hint::NextToken;
        self
    }

    /// Ten processes of 20 workers each.
    const fn shared(mut self) -> Self {
        self.load.processes = 10;
        self.workers(200).jobs(1_000)
    }

    /// After a minute the limit is ten times as high.
    const fn raised(mut self) -> Self {
        self.load.quota = self.load.quota.then(RAISED, 10 * LIMIT);
        self
    }

    /// A minute at half the limit, and then 500 jobs at once.
    const fn burst(mut self) -> Self {
        self.load.trickle = 30 * LIMIT as u32;
        self.workers(500).jobs(500)
    }

    /// A service of so many calls a second that refuses whoever goes over for so many seconds, and says so. There are
    /// jobs for 100 s.
    const fn blocked(name: &'static str, per_second: u64, workers: u32, seconds: u64) -> Self {
        let quota = Quota::bucket(per_second).blocking(seconds, false);
        experiment(name, quota)
            .hinted()
            .workers(workers)
            .jobs(100 * per_second as u32)
            .ending(SHARED.max_retry_after(Duration::from_secs(3_600)))
    }

    /// So many processes of twenty workers each, and windows of 10 s.
    const fn windows(name: &'static str, processes: u32) -> Self {
        let mut one = experiment(name, Quota::windows(10, LIMIT)).workers(20 * processes);
        one.load.processes = processes;
        one.jobs(10_000 / processes)
    }

    /// A pause after each refusal without a hint.
    const fn pausing(mut self, seconds: u64) -> Self {
        self.load.pause = Duration::from_secs(seconds);
        self
    }

    pub(crate) const fn at_most(mut self, calls: f64, time: f64) -> Self {
        self.most = Some((calls, time));
        self
    }

    const fn ending(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }
}

const RAISED: Duration = Duration::from_secs(60);

/// More jobs where the first window takes 3,000 at once.
const WINDOWS: u32 = 12_000;

pub(crate) const EXPERIMENTS: &[Experiment] = &[
    experiment("bucket of 1 s, 10 workers", BUCKET).workers(10),
    experiment("bucket of 1 s, 100 workers", BUCKET),
    experiment("bucket of 1 s, 500 workers", BUCKET).workers(500),
    experiment("leaky bucket", LEAKY),
    experiment("leaky bucket, 10 workers", LEAKY).workers(10),
    experiment("leaky bucket, 500 workers", LEAKY).workers(500),
    experiment("windows of 60 s", MINUTES).jobs(WINDOWS),
    experiment("bucket of 1 s, Retry-After", BUCKET).hinted(),
    experiment("leaky bucket, Retry-After", LEAKY).hinted(),
    // Full jitter with these hints needs no call too many, and takes 1.01 times the least time.
    experiment("windows of 60 s, Retry-After", MINUTES)
        .hinted()
        .jobs(WINDOWS)
        .at_most(1.06, 1.10),
    experiment("ten processes, bucket of 1 s", BUCKET).shared(),
    experiment("ten processes, leaky bucket", LEAKY).shared(),
    experiment("limit × 10, bucket of 1 s", BUCKET)
        .raised()
        .jobs(20_000),
    experiment("limit × 10, leaky bucket", LEAKY)
        .raised()
        .jobs(20_000),
    experiment("limit × 10, windows of 60 s", MINUTES)
        .raised()
        .jobs(40_000),
    experiment("trickle, then 500, bucket of 1 s", BUCKET).burst(),
    experiment("trickle, then 500, leaky bucket", LEAKY).burst(),
    experiment("500 workers, up to five attempts", BUCKET)
        .workers(500)
        .ending(SHARED.max_attempts(5)),
    experiment("500 workers, deadline of 60 s", BUCKET)
        .workers(500)
        .ending(SHARED.deadline(RAISED)),
    Experiment::blocked("10/s, a block of 50 s", 10, 100, 50).at_most(1.31, 12.04),
    Experiment::blocked("10/s, a block of 60 s", 10, 100, 60).at_most(1.31, 14.04),
    Experiment::blocked("10/s, a block of 90 s", 10, 100, 90).at_most(1.13, 2.79),
    Experiment::blocked("10/s, a block of 180 s", 10, 100, 180).at_most(1.13, 3.78),
    Experiment::blocked("10/s, a block of 300 s", 10, 100, 300).at_most(1.13, 5.06),
    Experiment::blocked("10/s, a block of 301 s", 10, 100, 301).at_most(1.13, 5.07),
    Experiment::blocked("10/s, a block of 600 s", 10, 100, 600).at_most(1.13, 8.15),
    Experiment::blocked("5/s, a block of 60 s", 5, 40, 60).at_most(1.51, 15.63),
    Experiment::blocked("5/s, a block of 180 s", 5, 40, 180).at_most(1.11, 3.62),
    Experiment::blocked("5/s, a block of 300 s", 5, 40, 300).at_most(1.11, 4.90),
    Experiment::blocked("5/s, a block of 301 s", 5, 40, 301).at_most(1.11, 4.91),
    Experiment::blocked("5/s, a block of 600 s", 5, 40, 600).at_most(1.11, 7.99),
    Experiment::blocked("2/s, a block of 60 s", 2, 10, 60).at_most(2.75, 23.34),
    Experiment::blocked("2/s, a block of 180 s", 2, 10, 180).at_most(1.11, 4.88),
    Experiment::blocked("2/s, a block of 300 s", 2, 10, 300).at_most(1.11, 6.92),
    Experiment::blocked("2/s, a block of 301 s", 2, 10, 301).at_most(1.11, 6.92),
    Experiment::blocked("2/s, a block of 600 s", 2, 10, 600).at_most(1.11, 11.79),
    Experiment::windows("ten processes, windows of 10 s", 10).at_most(1.35, 1.25),
    Experiment::windows("50 processes, windows of 10 s", 50).at_most(1.75, 1.45),
    experiment(
        "a lone call, a block of 60 s without a hint",
        Quota::bucket(1).blocking(60, false),
    )
    .workers(1)
    .jobs(3)
    .at_most(3.5, 40.0)
    .ending(SHARED.max_attempts(8).jitter(Jitter::None)),
    experiment(
        "a block that each call renews",
        Quota::bucket(10).blocking(60, true),
    )
    .jobs(1_000)
    .at_most(1.15, 15.0)
    .pausing(60),
];

/// How many runs there are for each seed.
pub(crate) fn runs(experiments: &[Experiment]) -> usize {
    experiments.iter().flat_map(Experiment::strategies).count()
}

impl Experiment {
    /// Calls that share nothing renew a block for ever, and hear of no quota.
    fn strategies(&self) -> impl Iterator<Item = Sharing> {
        let has_rate_alone = self.load.quota.is_renewed() || self.load.stated.is_some();
        let is_run = move |one: &Sharing| *one == Sharing::Rate || !has_rate_alone;
        Sharing::ALL.into_iter().filter(is_run)
    }

    fn means(&self, outcomes: &[Outcome]) -> Vec<Option<Mean>> {
        let mean = |of: &dyn Fn(&Outcome) -> Option<f64>| Mean::of(outcomes.iter().filter_map(of));
        let of_a_job = |number, outcome: &Outcome| Some(number as f64 / outcome.jobs.len() as f64);
        vec![
            mean(&|outcome| of_a_job(outcome.arrived.len(), outcome)),
            mean(&|outcome| self.time(outcome)),
            mean(&|outcome| of_a_job(100 * done(outcome), outcome)),
            mean(&slow),
            mean(&|outcome| self.fair(outcome)).filter(|_| self.load.processes > 1),
            mean(&used).filter(|_| self.load.quota.is_raised()),
        ]
    }

    /// From the beginning of the workers to the last of their jobs that is done, as a multiple of the time in
    /// which the service can admit as many.
    fn time(&self, outcome: &Outcome) -> Option<f64> {
        let begins = self.load.begins();
        let done = outcome
            .jobs
            .iter()
            .filter(|job| job.is_done && job.began >= begins);
        let count = done.clone().count() as u32;
        let call = CALL + self.load.work;
        let work = call * count.div_ceil(self.load.workers);
        let limit = Duration::from_nanos(self.load.quota.admits(count, begins) - begins) + call;
        let end = done.map(|job| job.ended).max()?;
        Some(seconds(end - begins) / limit.max(work).as_secs_f64())
    }

    /// Jain's index of the rates of the processes, each until its last job is done.
    fn fair(&self, outcome: &Outcome) -> Option<f64> {
        let mut ends = vec![0; self.load.processes as usize];
        for job in &outcome.jobs {
            ends[job.process] = job.ended;
        }
        let rates = || {
            ends.iter()
                .map(|&end| f64::from(self.load.jobs) / seconds(end))
        };
        let squares: f64 = rates().map(|rate| rate * rate).sum();
        Some(rates().sum::<f64>().powi(2) / (squares * ends.len() as f64))
    }
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / SECOND as f64
}

/// Within this time 99 % of the jobs ended after their beginning.
fn slow(outcome: &Outcome) -> Option<f64> {
    let times = outcome.jobs.iter().map(|job| job.ended - job.began);
    percentile(&times.collect::<Vec<_>>(), 0.99).map(seconds)
}

fn done(outcome: &Outcome) -> usize {
    outcome.jobs.iter().filter(|job| job.is_done).count()
}

/// Seconds from the change of the limit until 90 % of it were admitted within a second, or until the last
/// call if they never were.
fn used(outcome: &Outcome) -> Option<f64> {
    const MANY: usize = 9 * LIMIT as usize;
    let change = RAISED.as_nanos() as u64;
    let before = outcome.admitted.partition_point(|&time| time < change);
    let mut all = outcome.admitted[before..].windows(MANY);
    let full = all.find(|times| times[MANY - 1] - times[0] <= SECOND);
    let last = full.unwrap_or(&outcome.admitted).last()?;
    Some(seconds(last.saturating_sub(change)))
}

pub(crate) fn measure(crew: &Crew, experiments: &[Experiment]) -> Result<Results, Error> {
    let hop = Hop::published()?;
    let mut results = Results::new(
        &["limit", "strategy"],
        &[CALLS, TIME, DONE, SLOW, FAIR, USED],
    );
    for experiment in experiments {
        for sharing in experiment.strategies() {
            let title = format!("{}, {}", experiment.name, sharing.name());
            let outcomes = crew.run(&title, |rng| {
                run(&experiment.load, hop, sharing, &experiment.policy, rng)
            });
            let labels = [experiment.name, sharing.name()];
            results.add(labels, experiment.means(&outcomes));
        }
    }
    Ok(results)
}

/// Full jitter, and a `Rate`.
pub(crate) fn findings(seeds: u64) -> Result<Findings, Error> {
    let crew = Crew::new(seeds, runs(EXPERIMENTS));
    Ok(Findings {
        title: format!("Calls against a limit of {LIMIT} a second, {seeds} seeds."),
        results: measure(&crew, EXPERIMENTS)?,
        remarks: format!(
            "{TIME}: until the last job is done, as a multiple of the time that the limit needs.\n\
             {SLOW}: from the first call of a job to its end.\n\
             {FAIR}: of the rates of the processes; 1 if all are the same.\n\
             {USED}: until 90 % of the new limit were admitted within a second, or until the last \
             call.\n"
        ),
        charts: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::Job;

    /// The means of an experiment.
    fn found(one: Experiment, seeds: u64) -> impl Fn(Sharing, &str) -> f64 {
        let results = measure(&Crew::silent(seeds), &[one]).unwrap();
        move |sharing, measure| {
            let mean = results.mean(&[one.name, sharing.name()], measure);
            mean.unwrap().mean
        }
    }

    #[test]
    fn full_jitter_loses_what_a_queue_keeps() {
        let of = found(EXPERIMENTS[1], 3);
        // Means of other code for the same model: calls and time.
        for (sharing, calls, time) in [(Sharing::Nothing, 1.87, 1.89), (Sharing::Rate, 1.03, 1.0)] {
            let (found, took) = (of(sharing, CALLS), of(sharing, TIME));
            assert!((found - calls).abs() < 0.04, "{sharing:?}: {found} calls");
            let off = took / time - 1.0;
            assert!(off.abs() < 0.12, "{sharing:?}: {took} times the least");
            assert_eq!(of(sharing, DONE), 100.0, "{sharing:?}");
        }
    }

    #[test]
    fn who_may_only_try_five_times_gives_up_without_a_queue() {
        let five = EXPERIMENTS[17].jobs(1_000);
        assert!(five.name.ends_with("five attempts"));
        let of = found(five, 2);
        let done = of(Sharing::Nothing, DONE);
        assert!(done < 80.0, "{done}");
        assert_eq!(of(Sharing::Rate, DONE), 100.0);
    }

    #[test]
    fn a_measure_is_what_its_name_says() {
        let ended = |process, began: u64, ended: u64| Job {
            process,
            began: began * SECOND,
            ended: ended * SECOND,
            is_done: true,
        };
        let mut shared = experiment("", BUCKET).shared();
        (shared.load.processes, shared.load.jobs) = (2, 60);
        let outcome = Outcome {
            admitted: (0..2_000)
                .map(|call| RAISED.as_nanos() as u64 + call * SECOND / 449)
                .collect(),
            jobs: vec![
                ended(0, 0, 1),
                ended(1, 0, 2),
                ended(0, 0, 4),
                ended(1, 2, 4),
            ],
            ..Outcome::default()
        };
        // Both processes end at the same time, and one at 4 s and one at 2 s are 1 to 2.
        assert_eq!(shared.fair(&outcome), Some(1.0));
        let unequal = Outcome {
            jobs: outcome.jobs[1..3].to_vec(),
            ..Outcome::default()
        };
        assert_eq!(shared.fair(&unequal), Some(0.9));
        // The bucket admits four calls at once.
        assert!((shared.time(&outcome).unwrap() - 4.0 / 0.02).abs() < 1e-6);
        assert_eq!(slow(&outcome), Some(4.0));
        assert_eq!(used(&outcome), Some(1.0));
        let slower = Outcome {
            admitted: (0..2_000).map(|call| call * SECOND / 20).collect(),
            ..Outcome::default()
        };
        assert_eq!(used(&slower), Some(99.95 - 60.0));
    }
}
