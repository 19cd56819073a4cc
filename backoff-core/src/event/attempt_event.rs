//! What happened to a call: an attempt has ended, or the call has ended between two attempts.

use crate::{
    facts::fault::{Fault, HintSource},
    judge::Verdict,
    policy::Policy,
    rate::RateChange,
    report::StopReason,
    stage::{EndedBy, Stage},
    state::{Decision, Wait, WaitSource},
};
#[cfg(any(feature = "metrics", feature = "tracing"))]
use core::fmt;
use core::time::Duration;

/// What the log, metrics, spans, reports and hooks read.
#[derive(Clone, Copy)]
#[cfg_attr(
    not(feature = "tracing"),
    allow(dead_code, reason = "only the log reads some fields")
)]
#[doc(hidden)]
pub struct AttemptEvent<'e> {
    /// The name of the operation, or the name of its type.
    pub(crate) name: &'static str,
    /// The host that the operation calls, for log events alone: a label of metrics must have few values.
    pub(crate) host: Option<&'e str>,
    pub(crate) policy: &'e Policy,
    /// The number of the attempt that has ended.
    pub(crate) attempt: u32,
    /// The time since the start, if it was measured.
    pub(crate) elapsed: Option<Duration>,
    /// What is known about the failure.
    pub(crate) fault: Option<&'e dyn Fault>,
    /// The stage at which the attempt ended; nothing between two attempts.
    pub(crate) stage: Option<Stage>,
    /// What ended the attempt. Between two attempts: the clock or a signal, and the operation for any other reason.
    pub(crate) ended_by: EndedBy,
    /// The verdict about an attempt that has just ended by itself or by a timer.
    pub(crate) verdict: Option<Verdict>,
    /// For how long the last attempt ran on after the deadline.
    pub(crate) late: Option<Duration>,
    /// Whether an earlier attempt may have been applied.
    pub(crate) maybe_applied: bool,
    /// The highest number of attempts; `u32::MAX` if only the time is limited.
    pub(crate) most_attempts: u32,
    /// The time that is left, if it is limited and was measured.
    pub(crate) remaining: Option<Duration>,
    /// The name of the budget, the rate or the breaker that ended the call, or of the rate that has changed.
    pub(crate) by: Option<&'static str>,
    /// The type of the error.
    pub(crate) type_name: &'static str,
    pub(crate) step: Step,
}

/// The next step of the call.
#[derive(Clone, Copy)]
#[cfg_attr(
    not(feature = "tracing"),
    allow(dead_code, reason = "only the log reads a rate")
)]
pub(crate) enum Step {
    Waits(Wait),
    GaveUp(StopReason),
    Succeeded,
    /// The reply has changed the rate.
    Rate(RateChange),
}

impl From<Decision> for Step {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Wait(wait) => Step::Waits(wait),
            Decision::Stop(reason) => Step::GaveUp(reason),
        }
    }
}

/// The decision, and for a wait the detail that the error gives about its hint.
pub(crate) fn with_source(decision: Decision, fault: Option<&dyn Fault>) -> Decision {
    match (decision, fault.map(Fault::hint_source)) {
        (Decision::Wait(wait), Some(source)) if wait.source == WaitSource::RetryAfter => {
            let source = match source {
                HintSource::RetryInfo => WaitSource::RetryInfo,
                HintSource::Pause => WaitSource::Pause,
                _ => WaitSource::RetryAfter,
            };
            Decision::Wait(Wait { source, ..wait })
        }
        (decision, _) => decision,
    }
}

impl AttemptEvent<'_> {
    /// The name of the operation, as hooks, logs and metrics say it.
    pub(crate) fn operation(&self) -> &'static str {
        display_name(self.name)
    }

    /// Whether an attempt ended. If not, the call ended between two attempts.
    pub(crate) const fn is_of_an_attempt(&self) -> bool {
        self.stage.is_some()
    }

    /// Whether the operation ended the last attempt. If not, a timer or a signal cut the attempt, or the call ended
    /// between two attempts or before the first one.
    pub(crate) fn is_by_itself(&self) -> bool {
        self.stage.is_some() && self.ended_by == EndedBy::Operation
    }

    /// Whether the judge decided about the error.
    pub(crate) fn is_judged(&self) -> bool {
        self.is_by_itself() && self.stage.is_some_and(Stage::is_judged)
    }

    /// Whether the attempt may have been applied.
    pub(crate) fn may_be_applied(&self) -> bool {
        let judged = self.stage.zip(self.verdict);
        judged.is_some_and(|(stage, verdict)| {
            verdict.may_be_applied(stage, self.ended_by, self.fault)
        })
    }

    /// The kind of the error.
    #[cfg(any(feature = "metrics", feature = "tracing"))]
    pub(crate) fn error_type(&self) -> ErrorType {
        let is_timeout = match self.ended_by {
            EndedBy::Clock => true,
            EndedBy::Signal => false,
            // Between two attempts, the error may come from the attempt before.
            EndedBy::Operation => self.stage.is_none() && self.fault.is_none(),
        };
        if is_timeout {
            return ErrorType::Name("timeout");
        }
        let Some(fault) = self.fault else {
            return OTHER;
        };
        if let Some(code) = ErrorType::code(fault) {
            return code;
        }
        let known = fault.delivery().map(|delivery| delivery.name());
        let known = known.or_else(|| fault.kind().map(|kind| kind.name()));
        known.map_or(OTHER, ErrorType::Name)
    }
}

