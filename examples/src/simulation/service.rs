//! The simulated service, and the processes that call it. Every job is a call of the library, run in virtual time with
//! the random numbers of the run.

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::time::{Duration, SystemTime};

use backoff_cloud::{Fault, GrpcCode, Hedge, Rate, Report, RetryError, TimedOut, hint};
use rand::RngExt as _;
use rand::rngs::SmallRng;
use rand_distr::{Exp1, Normal};
use reqwest::header::HeaderMap;

use super::clock::{self, SECOND, Time};
use super::load::{Load, Process, Strategy, Work};
use super::quota::{Hint, Limits};

const MILLI: f64 = 1e6;
/// How long an attempt of a request may take.
const CUT: Duration = Duration::from_secs(1);

/// Why a call failed: a status, and a hint. 409 is a conflict of writers.
#[derive(Debug, Fault)]
#[fault(status = self.0, grpc_code = (self.0 == 409).then_some(GrpcCode::Aborted), retry_after = self.1)]
struct Failure(u16, Option<Duration>);

impl From<TimedOut> for Failure {
    fn from(_: TimedOut) -> Self {
        Self(504, None)
    }
}

/// The version of the row.
type Reply = Result<u32, Failure>;

/// What became of a job. Times are in nanoseconds.
#[derive(Clone, Copy)]
pub struct Job {
    /// When its first attempt began.
    pub began: u64,
    /// When it was done or given up.
    pub ended: u64,
    /// How often the service was called.
    pub attempts: u32,
    /// It was not given up.
    pub is_done: bool,
}

/// What happened. Times are in nanoseconds and in their order.
#[derive(Default)]
pub struct Outcome {
    /// How many calls were sent.
    pub sent: u32,
    /// When each call arrived.
    pub arrived: Vec<u64>,
    /// How many of them were writes.
    pub writes: u32,
    /// In the order of their ends.
    pub jobs: Vec<Job>,
    /// When the service can have admitted all jobs.
    pub least: u64,
    /// The run took too long, and this is not all that would have happened.
    pub is_stopped: bool,
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
    hedge: Hedge,
    /// How many jobs have begun. Those that wait until the end of the clock do not end.
    begun: Cell<usize>,
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
    async fn call(&self, rate: Option<&Rate>, tokens: u32, written: Option<u32>) -> Reply {
        let slow = self.load.slow;
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
        if let (Some(rate), Some(headers)) = (rate, headers) {
            rate.observe(&headers);
        }
        reply
    }

    /// What the trouble and the queue do to a call.
    async fn falls_ill(&self, now: u64) -> Result<(), Failure> {
        let (from, until) = self.load.ill;
        let is_ill = (from * SECOND..until * SECOND).contains(&now);
        let errors = self.load.errors;
        if is_ill && errors <= 0.0 {
            pending().await
        }
        if let Some(each) = SECOND.checked_div(self.load.capacity) {
            let free = self.free.get().max(now).saturating_add(each);
            self.free.set(free);
            self.time.until(free).await;
        }
        match is_ill && self.rng.borrow_mut().random_bool(errors) {
            true => Err(Failure(503, None)),
            false => Ok(()),
        }
    }

