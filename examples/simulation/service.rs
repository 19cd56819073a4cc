//! The simulated service, and the processes that call it. Every job is a call of the library, run in virtual time with
//! the random numbers of the run.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::pending;
use std::time::{Duration, SystemTime};

use backoff_cloud::{
    Fault, GrpcCode, Hedge, Policy, Rate, Report, RetryError, StopReason, TimedOut, hint,
};
use rand::RngExt as _;
use rand::rngs::SmallRng;
use rand_distr::{Exp1, Normal};
use reqwest::header::{HeaderMap, RETRY_AFTER};

use crate::clock::{self, SECOND, Time};
use crate::load::{Load, Shared, Strategy, Trouble, Work};
use crate::quota::{Hint, Left, Limits};

const MILLI: f64 = 1e6;

/// Why a call failed.
#[derive(Debug, Fault)]
enum Failure {
    #[fault(not_sent)]
    Refused,
    #[fault(status = 409, grpc_code = GrpcCode::Aborted)]
    Stale,
    #[fault(status = code)]
    Status {
        code: u16,
        #[fault(retry_after)]
        hint: Option<Duration>,
    },
    #[fault(forward)]
    TimedOut(TimedOut),
}

impl Failure {
    fn status(code: u16, hint: Option<Duration>) -> Self {
        Self::Status { code, hint }
    }
}

