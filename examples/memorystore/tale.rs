//! Prints a line for each call: its time, its name, its answer, and what happens next.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use backoff_cloud::http::ApiError;
use backoff_cloud::{Event, WaitSource};
use examples::terminal::say;

/// Prints each call when it ends. The printed times are the full times.
#[derive(Debug)]
pub(crate) struct Tale {
    start: Instant,
    pace: f64,
    /// The last call, until the program knows what happens next.
    last: Mutex<Option<Call>>,
}

#[derive(Debug)]
struct Call {
    begun: Duration,
    name: &'static str,
    came_back: String,
}

impl Tale {
    /// Begins to count the time. `pace` is the factor of all times of the run.
    pub(crate) fn begin(pace: f64) -> Self {
        print(["time", "call", "answer", "next"]);
        Self {
            start: Instant::now(),
            pace,
            last: Mutex::new(None),
        }
    }

    /// The time since the start, as a full time.
    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed().div_f64(self.pace)
    }

    /// Remembers a call and its answer, until the next step is known.
    pub(crate) fn called(&self, begun: Duration, name: &'static str, came_back: String) {
        *self.last() = Some(Call {
            begun,
            name,
            came_back,
        });
    }

    /// Prints the last call, with what the program does next.
    pub(crate) fn follows(&self, what: &str) {
        if let Some(call) = self.last().take() {
            let begun = format!("{:.1} s", call.begun.as_secs_f64());
            print([&begun, call.name, &call.came_back, what]);
        }
    }

    /// Prints the last call, with what the policy decided.
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

    fn last(&self) -> MutexGuard<'_, Option<Call>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn print([time, call, came_back, follows]: [&str; 4]) {
    // The calls go on even if nobody reads the output.
    let _ = say(&format!(
        "{time:>8}  {call:<20}  {came_back:<30}  {follows}\n"
    ));
}
