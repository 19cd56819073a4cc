//! Clients that write the same row, with optimistic concurrency: the model of the AWS Architecture
//! Blog's "Exponential Backoff And Jitter".
//!
//! Every client reads the row, then writes it with the version it has read. The service answers
//! the moment a call arrives; a write with a version that is no longer the row's fails. On the
//! failure's reply the client asks its [`RetryState`] what to do, waits, and starts again with a read.
//! All clients of a [`Crowd`] send their first read at time zero, or one after the other, equally far
//! apart. A hop, from a client to the service or back, takes |Normal(mean, deviation)|.
//!
//! A service with a limit of calls refuses those beyond it, and the client waits and starts again too.
//!
//! Three things are measured: how many writes and how many reads were sent in all, and the completion,
//! which is the moment at which the last client has the reply to its last write, so the hop back counts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter;
use std::time::Duration;

use backoff_cloud::delay::Pace;
use backoff_cloud::{Decision, Fault, GrpcCode, RetryState};
use rand::rngs::SmallRng;
use rand::{Rng as _, RngExt as _};
use rand_distr::{Normal, NormalError};

use crate::quota::{Hint, Quota, Service};
use crate::strategies::Strategy;

/// How long a call, or its reply, is on the way.
#[derive(Clone, Copy)]
pub(crate) struct Hop(Normal<f64>);

impl Hop {
    /// The one of the published simulation.
    pub(crate) fn published() -> Result<Self, NormalError> {
        Self::millis(10, 2)
    }

    /// |N(mean, deviation)| milliseconds.
    pub(crate) fn millis(mean: u32, deviation: u32) -> Result<Self, NormalError> {
        let [mean, deviation] = [mean, deviation].map(|millis| f64::from(millis) * 1e6);
        Normal::new(mean, deviation).map(Self)
    }

    pub(crate) fn mean(&self) -> Duration {
        Duration::from_secs_f64(self.0.mean() / 1e9)
    }

    /// In nanoseconds.
    pub(crate) fn draw(&self, rng: &mut SmallRng) -> u64 {
        rng.sample(self.0).abs() as u64
    }
}

/// The reply to a stale write, as Google's APIs word it.
#[derive(Fault)]
#[fault(status = 409, grpc_code = GrpcCode::Aborted)]
struct Stale;

/// Who writes the row, from where.
#[derive(Clone, Copy)]
pub(crate) struct Crowd {
    pub(crate) clients: u32,
    pub(crate) hop: Hop,
    /// The time over which the first reads are spread; zero if all are sent at once.
    pub(crate) over: Duration,
    /// How many calls the service admits, and what it says to the others.
    pub(crate) limit: Option<(Quota, Hint)>,
}

impl Crowd {
    pub(crate) fn at_once(clients: u32, hop: Hop) -> Self {
        Self::over(clients, hop, Duration::ZERO)
    }

    pub(crate) fn over(clients: u32, hop: Hop, over: Duration) -> Self {
        Self {
            clients,
            hop,
            over,
            limit: None,
        }
    }

    /// How many clients each writer stands for, and when the writer comes.
    fn writers(&self, together: u32) -> impl Iterator<Item = (u32, Duration)> {
        let Self { clients, over, .. } = *self;
        let writers = clients.div_ceil(together);
        (0..writers).map(move |number| {
            let clients = (clients - number * together).min(together);
            (clients, over / writers * number)
        })
    }

    /// The mean over the clients.
    pub(crate) fn mean_arrival(&self, strategy: &Strategy) -> Duration {
        let writers = self.writers(strategy.together);
        let sum: Duration = writers.map(|(clients, arrival)| clients * arrival).sum();
        sum / self.clients
    }
}

/// What happened. Times are in nanoseconds.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) writes: u64,
    pub(crate) reads: u64,
    /// When each client that succeeded was told so.
    pub(crate) succeeded: Vec<u64>,
    pub(crate) gave_up: u32,
    /// When the last client had its last reply.
    pub(crate) completion: u64,
}

/// A call on its way to the service.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Call {
    Read,
    Write { version: u32 },
}

/// A writer that has not succeeded yet: a client, or a process that combines what its clients change.
struct Writer {
    /// How many clients wait for it.
    clients: u32,
    retry: RetryState,
    pace: Pace,
    /// The version that was read last.
    version: Option<u32>,
}

impl Writer {
    fn start(clients: u32, strategy: &Strategy, arrival: Duration) -> Self {
        Self {
            clients,
            retry: RetryState::start(&strategy.policy, || arrival),
            pace: Pace::new(),
            version: None,
        }
    }

    fn has_read(&mut self, version: u32, now: Duration) {
        let last = self.version.replace(version);
        self.pace.read(now, last == Some(version));
    }