    /// Asks the limits and the row. Gives the headers that state the limits, too.
    fn answer(&self, now: u64, tokens: u32, written: Option<u32>) -> (Reply, Option<HeaderMap>) {
        let mut limits = self.limits.borrow_mut();
        let mut outcome = self.outcome.borrow_mut();
        outcome.writes += u32::from(written.is_some());
        let mut reply = limits.call(now, [1.0, tokens.into()]);
        let headers = self.load.states.then(|| limits.headers(now));
        if let (Err(hint), Some(headers)) = (&mut reply, &headers)
            && self.load.hint == Hint::Nothing
        {
            *hint = hint::in_headers(429, headers, SystemTime::UNIX_EPOCH);
        }
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

    async fn job(&self, (policy, rate): &Process, work: Work, tokens: u32) {
        let began = self.time.nanos();
        self.begun.set(self.begun.get() + 1);
        let policy = policy.tokens(tokens);
        let read = || self.call(*rate, tokens, None);
        let write = |version| self.call(*rate, tokens, Some(version));
        let runtime = (self.time.clone(), &self.rng);
        let call = policy.retry(read).runtime(&runtime);
        let (attempts, is_done) = match work {
            Work::Call => ended(call.reported().await),
            Work::Hedged(_) => ended(call.hedge(&self.hedge).reported().await),
            Work::Request => ended(call.attempt_timeout(CUT).reported().await),
            Work::Change => {
                let change = async || write(read().await?).await;
                ended(policy.retry(change).runtime(&runtime).reported().await)
            }
            Work::Paced => {
                let update = policy.update(read, |_| true, write);
                let update = update.version(|version| *version).runtime(&runtime);
                (1, update.reported().await.is_ok())
            }
        };
        self.outcome.borrow_mut().jobs.push(Job {
            began,
            ended: self.time.nanos(),
            attempts,
            is_done,
        });
    }
}

/// The attempts of a call, and whether it succeeded.
fn ended<T, E>(call: Result<(T, Report), RetryError<E>>) -> (u32, bool) {
    match call {
        Ok((_, report)) => (report.attempts, true),
        Err(gave_up) => (gave_up.report.attempts, false),
    }
}

/// Runs until every job is done or given up.
pub fn run(load: &Load, strategy: &Strategy, rng: &mut SmallRng) -> Outcome {
    run_until(load, strategy, rng, &|| false)
}

/// As [`run`], until it is to stop, which is asked before each step.
pub fn run_until(
    load: &Load,
    strategy: &Strategy,
    rng: &mut SmallRng,
    stop: &dyn Fn() -> bool,
) -> Outcome {
    let queues = load.queues(strategy.together, rng);
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
        hedge: match strategy.work {
            Work::Hedged(hedge) => hedge(),
            _ => Hedge::p95(),
        },
        begun: Cell::default(),
        outcome: RefCell::new(outcome),
    };
    let process = |_| (strategy.process)(strategy.policy);
    let processes: Vec<_> = (0..load.processes).map(process).collect();
    let queues: Vec<_> = queues.into_iter().map(RefCell::new).collect();
    let (rate, end) = load.by_chance;
    let work = async |number: usize| {
        let queue = &queues[number % queues.len()];
        let next = || match (rate, load.until) {
            (0, 0) => queue.borrow_mut().pop_front(),
            (0, until) => (service.time.nanos() < until * SECOND).then_some(1),
            _ => Some(1),
        };
        loop {
            if load.rest > 0.0 {
                let share = service.rng.borrow_mut().random_range(0.5..1.5);
                let nanos = load.rest * SECOND as f64 * share;
                service.time.after(nanos as u64).await;
            }
            let Some(tokens) = next() else { break };
            let job = service.job(&processes[number], strategy.work, tokens);
            job.await;
            // Who comes later than others has one job.
            if rate > 0 || load.over > 0.0 && load.until == 0 {
                break;
            }
        }
    };
    let workers = load.workers / strategy.together;
    let mut time = 0;
    let comes = |number: u32| {
        if let Some(apart) = SECOND.checked_div(rate) {
            let mut rng = service.rng.borrow_mut();
            let pause: f64 = rng.sample(Exp1);
            time += (pause * apart as f64) as u64;
            let process = rng.random_range(0..processes.len());
            return (time < end * SECOND).then(|| (time, work(process)));
        }
        let comes = load.over * SECOND as f64 * f64::from(number) / f64::from(workers);
        let process = number as usize % processes.len();
        (number < workers).then(|| (comes as u64, work(process)))
    };
    let has_ended = clock::run(&service.time, (0..).map_while(comes), stop);
    let mut outcome = service.outcome.take();
    outcome.is_stopped = !has_ended;
    if has_ended {
        let never = Job {
            began: 0,
            ended: u64::MAX,
            attempts: 0,
            is_done: false,
        };
        outcome.jobs.resize(service.begun.get(), never);
    }
    outcome
}
