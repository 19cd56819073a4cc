//! The metrics of a call, with the feature `metrics`. Their names and labels are listed in
//! [`telemetry`](crate::telemetry).

use super::attempt_event::{AttemptEvent, ErrorType, Step};
use crate::{budget::Budget, policy::Policy, report::StopReason, runtime::nanos, telemetry};
use core::{
    mem::size_of_val,
    ptr,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::Duration,
};
use metrics::{
    IntoF64, Key, Label, Level, Metadata, Recorder, counter, gauge, histogram, with_recorder,
};

/// The address of the recorder that stands in where none is installed, once it is known.
static ABSENT: AtomicUsize = AtomicUsize::new(0);

/// Whether a recorder gets metrics.
#[inline]
pub(crate) fn has_recorder() -> bool {
    with_recorder(|recorder| {
        let address = ptr::from_ref(recorder).cast::<()>().addr();
        size_of_val(recorder) > 0
            || address != ABSENT.load(Relaxed) && takes_values(recorder, address)
    })
}

/// Whether a recorder of no size takes values. The one that stands in for none does not.
#[cold]
fn takes_values(recorder: &dyn Recorder, address: usize) -> bool {
    let metadata = Metadata::new(module_path!(), Level::INFO, None);
    let histogram = recorder.register_histogram(&Key::from_static_name(DURATION), &metadata);
    let mut is_taken = false;
    histogram.record_many(Seen(&mut is_taken), 0);
    if !is_taken {
        ABSENT.store(address, Relaxed);
    }
    is_taken
}

/// A value that tells whether it was taken.
struct Seen<'a>(&'a mut bool);

impl IntoF64 for Seen<'_> {
    fn into_f64(self) -> f64 {
        *self.0 = true;
        0.0
    }
}

const DURATION: &str = "retry.call.duration";

/// The state of a call for its metrics. A call that is dropped records nothing more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallMetrics {
    /// When the running attempt began, in nanoseconds of the call's clock; [`UNKNOWN`] if the beginning is
    /// unknown, and [`OFF`] if the call is not recorded.
    began: u64,
    /// The time in which no attempt ran, in nanoseconds; [`UNKNOWN`] if the first waits are unknown.
    waited: u64,
}

/// Only the caller knows when the attempt began, or how long the call has waited.
const UNKNOWN: u64 = u64::MAX;
/// The call is not recorded.
const OFF: u64 = u64::MAX - 1;

/// The labels of all metrics of a call, and room for those of its end.
fn labels(operation: &'static str, policy: &Policy) -> Vec<Label> {
    let mut labels = Vec::with_capacity(5);
    labels.push(Label::from_static_parts("retry.operation", operation));
    if let Some(policy) = policy.name {
        labels.push(Label::from_static_parts("retry.policy", policy));
    }
    labels
}

const fn outcome(reason: Option<StopReason>, attempts: u32) -> &'static str {
    match (reason, attempts) {
        (None, ..=1) => "successful_without_retry",
        (None, _) => "successful_with_retry",
        (Some(_), ..=1) => "failed_without_retry",
        (Some(_), _) => "failed_with_retry",
    }
}

impl CallMetrics {
    /// No attempt has begun.
    pub(crate) const NEW: Self = CallMetrics {
        began: OFF,
        waited: 0,
    };

    /// Whether the call is recorded.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.began != OFF
    }

    /// An attempt begins.
    pub(crate) fn begins(&mut self, now: Duration) {
        self.ends_waiting(now);
        self.began = nanos(now).min(OFF - 1);
    }

    /// The beginning of the next attempt is unknown until [`begins`](Self::begins).
    pub(crate) fn forget_beginning(&mut self) {
        if self.is_on() {
            self.began = UNKNOWN;
        }
    }

    /// Attempts have failed, and nothing more is known about them.
    pub(crate) fn missed(&mut self) {
        self.began = UNKNOWN;
        self.waited = UNKNOWN;
    }

    /// The call waits no longer: for its next attempt, or for its turn at its rate. The wait was longer or
    /// shorter than intended.
    pub(crate) fn ends_waiting(&mut self, now: Duration) {
        if self.began < OFF && self.waited != UNKNOWN {
            let waited = self.waited.saturating_add(nanos(now));
            self.waited = waited.saturating_sub(self.began);
        }
    }

    /// An attempt ended, or the call ended between two attempts.
    pub(crate) fn record(&mut self, event: &AttemptEvent<'_>, now: Duration) {
        if !self.is_on() {
            return;
        }
        let error_type = match event.step {
            Step::Rate(_) => return,
            Step::Succeeded => None,
            Step::Waits(_) | Step::GaveUp(_) => Some(event.error_type()),
        };
        if event.is_of_an_attempt() {
            self.attempt(event, now, error_type);
        } else {
            self.ends_waiting(now);
        }
        match event.step {
            // After this wait the next attempt begins.
            Step::Waits(wait) => {
                let delay = nanos(wait.delay);
                self.waited = self.waited.saturating_add(delay);
                self.began = nanos(now).saturating_add(delay).min(OFF - 1);
            }
            Step::GaveUp(reason) => self.call(event, Some(reason), error_type),
            _ => self.call(event, None, error_type),
        }
    }

    /// An attempt ended. If its beginning is unknown, no duration is recorded.
    fn attempt(self, event: &AttemptEvent<'_>, now: Duration, error_type: Option<ErrorType>) {
        if self.began == UNKNOWN {
            return;
        }
        telemetry::describe_once();
        let mut labels = labels(event.operation(), event.policy);
        labels.extend(error_type.map(of_type));
        let lasted = Duration::from_nanos(nanos(now).saturating_sub(self.began));
        histogram!("retry.attempt.duration", labels).record(lasted);
    }

    /// The call ended.
    fn call(
        self,
        event: &AttemptEvent<'_>,
        reason: Option<StopReason>,
        error_type: Option<ErrorType>,
    ) {
        telemetry::describe_once();
        let attempts = event.attempt;
        let mut labels = labels(event.operation(), event.policy);
        labels.push(Label::from_static_parts(
            "retry.outcome",
            outcome(reason, attempts),
        ));
        if let Some(retries @ 1..) = attempts.checked_sub(1) {
            histogram!("retry.call.retries", labels.clone()).record(retries);
            if self.waited != UNKNOWN {
                let waited = Duration::from_nanos(self.waited);
                histogram!("retry.call.delay", labels.clone()).record(waited);
            }
        }
        if let Some(reason) = reason {
            labels.push(Label::from_static_parts("retry.stop_reason", reason.name()));
        }
        labels.extend(error_type.map(of_type));
        let elapsed = event.elapsed.unwrap_or_default();
        histogram!(DURATION, labels).record(elapsed);
    }
}

/// A budget was asked for tokens, or was refilled.
pub(crate) fn level(budget: Option<&Budget>) {
    if let Some(budget) = budget
        && let Some(name) = budget.name.in_metrics()
        && has_recorder()
    {
        gauge!("retry.budget.level", "retry.budget" => name).set(budget.tokens());
    }
}

/// An attempt gets a second request, or has its first success from one.
pub(crate) fn hedged(operation: &'static str, policy: &Policy, wins: bool) {
    telemetry::describe_once();
    let name = match wins {
        true => "retry.hedge.won",
        false => "retry.hedge.sent",
    };
    counter!(name, labels(operation, policy)).increment(1);
}

fn of_type(error_type: ErrorType) -> Label {
    match error_type {
        ErrorType::Name(name) => Label::from_static_parts("error.type", name),
        ErrorType::Status(status) => Label::new("error.type", status.to_string()),
    }
}