    /// What to do about a write that was stale, or a call that was throttled.
    fn failed(
        &mut self,
        strategy: &Strategy,
        fault: &impl Fault,
        now: Duration,
        rng: &mut SmallRng,
    ) -> Decision {
        let policy = &strategy.policy;
        let verdict = policy.judge(fault);
        let (clock, random) = (|| now, || rng.next_u64());
        if !strategy.is_paced {
            return self.retry.failed(policy, verdict, clock, random);
        }
        self.retry
            .failed_paced(&mut self.pace, policy, verdict, clock, random)
    }
}

/// One run to the end.
pub(crate) fn run(crowd: &Crowd, strategy: &Strategy, rng: &mut SmallRng) -> Outcome {
    let hop = crowd.hop;
    let mut writers = Vec::new();
    // By time of arrival. All other times follow from these: nothing else is shared.
    let mut calls = BinaryHeap::new();
    for (number, (clients, arrival)) in crowd.writers(strategy.together).enumerate() {
        let arrived = arrival.as_nanos() as u64 + hop.draw(rng);
        calls.push(Reverse((arrived, number, Call::Read)));
        writers.push(Writer::start(clients, strategy, arrival));
    }
    let mut current = 0;
    let mut service = crowd.limit.map(|(quota, hint)| Service::new(quota, hint));
    let mut outcome = Outcome::default();
    while let Some(Reverse((arrived, writer, call))) = calls.pop() {
        let replied = arrived + hop.draw(rng);
        // What a client does, it does when it has the reply.
        let now = Duration::from_nanos(replied);
        let one = &mut writers[writer];
        match call {
            Call::Read => outcome.reads += 1,
            Call::Write { .. } => outcome.writes += 1,
        }
        let admitted = service.as_mut().map_or(Ok(()), |it| it.call(arrived));
        let decision = match (call, admitted) {
            (_, Err(throttled)) => one.failed(strategy, &throttled, now, rng),
            (Call::Read, Ok(())) => {
                if strategy.is_paced {
                    one.has_read(current, now);
                }
                let write = Call::Write { version: current };
                calls.push(Reverse((replied + hop.draw(rng), writer, write)));
                continue;
            }
            (Call::Write { version }, Ok(())) if version == current => {
                current += 1;
                let clients = one.clients as usize;
                outcome.succeeded.extend(iter::repeat_n(replied, clients));
                outcome.completion = outcome.completion.max(replied);
                continue;
            }
            (Call::Write { .. }, Ok(())) => one.failed(strategy, &Stale, now, rng),
        };
        outcome.completion = outcome.completion.max(replied);
        let Decision::Wait(wait) = decision else {
            outcome.gave_up += one.clients;
            continue;
        };
        let sent = replied + wait.delay.as_nanos() as u64;
        let read = (sent + hop.draw(rng), writer, Call::Read);
        calls.push(Reverse(read));
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategies::CONTENTION;
    use rand::SeedableRng as _;

    const HOP: Duration = Duration::from_millis(10);

    fn ran(clients: u32, over: Duration, strategy: &Strategy) -> Outcome {
        let hop = Hop::millis(10, 0).unwrap();
        let crowd = Crowd::over(clients, hop, over);
        run(&crowd, strategy, &mut SmallRng::seed_from_u64(0))
    }

    #[test]
    fn clients_conflict_only_if_they_come_together() {
        let at_once = Duration::ZERO;
        // One client needs four hops. Of two in step, the second fails at 40 ms, waits 10, and reads
        // and writes once more. Four clients come at 0, 40, 80 and 120 ms.
        for (clients, over, strategy, calls, told) in [
            (1, at_once, 0, 1, &[40][..]),
            (2, at_once, 1, 3, &[40, 90]),
            (4, HOP * 16, 1, 4, &[40, 80, 120, 160]),
        ] {
            let outcome = ran(clients, over, &CONTENTION[strategy]);
            let found = (outcome.writes, outcome.reads, outcome.gave_up);
            assert_eq!(found, (calls, calls, 0), "{clients} clients");
            let told: Vec<u64> = told.iter().map(|millis| millis * 1_000_000).collect();
            assert_eq!(outcome.succeeded, told, "{clients} clients");
            assert_eq!(Some(&outcome.completion), told.last(), "{clients} clients");
        }
    }

    #[test]
    fn a_client_without_attempts_left_gives_up() {
        let mut once = CONTENTION[0];
        once.policy = once.policy.max_attempts(1);
        let outcome = ran(9, Duration::ZERO, &once);
        assert_eq!(outcome.writes, 9);
        assert_eq!(outcome.succeeded.len() + outcome.gave_up as usize, 9);
        assert!(outcome.gave_up > 0);
    }
}