impl From<TimedOut> for Failure {
    fn from(cut: TimedOut) -> Self {
        Self::TimedOut(cut)
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
    /// When each call arrived, and each that was admitted.
    pub(crate) arrived: Vec<u64>,
    pub(crate) admitted: Vec<u64>,
    pub(crate) writes: u32,
    /// In the order of their ends.
    pub(crate) jobs: Vec<Job>,
    /// When the service can have admitted all jobs.
    pub(crate) least: u64,
}

/// A process that calls the service.
struct Process {
    number: usize,
    policy: Policy,
    /// Hears what the replies state.
    rate: Option<&'static Rate>,
    hedge: Option<Hedge>,
}

/// As the `static` of a program, what a process shares is never given back.
fn leaked<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

impl Process {
    fn new(number: usize, strategy: &Strategy, load: &Load) -> Self {
        let policy = strategy.policy;
        let mut process = Process {
            number,
            policy,
            rate: None,
            hedge: None,
        };
        process.policy = match strategy.shared {
            Shared::Nothing | Shared::Known => policy,
            Shared::Rate(hears) => {
                let pause = Duration::from_secs(load.pause);
                let rate = leaked(Rate::new().pause_after_refusal(pause));
                process.rate = hears.then_some(rate);
                policy.rate(rate)
            }
            Shared::Hedge(hedge) => {
                process.hedge = Some(hedge());
                policy
            }
            Shared::Budget(budget) => policy.budget(leaked(budget())),
            Shared::Breaker(breaker) => policy.breaker(leaked(breaker())),
            Shared::Both(budget, breaker) => {
                policy.budget(leaked(budget())).breaker(leaked(breaker()))
            }
        };
        process
    }
}

/// The service with its clock.
struct Service<'a> {
    load: &'a Load,
    hop: Normal<f64>,
    time: Time,
    rng: RefCell<&'a mut SmallRng>,
    limits: RefCell<Limits>,
    /// What a limiter of the clients knows.
    known: RefCell<Limits>,
    /// The version of the row, which each write changes.
    version: Cell<u32>,
    /// When the last of the queue will be answered.
    free: Cell<u64>,
    /// What was left of the limits at a time, as far as replies will state it.
    left: RefCell<VecDeque<(u64, Vec<Left>)>>,
    begun: Cell<usize>,
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
        let slow = self.load.slow;
        let is_late = self.begun.get() > self.jobs / 2;
        let share = if is_late { slow.1 } else { slow.0 };
        let is_slow = share > 0.0 && self.rng.borrow_mut().random_bool(share);
        let longer = if is_slow { 20.0 } else { 1.0 };
        self.hop(longer).await;
        let now = self.time.nanos();
        self.outcome.borrow_mut().arrived.push(now);
        self.falls_ill(now).await?;
        let (reply, headers) = self.answer(now, tokens, written);
        if reply.is_ok() && self.load.work > 0.0 {
            let part = self.rng.borrow_mut().random_range(0.5..1.5);
            self.time
                .after((self.load.work * part * MILLI) as u64)
                .await;
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
        let is_ill = (from * SECOND..until * SECOND).contains(&now);
        let trouble = if is_ill {
            self.load.trouble
        } else {
            Trouble::None
        };
        match trouble {
            Trouble::Refuses => {
                self.time.after(SECOND / 1_000).await;
                return Err(Failure::Refused);
            }
            Trouble::Hangs => pending().await,
            Trouble::IsSlow => self.time.after(8 * SECOND).await,
            _ => {}
        }
        if let Some(each) = SECOND.checked_div(self.load.capacity) {
            let free = self.free.get().max(now) + each;
            self.free.set(free);
            self.time.until(free).await;
        }
        match trouble {
            Trouble::Throttles if now < (from + 3) * SECOND => Err(Failure::status(503, None)),
            Trouble::Throttles => Err(Failure::status(429, None)),
            Trouble::Errors(share) if self.rng.borrow_mut().random_bool(share) => {
                Err(Failure::status(503, None))
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
        if reply.is_ok() {
            outcome.admitted.push(now);
        }
        let headers = self.load.stated.map(|stated| {
            let mut left = self.left.borrow_mut();
            let from = now + (stated.old * SECOND as f64) as u64;
            left.push_back((from, limits.left(now)));
            while left.len() > 1 && left[1].0 <= now {
                left.pop_front();
            }
            let number = outcome.arrived.len() - 1;
            let rng = &mut self.rng.borrow_mut();
            let mut headers = stated.headers(&left[0].1, number, reply.is_err(), rng);
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
            (Err(hint), _) => Err(Failure::status(429, hint)),
            (Ok(()), Some(version)) if version != current => Err(Failure::Stale),
            (Ok(()), written) => {
                self.version.set(current + u32::from(written.is_some()));
                Ok(current)
            }
        };
        (reply, headers)
    }

    async fn job(&self, process: &Process, strategy: &Strategy, tokens: u32) {
        self.begun.set(self.begun.get() + 1);
        let began = self.time.nanos();
        if matches!(strategy.shared, Shared::Known) {
            self.turn([1.0, tokens.into()]).await;
        }
        let policy = match self.load.has_tokens {
            true => process.policy.tokens(tokens),
            false => process.policy,
        };
        let read = || self.call(process, tokens, None);
        let write = |version| self.call(process, tokens, Some(version));
        let runtime = (self.time.clone(), &self.rng);
        let (attempts, stopped) = match (strategy.work, &process.hedge) {
            (Work::Call, Some(hedge)) => ended(
                policy
                    .retry(read)
                    .runtime(runtime)
                    .hedge(hedge)
                    .reported()
                    .await,
            ),
            (Work::Call, None) if self.load.cut > 0 => {
                let cut = Duration::from_secs(self.load.cut);
                let call = policy.retry(read).runtime(runtime).attempt_timeout(cut);
                ended(call.reported().await)
            }
            (Work::Call, None) => ended(policy.retry(read).runtime(runtime).reported().await),
            (Work::Change, _) => {
                let change = async || write(read().await?).await;
                ended(policy.retry(change).runtime(runtime).reported().await)
            }
            (Work::Paced, _) => {
                let update = policy
                    .update(read, |_| true, write)
                    .version(|version| *version);
                let updated = update.runtime(runtime).reported().await;
                (1, updated.err().map(|gave_up| gave_up.reason))
            }
        };
        self.outcome.borrow_mut().jobs.push(Job {
            process: process.number,
            began,
            ended: self.time.nanos(),
            attempts,
            stopped,
        });
    }

    /// Waits until the known limits admit a call.
    async fn turn(&self, costs: [f64; 2]) {
        loop {
            let now = self.time.nanos();
            let wait = {
                let mut known = self.known.borrow_mut();
                match known.call(now, costs) {
                    Ok(()) => return,
                    Err(_) => known.wait(now, costs),
                }
            };
            self.time.after(wait).await;
        }
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
    let (mut free, mut least) = (limits.clone(), 0);
    for &tokens in queues.iter().flatten() {
        let costs = [1.0, tokens.into()];
        least += free.wait(least, costs);
        // Admitted, as it is its turn.
        let _ = free.call(least, costs);
    }
    let (mean, deviation) = load.hop;
    let service = Service {
        load,
        hop: Normal::new(mean * MILLI, deviation * MILLI).expect("a finite deviation"),
        time: Time::default(),
        rng: RefCell::new(rng),
        known: RefCell::new(limits.clone()),
        limits: RefCell::new(limits),
        version: Cell::new(0),
        free: Cell::new(0),
        left: RefCell::default(),
        begun: Cell::new(0),
        jobs: queues.iter().map(VecDeque::len).sum(),
        outcome: RefCell::new(Outcome {
            least,
            ..Outcome::default()
        }),
    };
    let processes: Vec<_> = (0..load.processes as usize)
        .map(|number| Process::new(number, strategy, load))
        .collect();
    let service = &service;
    if load.by_chance.0 > 0 {
        let (rate, end) = load.by_chance;
        let mut time = 0;
        let comes = || {
            let mut rng = service.rng.borrow_mut();
            let pause: f64 = rng.sample(Exp1);
            time += (pause * (SECOND / rate) as f64) as u64;
            let process = &processes[rng.random_range(0..processes.len())];
            (time < end * SECOND).then(|| (time, service.job(process, strategy, 1)))
        };
        clock::run(&service.time, std::iter::from_fn(comes));
    } else {
        let queues: Vec<_> = queues.into_iter().map(RefCell::new).collect();
        let workers = load.workers / strategy.together;
        let worker = |number| {
            let process = &processes[number as usize % processes.len()];
            let queue = &queues[process.number % queues.len()];
            let comes = load.over * SECOND as f64 * f64::from(number) / f64::from(workers);
            let work = async move {
                while let Some(tokens) = { queue.borrow_mut().pop_front() } {
                    service.job(process, strategy, tokens).await;
                }
            };
            (comes as u64, work)
        };
        clock::run(&service.time, (0..workers).map(worker));
    }
    service.outcome.take()
}
