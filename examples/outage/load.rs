//! A call every few milliseconds, whether the calls before have ended or not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::interval;

use crate::Error;
use crate::client::invoice;

/// The time between two calls.
pub(crate) const EVERY: Duration = Duration::from_millis(10);

/// What the callers got.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
}

impl Seen {
    pub(crate) fn ended(self) -> u64 {
        self.succeeded + self.failed
    }
}

/// Begins calls for so long, and waits until all have ended.
pub(crate) async fn run(
    service: String,
    lasts: Duration,
    offered: Arc<AtomicU64>,
) -> Result<Seen, Error> {
    let client = reqwest::Client::new();
    let mut calls = JoinSet::new();
    let mut moments = interval(EVERY);
    for number in 0..(lasts.as_nanos() / EVERY.as_nanos()) as u64 {
        moments.tick().await;
        offered.fetch_add(1, Relaxed);
        let (client, service) = (client.clone(), service.clone());
        calls.spawn(async move { (number, invoice(&client, &service, number).await) });
    }
    let mut seen = Seen::default();
    while let Some(ended) = calls.join_next().await {
        match ended? {
            (number, Ok(invoice)) if invoice.number == number => seen.succeeded += 1,
            (number, Ok(other)) => {
                return Err(format!("asked for {number}, got {}", other.number).into());
            }
            (_, Err(_)) => seen.failed += 1,
        }
    }
    Ok(seen)
}
