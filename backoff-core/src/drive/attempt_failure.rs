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
    #[cfg(any(feature = "metrics", feature = "tracing"))]
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
        if let Some(code) = fault.grpc_code() {
            return ErrorType::Name(code.name());
        }
        if let Some(status) = fault.status() {
            return ErrorType::Status(status);
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
pub(super) enum ErrorType {
    /// The name of a gRPC code, of a failure of the transport, or of the kind.
    Name(&'static str),
    /// The HTTP status.
    Status(u16),
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
        drive::stopping::Stopped,
        facts::{fault::TimedOut, grpc::GrpcCode},
    };
    use core::time::Duration;

    struct Api(u16, Option<GrpcCode>);

    impl Fault for Api {
        fn status(&self) -> Option<u16> {
            Some(self.0)
        }
        fn grpc_code(&self) -> Option<GrpcCode> {
            self.1
        }
    }

    fn named(attempt_failure: AttemptFailure<'_>) -> String {
        attempt_failure.error_type().to_string()
    }

    #[test]
    fn a_grpc_code_goes_before_a_status() {
        let both = Api(409, Some(GrpcCode::Aborted));
        assert_eq!(
            named(AttemptFailure::failed(Stage::Whole, Some(&both))),
            "ABORTED"
        );
        let status = Api(503, None);
        assert_eq!(
            named(AttemptFailure::failed(Stage::Write, Some(&status))),
            "503"
        );
        assert_eq!(named(AttemptFailure::failed(Stage::Whole, None)), "_OTHER");
    }

    #[test]
    fn an_attempt_that_a_timer_cut_is_a_timeout_and_one_that_a_signal_cut_is_none() {
        let late = TimedOut::new(Duration::ZERO);
        assert_eq!(
            named(AttemptFailure::failed(Stage::Cut, Some(&late))),
            "timeout"
        );
        assert_eq!(
            named(AttemptFailure::failed(Stage::CutRead, None)),
            "timeout"
        );
        let stopped = Stopped::new();
        for stage in [Stage::Cut, Stage::CutOnce] {
            let attempt_failure = AttemptFailure::stopped(stage, Some(&stopped));
            assert_eq!(named(attempt_failure), "permanent");
            assert_eq!(named(AttemptFailure::stopped(stage, None)), "_OTHER");
        }
    }

    #[test]
    fn a_late_call_has_the_error_of_the_attempt_before_or_one_that_says_so() {
        let late = Api(504, None);
        assert_eq!(named(AttemptFailure::expired(Some(&late))), "timeout");
        assert!(!AttemptFailure::expired(None).is_of_an_attempt());
        let status = Api(503, None);
        let attempt_failure = AttemptFailure::failed(Stage::Late, Some(&status));
        assert_eq!(named(attempt_failure), "503");
        assert_eq!(named(AttemptFailure::failed(Stage::Late, None)), "timeout");
        assert!(!attempt_failure.is_of_an_attempt());
    }
}
