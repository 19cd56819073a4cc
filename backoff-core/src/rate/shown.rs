//! The metrics of a rate that has a name. [`telemetry`](crate::telemetry) lists them.

use super::{RateReply, Shared};
use crate::telemetry;
use core::time::Duration;
use metrics::{counter, gauge, histogram};

impl Shared {
    /// A call has left the queue for an attempt.
    pub(super) fn show_wait(&self, waited: Duration) {
        let Some(name) = self.name.in_metrics() else {
            return;
        };
        histogram!("retry.rate.delay", "retry.rate" => name).record(waited.as_secs_f64());
        self.show();
    }

    /// An attempt has ended.
    pub(super) fn show_reply(&self, reply: RateReply, changes: bool) {
        let Some(name) = self.name.in_metrics() else {
            return;
        };
        let is_refused = reply != RateReply::Admitted;
        if is_refused {
            counter!("retry.rate.refused", "retry.rate" => name).increment(1);
        }
        if is_refused || changes {
            self.show();
        }
    }

    /// The calls a second, and how many calls wait.
    pub(super) fn show(&self) {
        let Some(name) = self.name.in_metrics() else {
            return;
        };
        telemetry::describe_once();
        let state = self.lock();
        let rate = state.control.per_second().unwrap_or(f64::INFINITY);
        let waiting = state.line.len();
        drop(state);
        gauge!("retry.rate.limit", "retry.rate" => name).set(rate);
        gauge!("retry.rate.waiting", "retry.rate" => name).set(waiting as f64);
    }
}
