//! The simulated service, and the processes that call it. Every job is a call of the library, run in virtual time with
//! the random numbers of the run.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::pending;
use std::time::{Duration, SystemTime};

use backoff_cloud::{Fault, GrpcCode, Report, RetryError, StopReason, TimedOut, hint};
use rand::RngExt as _;
use rand::rngs::SmallRng;
use rand_distr::{Exp1, Normal};
use reqwest::header::{HeaderMap, RETRY_AFTER};

use crate::clock::{self, SECOND, Time};
use crate::load::{Load, Process, Strategy, Trouble, Work};
use crate::quota::{Hint, Limits};

const MILLI: f64 = 1e6;

/// Why a call failed: a status, and a hint.
#[derive(Debug)]
struct Failure(u16, Option<Duration>);

impl Fault for Failure {
    fn status(&self) -> Option<u16> {
        Some(self.0)
    }

    fn grpc_code(&self) -> Option<GrpcCode> {
        (self.0 == 409).then_some(GrpcCode::Aborted)
    }

    fn retry_after(&self) -> Option<Duration> {
        self.1
    }
}

impl From<TimedOut> for Failure {
    fn from(_: TimedOut) -> Self {
        Self(504, None)
    }
}

/// What became of a job. Times are in nanoseconds.
#[derive(Clone, Copy)]
pub(crate) struct Job {
    pub(crate) process: usize,
    pub(crate) began: u64,
    pub(crate) ended: u64,
    pub(crate) attempts: u32,
    /// `None` if it is done.
    pub(crate) stopped: Option<StopReason>,
}

/// What happened. Times are in nanoseconds and in their order.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) sent: u32,
    /// When each call arrived.
    pub(crate) arrived: Vec<u64>,
    pub(crate) writes: u32,
    /// In the order of their ends.
    pub(crate) jobs: Vec<Job>,
    /// When the service can have admitted all jobs.
    pub(crate) least: u64,
}

/// The service with its clock.
struct Service<'a> {
    load: &'a Load,
    hop: Normal<f64>,
    time: Time,
    rng: RefCell<&'a mut SmallRng>,
    limits: RefCell<Limits>,
    /// The version of the row, which each write changes.
    version: Cell<u32>,
    /// When the last of the queue will be answered.
    free: Cell<u64>,
    jobs: usize,
    outcome: RefCell<Outcome>,
}

impl Service<'_> {
    async fn hop(&self, longer: f64) {
        let nanos = self.rng.borrow_mut().sample(self.hop).abs() * longer;
        if nanos > 0.0 {
            self.time.after(nanos as u64).await;
        }
    }

    /// A read gives the version, and a write under that of the row changes it.
    async fn call(
        &self,
        process: &Process,
        tokens: u32,
        written: Option<u32>,
    ) -> Result<u32, Failure> {
        let is_late = self.outcome.borrow().jobs.len() > self.jobs / 2;
        let slow = self.load.slow[usize::from(is_late)];
        let is_slow = slow > 0.0 && self.rng.borrow_mut().random_bool(slow);
        let longer = if is_slow { 20.0 } else { 1.0 };
        self.outcome.borrow_mut().sent += 1;
        self.hop(longer).await;
        let now = self.time.nanos();
        self.outcome.borrow_mut().arrived.push(now);
        self.falls_ill(now).await?;
        let (reply, headers) = self.answer(now, tokens, written);
        if reply.is_ok() && self.load.work > 0.0 {
            let nanos = self.load.work * MILLI * self.rng.borrow_mut().random_range(0.5..1.5);
            self.time.after(nanos as u64).await;
        }
        self.hop(longer).await;
        if let (Some(rate), Some(headers)) = (process.rate, headers) {
            rate.observe(&headers);
        }
        reply
    }

    /// What the trouble and the queue do to a call.
    async fn falls_ill(&self, now: u64) -> Result<(), Failure> {
        let (from, until) = self.load.ill;
        let trouble = match (from * SECOND..until * SECOND).contains(&now) {
            true => self.load.trouble,
            false => Trouble::None,
        };
        if let Trouble::Refuses = trouble {
            self.time.after(SECOND / 1_000).await;
            return Err(Failure(503, None));
        }
        if let Trouble::Hangs = trouble {
            pending().await
        }
        if let Some(each) = SECOND.checked_div(self.load.capacity) {
            let free = self.free.get().max(now) + each;
            self.free.set(free);
            self.time.until(free).await;
        }
        match trouble {
            Trouble::Errors(share) if self.rng.borrow_mut().random_bool(share) => {
                Err(Failure(503, None))
            }
            _ => Ok(()),
        }
    }

    /// Asks the limits and the row. Gives the headers that state the limits, too.
    fn answer(
        &self,
        now: u64,
        tokens: u32,
        written: Option<u32>,
    ) -> (Result<u32, Failure>, Option<HeaderMap>) {
        let mut limits = self.limits.borrow_mut();
        let mut outcome = self.outcome.borrow_mut();
        outcome.writes += u32::from(written.is_some());
        let mut reply = limits.call(now, [1.0, tokens.into()]);
        let stated = self
            .load
            .stated
            .filter(|it| outcome.arrived.len() <= it.replies);
        let headers = stated.map(|stated| {
            let left = limits.left(now);
            let mut headers = stated.headers(&left, &mut self.rng.borrow_mut());
            if let Err(hint) = &mut reply
                && self.load.hint != Hint::Exact
            {
                if let Some(wait) = hint {
                    headers.insert(RETRY_AFTER, wait.as_secs().into());
                }
                *hint = hint::in_headers(429, &headers, SystemTime::UNIX_EPOCH);
            }
            headers
        });
        let current = self.version.get();
        let reply = match (reply, written) {
            (Err(hint), _) => Err(Failure(429, hint)),
            (Ok(()), Some(version)) if version != current => Err(Failure(409, None)),
            (Ok(()), written) => {
                self.version.set(current + u32::from(written.is_some()));
                Ok(current)
            }
        };
        (reply, headers)
    }

    async fn job(&self, process: &(usize, Process), work: Work, tokens: u32) {
        let began = self.time.nanos();
        let (number, process) = process;
        let policy = match self.load.has_tokens {
            true => process.policy.tokens(tokens),
            false => process.policy,
        };
        let read = || self.call(process, tokens, None);
        let write = |version| self.call(process, tokens, Some(version));
        let runtime = (self.time.clone(), &self.rng);
        let call = policy.retry(read).runtime(&runtime);
        let (attempts, stopped) = match (work, &process.hedge) {
            (Work::Call, Some(hedge)) => ended(call.hedge(hedge).reported().await),
            (Work::Call, None) if self.load.cut > 0 => {
                let cut = Duration::from_secs(self.load.cut);
                ended(call.attempt_timeout(cut).reported().await)
            }
            (Work::Call, None) => ended(call.reported().await),
            (Work::Change, _) => {
                let change = async || write(read().await?).await;
                ended(policy.retry(change).runtime(&runtime).reported().await)
            }
            (Work::Paced, _) => {
                let update = policy.update(read, |_| true, write);
                let update = update.version(|version| *version).runtime(&runtime);
                let updated = update.reported().await;
                (1, updated.err().map(|gave_up| gave_up.reason))
            }
        };
        self.outcome.borrow_mut().jobs.push(Job {
            process: *number,
            began,
            ended: self.time.nanos(),
            attempts,
            stopped,
        });
    }
}

