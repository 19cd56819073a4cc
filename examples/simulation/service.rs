//! A service that can be down, and the clients that call it.
//!
//! Requests come by chance (a Poisson process), each from one of the client processes. The service
//! answers 1,000 a second, in the order in which they came, and does not know that a client has
//! stopped waiting: an attempt is cut after a second, and what stands longer in the queue is
//! answered for nothing. That is a naive service, and it is common.
//!
//! The way to and from the service takes no time; a refusal takes a millisecond.

use std::collections::BTreeMap;
use std::time::Duration;

use backoff_cloud::{Admitted, Decision, Fault, FaultKind, RetryState, TimedOut};
use rand::rngs::SmallRng;
use rand::{Rng as _, RngExt as _};
use rand_distr::Exp1;

use crate::quota::SECOND;
use crate::strategies::Client;

/// Requests a second that come, and that the service can answer.
pub(crate) const LOAD: u64 = 700;
pub(crate) const CAPACITY: u64 = 1_000;
/// After this time an attempt is cut.
const TIMEOUT: u64 = SECOND;
const REFUSAL: u64 = SECOND / 1_000;

/// What ails the service.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Trouble {
    /// No connection is accepted.
    Refusing,
    /// Connections are accepted, and no request is answered.
    Hanging,
    /// This share of the attempts is answered with 503.
    Errors(f64),
}

/// When the trouble begins and ends, and when the last request comes, in seconds.
#[derive(Clone, Copy)]
pub(crate) struct Course {
    pub(crate) trouble: Trouble,
    pub(crate) from: u64,
    pub(crate) until: u64,
    pub(crate) end: u64,
}

impl Course {
    fn now_ails(&self, now: u64) -> Option<Trouble> {
        let ails = (self.from * SECOND..self.until * SECOND).contains(&now);
        ails.then_some(self.trouble)
    }
}

/// Why an attempt failed.
#[derive(Fault)]
enum Failure {
    #[fault(not_sent)]
    Refused,
    #[fault(forward)]
    TimedOut(TimedOut),
    #[fault(status = 503)]
    Unavailable,
}

/// What happened to the requests that came in one second, and the attempts that were made in it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) requests: u32,
    /// Answered at their first attempt.
    pub(crate) at_once: u32,
    /// Answered at all.
    pub(crate) answered: u32,
    /// How long those together took that were not answered, in milliseconds.
    pub(crate) lost_for: u32,
    pub(crate) attempts: u32,
}

impl Tally {
    fn lose(&mut self, request: &Request, now: u64) {
        self.lost_for += ((now - request.came) / 1_000_000) as u32;
    }
}

impl Client {
    /// An attempt has ended with this failure, or with a success.
    fn hears(&self, admitted: Option<Admitted>, failure: Option<FaultKind>, now: u64) {
        if let (Some(breaker), Some(admitted)) = (self.breaker, admitted) {
            breaker.ended(admitted, failure, || Duration::from_nanos(now));
        }
    }
}

struct Service<'a> {
    course: &'a Course,
    /// When the last of the queue will be answered.
    free: u64,
}

impl Service<'_> {
    /// When the client knows, and what.
    fn call(&mut self, now: u64, rng: &mut SmallRng) -> (u64, Result<(), Failure>) {
        let cut = Failure::TimedOut(TimedOut::new(Duration::from_nanos(TIMEOUT)));
        let errors = match self.course.now_ails(now) {
            Some(Trouble::Refusing) => return (now + REFUSAL, Err(Failure::Refused)),
            Some(Trouble::Hanging) => return (now + TIMEOUT, Err(cut)),
            Some(Trouble::Errors(share)) => share,
            None => 0.0,
        };
        self.free = self.free.max(now) + SECOND / CAPACITY;
        if self.free > now + TIMEOUT {
            (now + TIMEOUT, Err(cut))
        } else if rng.random_bool(errors) {
            (self.free, Err(Failure::Unavailable))
        } else {
            (self.free, Ok(()))
        }
    }
}

struct Request {
    came: u64,
    client: usize,
    retry: RetryState,
    /// By the breaker of its client.
    admitted: Option<Admitted>,
}

enum Event {
    Comes,
    Attempt(Request),
    Reply(Request, Result<(), Failure>),
}

/// Runs until every request has its answer or is given up; gives a tally for each second.
pub(crate) fn run(course: &Course, clients: &[Client], rng: &mut SmallRng) -> Vec<Tally> {
    let mut service = Service { course, free: 0 };
    let mut tallies = vec![Tally::default(); course.end as usize];
    let mut events = Events::default();
    events.add(pause(rng), Event::Comes);
    while let Some((now, event)) = events.next() {
        let clock = || Duration::from_nanos(now);
        match event {
            Event::Comes if now >= course.end * SECOND => {}
            Event::Comes => {
                let client = rng.random_range(0..clients.len());
                let request = Request {
                    came: now,
                    client,
                    retry: RetryState::start(&clients[client].policy, clock),
                    admitted: None,
                };
                tallies[second(now)].requests += 1;
                events.add(now, Event::Attempt(request));
                events.add(now + pause(rng), Event::Comes);
            }
            Event::Attempt(mut request) => {
                if let Some(breaker) = clients[request.client].breaker {
                    request.admitted = breaker.admit(clock);
                    if request.admitted.is_none() {
                        tallies[second(request.came)].lose(&request, now);
                        continue;
                    }
                }
                // What is still retried after the last second is not counted.
                if let Some(tally) = tallies.get_mut(second(now)) {
                    tally.attempts += 1;
                }
                let (replied, reply) = service.call(now, rng);
                events.add(replied, Event::Reply(request, reply));
            }
            Event::Reply(request, Ok(())) => {
                let client = &clients[request.client];
                client.hears(request.admitted, None, now);
                request.retry.succeeded(&client.policy);
                let tally = &mut tallies[second(request.came)];
                tally.answered += 1;
                tally.at_once += u32::from(request.retry.failures() == 0);
            }
            Event::Reply(mut request, Err(failure)) => {
                let client = &clients[request.client];
                client.hears(request.admitted, Some(FaultKind::Transient), now);
                let policy = &client.policy;
                let verdict = policy.judge(&failure);
                let random = || rng.next_u64();
                if let Decision::Wait(wait) = request.retry.failed(policy, verdict, clock, random) {
                    let then = now + wait.delay.as_nanos() as u64;
                    events.add(then, Event::Attempt(request));
                } else {
                    tallies[second(request.came)].lose(&request, now);
                }
            }
        }
    }
    tallies
}

/// Until the next request.
fn pause(rng: &mut SmallRng) -> u64 {
    let share: f64 = rng.sample(Exp1);
    (share * (SECOND / LOAD) as f64) as u64
}

fn second(nanos: u64) -> usize {
    (nanos / SECOND) as usize
}

/// What is to come, by time, and at the same time in the order in which it was planned.
#[derive(Default)]
struct Events {
    planned: BTreeMap<(u64, u64), Event>,
    /// How many were planned so far.
    number: u64,
}

impl Events {
    fn add(&mut self, time: u64, event: Event) {
        self.number += 1;
        self.planned.insert((time, self.number), event);
    }

    fn next(&mut self) -> Option<(u64, Event)> {
        let ((time, _), event) = self.planned.pop_first()?;
        Some((time, event))
    }
}
