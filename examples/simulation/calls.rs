//! Callers that meet the limit of a [`Service`](crate::quota): each call is the future of
//! `Policy::retry`, run in virtual time.

use std::cell::{Cell, RefCell};
use std::time::{Duration, SystemTime};

use backoff_cloud::{Policy, Rate, hint};
use rand::RngExt as _;
use rand::rngs::SmallRng;
use reqwest::header::{HeaderMap, RETRY_AFTER};

use crate::executor::{self, Time};
use crate::headers::Stated;
use crate::quota::{Hint, Quota, SECOND, Service, Throttled};
use crate::row::Hop;

/// What the calls of a process share about the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Each call waits for itself, as its policy says.
    Nothing,
    /// A [`Rate`].
    Rate,
}

impl Sharing {
    pub(crate) const ALL: [Self; 2] = [Self::Nothing, Self::Rate];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nothing => "full jitter",
            Self::Rate => "Rate",
        }
    }
}

/// Who calls, and how often.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) quota: Quota,
    pub(crate) hint: Hint,
    pub(crate) processes: u32,
    /// In all processes. A worker takes the next job of its process when it has done one.
    pub(crate) workers: u32,
    /// Of each process.
    pub(crate) jobs: u32,
    /// Jobs that come one by one before the workers begin, at half the limit.
    pub(crate) trickle: u32,
    /// How long a `Rate` pauses after a refusal without a hint.
    pub(crate) pause: Duration,
    /// How long the service works on a call that is admitted: half of this time to one and a half of it.
    pub(crate) work: Duration,
    /// What the replies state of the limit.
    pub(crate) stated: Option<Stated>,
}

impl Load {
    /// One process, each of whose callers has one job.
    pub(crate) const fn at_once(callers: u32, quota: Quota) -> Self {
        Self {
            quota,
            hint: Hint::Nothing,
            processes: 1,
            workers: callers,
            jobs: callers,
            trickle: 0,
            pause: Duration::ZERO,
            work: Duration::ZERO,
            stated: None,
        }
    }

    /// When a job of the trickle comes. After the last of them, the workers begin.
    fn comes(&self, job: u32) -> u64 {
        self.quota.comes(2.0 * f64::from(job))
    }

    /// When the workers begin.
    pub(crate) fn begins(&self) -> u64 {
        self.comes(self.trickle)
    }
}

/// What became of a job. Times are in nanoseconds.
#[derive(Clone, Copy)]
pub(crate) struct Job {
    pub(crate) process: usize,
    pub(crate) began: u64,
    pub(crate) ended: u64,
    pub(crate) is_done: bool,
}

/// What happened.
#[derive(Default)]
pub(crate) struct Outcome {
    /// When each call arrived, in the order of time.
    pub(crate) arrived: Vec<u64>,
    /// The same of the calls that were admitted.
    pub(crate) admitted: Vec<u64>,
    /// In the order of their ends.
    pub(crate) jobs: Vec<Job>,
}

impl Outcome {
    /// When each job ended, in the order of time.
    pub(crate) fn ends(&self) -> Vec<u64> {
        self.jobs.iter().map(|job| job.ended).collect()
    }
}

/// A service, and the way to it.
struct Server<'a> {
    time: Time,
    rng: RefCell<&'a mut SmallRng>,
    hop: Hop,
    load: &'a Load,
    service: RefCell<Service>,
    outcome: RefCell<Outcome>,
}

impl Server<'_> {
    async fn hop(&self) {
        let nanos = self.hop.draw(&mut self.rng.borrow_mut());
        self.time.after(nanos).await;
    }

    async fn call(&self, rate: Option<&Rate>) -> Result<(), Throttled> {
        self.hop().await;
        let (reply, headers) = self.arrives();
        if reply.is_ok() && !self.load.work.is_zero() {
            let part = self.rng.borrow_mut().random_range(0.5..1.5);
            let nanos = self.load.work.mul_f64(part).as_nanos() as u64;
            self.time.after(nanos).await;
        }
        self.hop().await;
        if let (Some(rate), Some(headers)) = (rate, &headers) {
            rate.observe(headers);
        }
        reply
    }

    /// The reply, and the headers that state the limit.
    fn arrives(&self) -> (Result<(), Throttled>, Option<HeaderMap>) {
        let now = self.time.nanos();
        let mut service = self.service.borrow_mut();
        let mut reply = service.call(now);
        let mut outcome = self.outcome.borrow_mut();
        let headers = self.load.stated.map(|stated| {
            let number = outcome.arrived.len() as u32;
            let left = service.left(now);
            let rng = &mut self.rng.borrow_mut();
            let mut headers = stated.headers(left, number, reply.is_err(), rng);
            if let Err(refused) = &mut reply {
                if let Some(wait) = refused.retry_after {
                    headers.insert(RETRY_AFTER, wait.as_secs().into());
                }
                refused.retry_after = hint::in_headers(429, &headers, SystemTime::UNIX_EPOCH);
            }
            headers
        });
        outcome.arrived.push(now);
        if reply.is_ok() {
            outcome.admitted.push(now);
        }
        (reply, headers)
    }

    async fn job(&self, process: usize, rate: Option<&Rate>, policy: &Policy) {
        let began = self.time.nanos();
        let call = policy.retry(|| self.call(rate));
        let call = call.runtime((self.time.clone(), &self.rng));
        let done = match rate {
            Some(rate) => call.rate(rate).await,
            None => call.await,
        };
        self.outcome.borrow_mut().jobs.push(Job {
            process,
            began,
            ended: self.time.nanos(),
            is_done: done.is_ok(),
        });
    }
}

