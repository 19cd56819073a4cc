//! The errors of requests that are not carried out.

use backoff_core::GrpcCode;

use super::reply::error_body;

/// An error in Google's form.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Refusal {
    pub(super) code: GrpcCode,
    pub(super) message: String,
}

impl Refusal {
    fn new(code: GrpcCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(GrpcCode::InvalidArgument, message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(GrpcCode::NotFound, message)
    }

    /// Another client wrote between the read and the write.
    pub(super) fn aborted(message: impl Into<String>) -> Self {
        Self::new(GrpcCode::Aborted, message)
    }

    pub(super) fn already_exists(message: impl Into<String>) -> Self {
        Self::new(GrpcCode::AlreadyExists, message)
    }

    pub(super) fn failed_precondition(message: impl Into<String>) -> Self {
        Self::new(GrpcCode::FailedPrecondition, message)
    }

    pub(super) fn body(&self) -> String {
        error_body(self.code.http_status(), self.code, &self.message, None)
    }
}
