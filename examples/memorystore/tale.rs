//! A line for each call: when, what, what came back, what follows.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use backoff_cloud::http::ApiError;
use backoff_cloud::{Event, WaitSource};
use examples::terminal::say;

/// Tells what happens while it happens, in the times of a run that is not shortened.
#[derive(Debug)]
pub(crate) struct Tale {
    start: Instant,
    pace: f64,
    /// The last call, until it is known what follows.
    last: Mutex<Option<Call>>,
}

#[derive(Debug)]
struct Call {
    begun: Duration,
    name: &'static str,
    came_back: String,
}

impl Tale {
    /// Begins to count the time. `pace` is what the times of the run are multiplied with.
    pub(crate) fn begin(pace: f64) -> Self {
        print(["time", "call", "what came back", "what follows"]);
        Self {
            start: Instant::now(),
            pace,
            last: Mutex::new(None),
        }
    }

    /// The time since the beginning.
    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed().div_f64(self.pace)
    }

    /// A call was made, and this came back.
    pub(crate) fn called(&self, begun: Duration, name: &'static str, came_back: String) {
        *self.last() = Some(Call {
            begun,
            name,
            came_back,
        });
    }

    /// What follows from the last call.
    pub(crate) fn follows(&self, what: &str) {
        if let Some(call) = self.last().take() {
            let begun = format!("{:.1} s", call.begun.as_secs_f64());
            print([&begun, call.name, &call.came_back, what]);
        }
    }

    /// What follows from the last call, if that is up to a policy.
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
    // Whether anybody reads it is no concern of the calls.
    let _ = say(&format!(
        "{time:>8}  {call:<20}  {came_back:<30}  {follows}\n"
    ));
}