/// Runs until every job is done or given up.
pub(crate) fn run(
    load: &Load,
    hop: Hop,
    sharing: Sharing,
    policy: &Policy,
    rng: &mut SmallRng,
) -> Outcome {
    let server = Server {
        time: Time::default(),
        rng: RefCell::new(rng),
        hop,
        load,
        service: RefCell::new(Service::new(load.quota, load.hint)),
        outcome: RefCell::default(),
    };
    let rate = || Rate::new().pause_after_refusal(load.pause);
    let rate = || (sharing == Sharing::Rate).then(rate);
    let processes = (0..load.processes).map(|_| (rate(), Cell::new(load.jobs)));
    let processes: Vec<_> = processes.collect();
    // Each has its time, and a job of its own or the jobs of its process.
    let trickle = (0..load.trickle).map(|job| (load.comes(job), Some(Cell::new(1))));
    let workers = (0..load.workers).map(|_| (load.begins(), None));
    let tasks = trickle
        .chain(workers)
        .enumerate()
        .map(|(number, (comes, own))| {
            let process = number % processes.len();
            let (server, (rate, jobs)) = (&server, &processes[process]);
            async move {
                server.time.until(comes).await;
                let left = own.as_ref().unwrap_or(jobs);
                while left.get() > 0 {
                    left.set(left.get() - 1);
                    server.job(process, rate.as_ref(), policy).await;
                }
            }
        });
    executor::run(&server.time, tasks);
    server.outcome.into_inner()
}

/// The most calls that arrived within a tenth of a second, once the first tenth was over: the
/// herd that comes back.
pub(crate) fn herd(arrived: &[u64]) -> usize {
    const TENTH: u64 = SECOND / 10;
    let later = arrived.iter().filter(|&&time| time >= TENTH);
    let tenths: Vec<_> = later.map(|time| time / TENTH).collect();
    tenths
        .chunk_by(|one, next| one == next)
        .map(<[u64]>::len)
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quota::LIMIT;
    use crate::strategies::BATCH;
    use rand::SeedableRng as _;

    fn outcome(name: &str, hint: Hint) -> Outcome {
        let strategy = BATCH.iter().find(|strategy| strategy.name == name).unwrap();
        let hop = Hop::published().unwrap();
        let mut rng = SmallRng::seed_from_u64(1);
        let load = Load {
            hint,
            ..Load::at_once(500, Quota::bucket(LIMIT))
        };
        run(&load, hop, Sharing::Nothing, &strategy.policy, &mut rng)
    }

    #[test]
    fn the_limit_holds_whatever_the_callers_do() {
        for strategy in BATCH {
            for hint in Hint::ALL {
                let succeeded = outcome(strategy.name, hint).ends();
                assert_eq!(succeeded.len(), 500);
                // A second's worth in the bucket, one that refills meanwhile, and what the
                // replies' way blurs.
                for window in succeeded.windows(2 * LIMIT as usize + 5) {
                    let took = window[window.len() - 1] - window[0];
                    assert!(took >= SECOND, "{}: {took}", strategy.name);
                }
            }
        }
    }

    #[test]
    fn callers_at_a_fixed_interval_come_back_together() {
        let of = |name| herd(&outcome(name, Hint::Nothing).arrived);
        let (fixed, jittered) = (of("fixed 1 s"), of("exponential + jitter"));
        assert!(fixed > 400 && jittered < 100, "{fixed} and {jittered}");
    }

    #[test]
    fn a_hint_is_waited_for() {
        let calls = |hint| outcome("exponential", hint).arrived.len();
        assert_eq!(calls(Hint::NextToken), calls(Hint::Nothing));
        assert!(calls(Hint::InTurn) < calls(Hint::Nothing) / 2);
    }
}
