//! What is simulated, as data: a service, who calls it, and how.

use std::collections::VecDeque;

use backoff_cloud::{Hedge, Policy, Rate};
use rand::RngExt as _;
use rand::rngs::SmallRng;

use super::quota::{Hint, Quota};

/// A service, and who calls it.
#[derive(Clone, Copy)]
pub struct Load {
    /// The way to the service takes |N(mean, deviation)| milliseconds, and the way back too.
    pub hop: (f64, f64),
    /// What it admits.
    pub limits: &'static [Quota],
    /// What it says to a call that it refuses.
    pub hint: Hint,
    /// Whether each reply states what remains of the limits.
    pub states: bool,
    /// Calls a second that the service answers, one after the other; zero if it answers all at once. It does not know
    /// that a client has stopped waiting.
    pub capacity: u64,
    /// How long the service works on a call that is admitted, in milliseconds: half of this to one and a half of it.
    pub work: f64,
    /// Such a share of the calls takes 20 times as long.
    pub slow: f64,
    /// From such a second to such a second the service is in trouble.
    pub ill: (u64, u64),
    /// It then answers this share of the calls with 503; if the share is zero, it accepts all calls and answers none.
    pub errors: f64,
    /// How many processes call it.
    pub processes: u32,
    /// In all processes. A worker takes the next job of its process when it has done one.
    pub workers: u32,
    /// The seconds over which the workers come.
    pub over: f64,
    /// Of each process.
    pub jobs: u32,
    /// A worker rests so many seconds before its next job: half of this to one and a half of it.
    pub rest: f64,
    /// In place of jobs: a worker takes a job, with a rest before it, until so many seconds have passed.
    pub until: u64,
    /// In place of workers: so many jobs a second come by chance, until so many seconds have passed.
    pub by_chance: (u64, u64),
}

impl Load {
    /// A service without limits on a network as in AWS' article, and nobody who calls it.
    pub const IDLE: Self = Self {
        hop: (10.0, 2.0),
        limits: &[],
        hint: Hint::Nothing,
        states: false,
        capacity: 0,
        work: 0.0,
        slow: 0.0,
        ill: (0, 0),
        errors: 0.0,
        processes: 1,
        workers: 0,
        over: 0.0,
        jobs: 0,
        rest: 0.0,
        until: 0,
        by_chance: (0, 0),
    };

    /// Clients that have one job each.
    pub const fn crowd(self, clients: u32) -> Self {
        Self {
            workers: clients,
            jobs: clients,
            ..self
        }
    }

    /// The jobs of each process, or of all, where so many clients combine theirs: how many tokens each job costs. Where
    /// tokens are limited too, these are ten minutes of jobs, small ones and large ones in turn.
    pub fn queues(&self, together: u32, rng: &mut SmallRng) -> Vec<VecDeque<u32>> {
        if self.limits.len() < 2 {
            let jobs = VecDeque::from(vec![1; (self.jobs / together) as usize]);
            return vec![jobs; self.processes as usize];
        }
        let mut jobs = VecDeque::new();
        for minute in 0..10 {
            let (mut count, mut tokens) = (0, 0);
            // The limits of a minute.
            while count < 500 && tokens < 80_000 {
                let job = match minute % 2 {
                    0 => rng.random_range(20..=150),
                    _ => rng.random_range(200..=6_000),
                };
                (count, tokens) = (count + 1, tokens + job);
                jobs.push_back(job);
            }
        }
        vec![jobs]
    }
}

/// A load with its name, and the most calls for a job and the longest time as a multiple of the least.
pub type Row = (&'static str, Load, (f64, f64));

/// A process that calls the service: a policy with what its calls share, and the rate that hears what the replies state.
pub type Process = (Policy, Option<&'static Rate>);

/// As the `static` of a program, what a process shares is never given back.
pub fn leaked<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// With a rate that hears of refusals, and perhaps of what the replies state.
pub fn rated(policy: Policy, hears: bool) -> Process {
    let rate = leaked(Rate::new());
    (policy.rate(rate), hears.then_some(rate))
}

/// What a job is.
#[derive(Clone, Copy)]
pub enum Work {
    /// A call.
    Call,
    /// A call that may get a second request.
    Hedged(fn() -> Hedge),
    /// A call whose attempts are cut after a second.
    Request,
    /// A read and a write under the version that was read, both repeated.
    Change,
    /// The same, at a pace.
    Paced,
}

/// A way to wait.
#[derive(Clone, Copy)]
pub struct Strategy {
    /// In tables and charts.
    pub name: &'static str,
    /// The rules of each call.
    pub policy: Policy,
    /// What its calls do.
    pub work: Work,
    /// What the calls of a process share.
    pub process: fn(Policy) -> Process,
    /// How many clients stand in one process, which combines their changes.
    pub together: u32,
}

impl Strategy {
    /// Of processes that share nothing.
    pub const fn new(name: &'static str, policy: Policy, work: Work) -> Self {
        Self {
            name,
            policy,
            work,
            process: |policy| (policy, None),
            together: 1,
        }
    }

    /// Of processes whose calls share something.
    pub const fn sharing(mut self, process: fn(Policy) -> Process) -> Self {
        self.process = process;
        self
    }
}
