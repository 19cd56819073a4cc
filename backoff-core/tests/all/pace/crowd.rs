//! Many writers of one resource under a quota of calls, in tokio's virtual time.

use super::{CALL, MS};
use crate::common::error::TestError;
use backoff_core::{Policy, Tokio, codes};
use rand::{RngExt as _, SeedableRng as _, rngs::SmallRng};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::Instant;

/// A policy that many writers change, under a quota of calls.
struct Service {
    random: SmallRng,
    tokens: f64,
    filled: Instant,
    /// The writers whose change arrived: their number is the version.
    arrived: Vec<bool>,
    writes: u32,
    calls: u32,
    /// Some calls fail, and some replies are lost.
    fails: bool,
}

impl Service {
    /// A call: whether it is applied, and its error.
    fn call(&mut self) -> (bool, Option<TestError>) {
        self.calls += 1;
        let gained = 60.0 * self.filled.elapsed().as_secs_f64();
        (self.tokens, self.filled) = ((self.tokens + gained).min(60.0), Instant::now());
        if self.tokens < 1.0 {
            return (false, Some(TestError::status(429)));
        }
        self.tokens -= 1.0;
        match self.random.random_range(0..100) {
            _ if !self.fails => (true, None),
            0..10 => (false, Some(TestError::status(503))),
            10..15 => (true, Some(TestError::status(503))),
            _ => (true, None),
        }
    }
}

/// Who writes: the first range of the waits, the time of a call, and whether the service fails: 10 % of the calls
/// fail, and 5 % are applied and lose their reply.
#[derive(Clone, Copy, Debug)]
struct Crowd {
    base: Duration,
    call: Duration,
    fails: bool,
}

const WRITERS: usize = 128;

/// How many calls 128 writers make under a quota of 60 calls a second, and how many milliseconds they take.
async fn crowd(seed: u64, Crowd { base, call, fails }: Crowd) -> [u64; 2] {
    let policy = Policy::exponential()
        .base(base)
        .max_backoff(64 * base)
        .deadline(Duration::from_secs(60))
        .on(codes![412, 429, 503])
        .retry_conflicts(true);
    let service = Arc::new(Mutex::new(Service {
        random: SmallRng::seed_from_u64(seed),
        tokens: 60.0,
        filled: Instant::now(),
        arrived: vec![false; WRITERS],
        writes: 0,
        calls: 0,
        fails,
    }));
    let draws = Arc::new(Mutex::new(SmallRng::seed_from_u64(!seed)));
    let start = Instant::now();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (service, draws) = (Arc::clone(&service), Arc::clone(&draws));
            tokio::spawn(async move {
                let read = async || {
                    let (_, error) = service.lock().unwrap().call();
                    tokio::time::sleep(call).await;
                    let service = service.lock().unwrap();
                    let value = (service.writes, service.arrived[writer]);
                    error.map_or(Ok(value), Err)
                };
                let write = async |(version, _): (u32, bool)| {
                    let (is_applied, error) = service.lock().unwrap().call();
                    tokio::time::sleep(call).await;
                    let mut service = service.lock().unwrap();
                    if is_applied && version != service.writes {
                        return Err(TestError::status(412));
                    }
                    if is_applied {
                        service.writes += 1;
                        service.arrived[writer] = true;
                    }
                    error.map_or(Ok(()), Err)
                };
                let change = |(_, has_arrived): &mut (u32, bool)| !*has_arrived;
                let update = policy.update(read, change, write);
                let update = update.version(|(version, _)| version.to_string());
                update.runtime((Tokio, &*draws)).await
            })
        })
        .collect();
    for writer in writers {
        assert!(writer.await.unwrap().is_ok());
    }
    let service = service.lock().unwrap();
    assert_eq!(service.arrived, [true; WRITERS]);
    assert_eq!(service.writes, WRITERS as u32);
    [service.calls.into(), start.elapsed().as_millis() as u64]
}

/// A throttled failure says what the service can take, whatever this writer does next. When each answered read
/// restarted their count, the first crowd made 51,000 calls in 60 s, and at most one of its writers arrived.
#[tokio::test(start_paused = true)]
async fn a_crowd_of_writers_under_a_quota_is_soon_done() {
    let near = Crowd {
        base: 20 * MS,
        call: 5 * MS,
        fails: false,
    };
    let failing = Crowd {
        base: 1_000 * MS,
        call: CALL,
        fails: true,
    };
    // The medians, and the 90th percentiles.
    for (who, most) in [
        (near, [[4_400, 19_000], [4_800, 21_000]]),
        (failing, [[1_000, 22_000], [1_020, 33_000]]),
    ] {
        let (mut calls, mut took) = (Vec::new(), Vec::new());
        for seed in 0..21 {
            let [made, millis] = crowd(seed, who).await;
            calls.push(made);
            took.push(millis);
        }
        calls.sort_unstable();
        took.sort_unstable();
        for (at, [most_calls, longest]) in [10, 18].into_iter().zip(most) {
            assert!(calls[at] <= most_calls, "{who:?}: {calls:?}");
            assert!(took[at] <= longest, "{who:?}: {took:?}");
        }
    }
}
