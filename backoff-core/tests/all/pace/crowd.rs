//! Many writers of one resource under a quota of calls, in tokio's virtual time.

use super::{CALL, POLICY};
use crate::common::error::TestError;
use backoff_core::{Tokio, codes};
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
}

impl Service {
    /// A call: whether it is applied, and its error.
    fn call(&mut self) -> (bool, Option<TestError>) {
        let gained = 60.0 * self.filled.elapsed().as_secs_f64();
        (self.tokens, self.filled) = ((self.tokens + gained).min(60.0), Instant::now());
        if self.tokens < 1.0 {
            return (false, Some(TestError::status(429)));
        }
        self.tokens -= 1.0;
        match self.random.random_range(0..100) {
            0..10 => (false, Some(TestError::status(503))),
            10..15 => (true, Some(TestError::status(503))),
            _ => (true, None),
        }
    }
}

/// How long 128 writers take under a quota of 60 calls a second. Each call takes 20 ms, 10 % fail, and 5 % are
/// applied and lose their reply.
async fn crowd(seed: u64) -> Duration {
    const WRITERS: usize = 128;
    let policy = POLICY
        .max_backoff(Duration::from_secs(64))
        .deadline(Duration::from_secs(300))
        .on(codes![412, 429, 503])
        .retry_conflicts(true);
    let service = Arc::new(Mutex::new(Service {
        random: SmallRng::seed_from_u64(seed),
        tokens: 60.0,
        filled: Instant::now(),
        arrived: vec![false; WRITERS],
        writes: 0,
    }));
    let draws = Arc::new(Mutex::new(SmallRng::seed_from_u64(!seed)));
    let start = Instant::now();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (service, draws) = (Arc::clone(&service), Arc::clone(&draws));
            tokio::spawn(async move {
                let read = async || {
                    let (_, error) = service.lock().unwrap().call();
                    tokio::time::sleep(CALL).await;
                    let service = service.lock().unwrap();
                    let value = (service.writes, service.arrived[writer]);
                    error.map_or(Ok(value), Err)
                };
                let write = async |(version, _): (u32, bool)| {
                    let (is_applied, error) = service.lock().unwrap().call();
                    tokio::time::sleep(CALL).await;
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
    start.elapsed()
}

/// If each failed read lengthened all later waits, it would be 65 s.
#[tokio::test(start_paused = true)]
async fn a_crowd_of_writers_under_a_quota_is_not_held_up_by_failed_reads() {
    let mut took = Vec::new();
    for seed in 0..21 {
        took.push(crowd(seed).await.as_secs());
    }
    took.sort_unstable();
    assert!(took[10] <= 35 && took[18] <= 50, "{took:?}");
}
