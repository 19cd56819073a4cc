//! Prints what the program does and why, with full times.

use std::time::{Duration, Instant};

use backoff_cloud::http::ApiError;
use backoff_cloud::{Event, WaitSource};
use examples::terminal::say;

pub(crate) struct Tale {
    start: Instant,
    /// The factor of all times of the run.
    pace: f64,
}

impl Tale {
    pub(crate) fn begin(pace: f64) -> Self {
        let start = Instant::now();
        Self { start, pace }
    }

    /// The time since the start, as a full time.
    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed().div_f64(self.pace)
    }

    /// Prints a call and its answer.
    pub(crate) fn called(&self, begun: Duration, name: &str, came_back: &str) {
        let begun = begun.as_secs_f64();
        print(&format!("{begun:>6.1} s  {name}: {came_back}"));
    }

    /// Prints what the program does next.
    pub(crate) fn follows(&self, what: &str) {
        print(&format!("          {what}"));
    }

    /// Prints what the policy decided.
    pub(crate) fn decided(&self, event: &Event<'_, ApiError>) {
        match event {
            Event::Waiting { wait, .. } => {
                let delay = wait.delay.div_f64(self.pace).as_secs_f64();
                let by = match wait.source {
                    WaitSource::Backoff => "",
                    _ => ", as the service asks",
                };
                self.follows(&format!("again in {delay:.1} s{by}"));
            }
            Event::GaveUp { reason, .. } => self.follows(&format!("give up: {}", reason.name())),
            _ => {}
        }
    }
}

/// A line that cannot be printed changes nothing.
fn print(line: &str) {
    let _ = say(&format!("{line}\n"));
}
