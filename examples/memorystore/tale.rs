//! A line for each call: when, what, what came back, what follows.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use backoff_cloud::http::ApiError;
use backoff_cloud::{DelaySource, Event};
use examples::terminal::say;

/// Tells what happens while it happens, in the service's own time.
#[derive(Debug)]
pub(crate) struct Tale {
    start: Instant,
    /// By how much the run is shortened.
    pace: f64,
    /// The last call, until it is known what follows.
    call: Mutex<Option<String>>,
}

impl Tale {
    pub(crate) fn begin(pace: f64) -> Self {
        line("time", "call", "what came back", "what follows");
        Self {
            start: Instant::now(),
            pace,
            call: Mutex::new(None),
        }
    }

    /// The time since the beginning, as it would be if nothing were shortened.
    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed().div_f64(self.pace)
    }
}