/// The name of the operation in hooks, logs, spans and metrics: that of a closure is the path of the function that
/// holds the closure. The type of a boxed closure says nothing about the operation, in several hundred characters.
pub(crate) fn display_name(mut path: &'static str) -> &'static str {
    if path.starts_with("alloc::boxed::Box<dyn ") {
        return "boxed closure";
    }
    // A closure in an async function, or in a closure, has several of these.
    while let Some(function) = path.strip_suffix("::{{closure}}") {
        path = function;
    }
    path
}

/// The kind of an error in few words. There are only a few kinds, and none contains the text of an
/// error.
#[cfg(any(feature = "metrics", feature = "tracing"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorType {
    /// The name of a gRPC code, of a failure of the transport, or of the kind.
    Name(&'static str),
    /// The HTTP status.
    Status(u16),
}

#[cfg(any(feature = "metrics", feature = "tracing"))]
impl ErrorType {
    /// The code of a reply.
    pub(crate) fn code(fault: &dyn Fault) -> Option<Self> {
        if let Some(code) = fault.grpc_code() {
            return Some(ErrorType::Name(code.name()));
        }
        // Any other number may be made up by a server, and each number would be a series of its own.
        Some(match fault.status()? {
            status @ 100..=599 => ErrorType::Status(status),
            _ => OTHER,
        })
    }
}

#[cfg(any(feature = "metrics", feature = "tracing"))]
const OTHER: ErrorType = ErrorType::Name("_OTHER");

#[cfg(any(feature = "metrics", feature = "tracing"))]
impl fmt::Display for ErrorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorType::Name(name) => f.write_str(name),
            ErrorType::Status(status) => status.fmt(f),
        }
    }
}

#[cfg(all(test, any(feature = "metrics", feature = "tracing")))]
mod tests {
    use super::*;
    use crate::{
        facts::{fault::FaultKind, grpc::GrpcCode},
        test_error::TestError,
    };

    const POLICY: Policy = Policy::exponential();

    fn attempt_event<'e>(
        ended_by: EndedBy,
        stage: Option<Stage>,
        fault: Option<&'e dyn Fault>,
    ) -> AttemptEvent<'e> {
        AttemptEvent {
            name: "get",
            host: None,
            policy: &POLICY,
            attempt: 1,
            elapsed: None,
            fault,
            stage,
            ended_by,
            verdict: None,
            late: None,
            maybe_applied: false,
            most_attempts: 5,
            remaining: None,
            by: None,
            type_name: "E",
            step: Step::GaveUp(StopReason::Permanent),
        }
    }

    #[test]
    fn each_failure_has_one_name() {
        let status = TestError::status(503);
        let both = TestError::status(409).and_grpc(GrpcCode::Aborted);
        let timed_out = TestError::cut(core::time::Duration::ZERO);
        let stopped = TestError::kind(FaultKind::Permanent);
        let failed = |stage, fault| attempt_event(EndedBy::Operation, Some(stage), fault);
        let cut = |fault| attempt_event(EndedBy::Clock, Some(Stage::Whole), fault);
        let stopped_with = |fault| attempt_event(EndedBy::Signal, Some(Stage::Whole), fault);
        let late = |fault| attempt_event(EndedBy::Operation, None, fault);
        let expired = |fault| attempt_event(EndedBy::Clock, None, fault);
        for (failure, name) in [
            // A gRPC code goes before a status.
            (failed(Stage::Whole, Some(&both)), "ABORTED"),
            (failed(Stage::Read, Some(&status)), "503"),
            (failed(Stage::Whole, None), "_OTHER"),
            (cut(Some(&timed_out)), "timeout"),
            (cut(None), "timeout"),
            (stopped_with(Some(&stopped)), "permanent"),
            (stopped_with(None), "_OTHER"),
            (expired(Some(&status)), "timeout"),
            // A late call has the error of the attempt before, or one that says so.
            (late(Some(&status)), "503"),
            (late(None), "timeout"),
        ] {
            assert_eq!(failure.error_type().to_string(), name);
        }
        assert!(!expired(None).is_of_an_attempt());
        assert!(!late(Some(&status)).is_of_an_attempt());
        // A number that is no status of HTTP is no label.
        for (status, name) in [(99, "_OTHER"), (100, "100"), (599, "599"), (600, "_OTHER")] {
            let error = TestError::status(status);
            let failure = attempt_event(EndedBy::Operation, Some(Stage::Whole), Some(&error));
            assert_eq!(failure.error_type().to_string(), name);
        }
    }
}