/// The attempts of a call, and why it stopped if it failed.
fn ended<T, E>(call: Result<(T, Report), RetryError<E>>) -> (u32, Option<StopReason>) {
    match call {
        Ok((_, report)) => (report.attempts, None),
        Err(gave_up) => (gave_up.report.attempts, Some(gave_up.reason)),
    }
}

/// Runs until every job is done or given up.
pub(crate) fn run(load: &Load, strategy: &Strategy, rng: &mut SmallRng) -> Outcome {
    let mut queues = load.queues(rng);
    for queue in &mut queues {
        queue.truncate(queue.len() / strategy.together as usize);
    }
    let limits = Limits::new(load.limits, load.hint);
    let (mut free, mut outcome) = (limits.clone(), Outcome::default());
    for &tokens in queues.iter().flatten() {
        let costs = [1.0, tokens.into()];
        outcome.least += free.wait(outcome.least, costs);
        // Admitted, as it is its turn.
        let _ = free.call(outcome.least, costs);
    }
    let (mean, deviation) = load.hop;
    let service = &Service {
        load,
        hop: Normal::new(mean * MILLI, deviation * MILLI).expect("a finite deviation"),
        time: Time::default(),
        rng: RefCell::new(rng),
        limits: RefCell::new(limits),
        version: Cell::default(),
        free: Cell::default(),
        jobs: queues.iter().map(VecDeque::len).sum(),
        outcome: RefCell::new(outcome),
    };
    let processes =
        (0..load.processes as usize).map(|it| (it, (strategy.process)(strategy.policy)));
    let processes: Vec<_> = processes.collect();
    if load.by_chance.0 > 0 {
        let (rate, end) = load.by_chance;
        let mut time = 0;
        let comes = || {
            let mut rng = service.rng.borrow_mut();
            let pause: f64 = rng.sample(Exp1);
            time += (pause * (SECOND / rate) as f64) as u64;
            let process = &processes[rng.random_range(0..processes.len())];
            (time < end * SECOND).then(|| (time, service.job(process, strategy.work, 1)))
        };
        clock::run(&service.time, std::iter::from_fn(comes));
    } else {
        let queues: Vec<_> = queues.into_iter().map(RefCell::new).collect();
        let workers = load.workers / strategy.together;
        let worker = |number: u32| {
            let process = &processes[number as usize % processes.len()];
            let queue = &queues[process.0 % queues.len()];
            let comes = load.over * SECOND as f64 * f64::from(number) / f64::from(workers);
            let work = async move {
                while let Some(tokens) = { queue.borrow_mut().pop_front() } {
                    service.job(process, strategy.work, tokens).await;
                    // Who comes has one job.
                    if load.over > 0.0 {
                        break;
                    }
                }
            };
            (comes as u64, work)
        };
        clock::run(&service.time, (0..workers).map(worker));
    }
    service.outcome.take()
}
