//! How an attempt failed, for metrics and spans: their label `error.type`.

use crate::{facts::fault::Fault, judge::Stage};
use core::fmt;

/// How an attempt failed, after it was judged.
#[derive(Clone, Copy)]
#[cfg_attr(
    not(any(feature = "metrics", feature = "tracing")),
    allow(dead_code, reason = "only metrics and spans read it")
)]
pub struct AttemptFailure<'a> {
    stage: Stage,
    ended_by: EndedBy,
    fault: Option<&'a dyn Fault>,
}

/// The cause that ended an attempt, or a call between two attempts.
#[derive(Clone, Copy, Debug)]
enum EndedBy {
    /// The operation, or a timer that cut the attempt.
    Failure,
    /// A signal.
    Signal,
    /// The time is over, as the error says.
    Clock,
}

impl fmt::Debug for AttemptFailure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttemptFailure")
            .field("stage", &self.stage)
            .field("ended_by", &self.ended_by)
            .finish_non_exhaustive()
    }
}

impl<'a> AttemptFailure<'a> {
    /// This stage of an attempt failed, perhaps because a timer cut the attempt. A call that is too late
    /// for an attempt returns the last failure.
    #[inline]
    pub(crate) const fn failed(stage: Stage, fault: Option<&'a dyn Fault>) -> Self {
        AttemptFailure {
            stage,
            ended_by: EndedBy::Failure,
            fault,
        }
    }

    /// A value counts as a failure.
    #[inline]
    pub(crate) const fn of_value(fault: &'a dyn Fault) -> Self {
        Self::failed(Stage::Whole, Some(fault))
    }

    /// A signal has ended the call.
    #[inline]
    pub(crate) const fn stopped(stage: Stage, fault: Option<&'a dyn Fault>) -> Self {
        AttemptFailure {
            stage,
            ended_by: EndedBy::Signal,
            fault,
        }
    }

    /// The call is too late for an attempt, and returns an error that says so.
    #[inline]
    pub(crate) const fn expired(fault: Option<&'a dyn Fault>) -> Self {
        AttemptFailure {
            stage: Stage::Late,
            ended_by: EndedBy::Clock,
            fault,
        }
    }

    /// The stage that failed.
    #[inline]
    pub(crate) const fn stage(&self) -> Stage {
        self.stage
    }

    /// Whether an attempt ended. If not, the call ended between two attempts.
    pub(super) fn is_of_an_attempt(&self) -> bool {
        self.stage != Stage::Late
    }

    /// The kind of the error.
    #[cfg(any(feature = "metrics", feature = "tracing"))]
    pub(super) fn error_type(&self) -> ErrorType {
        let is_timeout = match (self.ended_by, self.stage) {
            (EndedBy::Clock, _) => true,
            (EndedBy::Signal, _) => false,
            // The error may come from the attempt before.
            (EndedBy::Failure, Stage::Late) => self.fault.is_none(),
            (EndedBy::Failure, stage) => stage.is_cut(),
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
    use crate::{facts::grpc::GrpcCode, test_error::TestError};

    #[test]
    fn each_failure_has_one_name() {
        let status = TestError::status(503);
        let both = TestError::status(409).and_grpc(GrpcCode::Aborted);
        let late = TestError::cut(core::time::Duration::ZERO);
        let stopped = crate::drive::stopping::Stopped::new();
        let (failed, stopped_at) = (AttemptFailure::failed, AttemptFailure::stopped);
        for (failure, name) in [
            // A gRPC code goes before a status.
            (failed(Stage::Whole, Some(&both)), "ABORTED"),
            (failed(Stage::Write, Some(&status)), "503"),
            (failed(Stage::Whole, None), "_OTHER"),
            (failed(Stage::Cut, Some(&late)), "timeout"),
            (failed(Stage::CutRead, None), "timeout"),
            (stopped_at(Stage::Cut, Some(&stopped)), "permanent"),
            (stopped_at(Stage::CutOnce, Some(&stopped)), "permanent"),
            (stopped_at(Stage::Cut, None), "_OTHER"),
            (stopped_at(Stage::CutOnce, None), "_OTHER"),
            (AttemptFailure::expired(Some(&status)), "timeout"),
            // A late call has the error of the attempt before, or one that says so.
            (failed(Stage::Late, Some(&status)), "503"),
            (failed(Stage::Late, None), "timeout"),
        ] {
            assert_eq!(failure.error_type().to_string(), name);
        }
        assert!(!AttemptFailure::expired(None).is_of_an_attempt());
        assert!(!failed(Stage::Late, Some(&status)).is_of_an_attempt());
    }

    #[test]
    fn a_number_that_is_no_status_of_http_is_no_label() {
        for (status, name) in [(99, "_OTHER"), (100, "100"), (599, "599"), (600, "_OTHER")] {
            let error = TestError::status(status);
            let failed = AttemptFailure::failed(Stage::Whole, Some(&error));
            assert_eq!(failed.error_type().to_string(), name);
        }
    }
}
