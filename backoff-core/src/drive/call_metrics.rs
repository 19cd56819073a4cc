//! The metrics of a call, with the feature `metrics`. Their names and labels are listed in
//! [`telemetry`](crate::telemetry).

use super::{attempt_failure::ErrorType, context::Context};
use crate::{budget::Budget, report::StopReason, runtime::nanos, telemetry};
use core::time::Duration;
use metrics::{Label, gauge, histogram};

/// The state of a call for its metrics. A call that is dropped records nothing more.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallMetrics {
    /// When the running attempt began, in nanoseconds of the call's clock; [`UNKNOWN`] if the beginning is
    /// unknown.
    began: u64,
    /// The time in which no attempt ran, in nanoseconds; [`UNKNOWN`] if the first waits are unknown.
    waited: u64,
}

/// Only the caller knows when the attempt began, or how long the call has waited.
const UNKNOWN: u64 = u64::MAX;

/// The operation that the metrics belong to.
#[derive(Clone, Copy)]
pub(super) struct Labels {
    operation: &'static str,
    policy: Option<&'static str>,
}

impl Labels {
    /// The operation of this call, and the name of its policy.
    pub(super) fn of(context: &Context<'_>) -> Self {
        Labels {
            operation: context.operation(),
            policy: context.policy.name,
        }
    }

    /// The labels of all metrics, and room for those of a call.
    fn labels(self) -> Vec<Label> {
        let mut labels = Vec::with_capacity(5);
        labels.push(Label::from_static_parts("retry.operation", self.operation));
        if let Some(policy) = self.policy {
            labels.push(Label::from_static_parts("retry.policy", policy));
        }
        labels
    }
}

/// How a call ended.
#[derive(Clone, Copy)]
pub(super) struct Ended {
    /// How many attempts were made.
    pub(super) attempts: u32,
    pub(super) elapsed: Duration,
    /// The reason why the call was given up, if it was.
    pub(super) reason: Option<StopReason>,
}

impl Ended {
    const fn outcome(self) -> &'static str {
        match (self.reason, self.attempts) {
            (None, ..=1) => "successful_without_retry",
            (None, _) => "successful_with_retry",
            (Some(_), ..=1) => "failed_without_retry",
            (Some(_), _) => "failed_with_retry",
        }
    }
}

impl CallMetrics {
    /// No attempt has begun.
    pub(super) const NEW: Self = CallMetrics {
        began: UNKNOWN,
        waited: 0,
    };

    /// An attempt begins.
    pub(super) fn begins(&mut self, now: Duration) {
        self.ends_waiting(now);
        self.began = nanos(now);
    }

    /// The beginning of the next attempt is unknown until [`begins`](Self::begins).
    pub(super) fn rests(&mut self) {
        self.began = UNKNOWN;
    }

    /// Attempts have failed, and nothing more is known about them.
    pub(super) fn missed(&mut self) {
        self.began = UNKNOWN;
        self.waited = UNKNOWN;
    }

    /// A wait follows, after which the next attempt begins.
    pub(super) fn waits(&mut self, now: Duration, wait: Duration) {
        let delay = nanos(wait);
        self.waited = self.waited.saturating_add(delay);
        self.began = nanos(now).saturating_add(delay);
    }

    /// The call waits no longer: for its next attempt, or for its turn at its rate. The wait was longer or
    /// shorter than intended.
    pub(super) fn ends_waiting(&mut self, now: Duration) {
        if self.began != UNKNOWN && self.waited != UNKNOWN {
            let waited = self.waited.saturating_add(nanos(now));
            self.waited = waited.saturating_sub(self.began);
        }
    }

    /// An attempt ended. If its beginning is unknown, no duration is recorded.
    pub(super) fn attempt(self, labels: Labels, now: Duration, error_type: Option<ErrorType>) {
        if self.began == UNKNOWN {
            return;
        }
        telemetry::describe_once();
        let mut labels = labels.labels();
        labels.extend(error_type.map(of_type));
        let lasted = Duration::from_nanos(nanos(now).saturating_sub(self.began));
        histogram!("retry.attempt.duration", labels).record(lasted.as_secs_f64());
    }

    /// The call ended.
    pub(super) fn call(self, labels: Labels, ended: Ended, error_type: Option<ErrorType>) {
        telemetry::describe_once();
        let mut labels = labels.labels();
        labels.push(Label::from_static_parts("retry.outcome", ended.outcome()));
        if let Some(retries @ 1..) = ended.attempts.checked_sub(1) {
            histogram!("retry.call.retries", labels.clone()).record(f64::from(retries));
            if self.waited != UNKNOWN {
                let waited = Duration::from_nanos(self.waited);
                histogram!("retry.call.delay", labels.clone()).record(waited.as_secs_f64());
            }
        }
        if let Some(reason) = ended.reason {
            labels.push(Label::from_static_parts("retry.stop_reason", reason.name()));
        }
        labels.extend(error_type.map(of_type));
        histogram!("retry.call.duration", labels).record(ended.elapsed.as_secs_f64());
    }
}

/// A budget was asked for tokens, or was refilled.
pub(super) fn level(budget: Option<&Budget>) {
    if let Some(budget) = budget
        && let Some(name) = budget.label()
    {
        gauge!("retry.budget.level", "retry.budget" => name).set(budget.tokens());
    }
}

fn of_type(error_type: ErrorType) -> Label {
    match error_type {
        ErrorType::Name(name) => Label::from_static_parts("error.type", name),
        ErrorType::Status(status) => Label::new("error.type", status.to_string()),
    }
}
