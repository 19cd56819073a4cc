//! The errors of requests that are not carried out.

use backoff_cloud::GrpcCode;

use crate::reply::error_body;

/// An error in Google's form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) code: GrpcCode,
    pub(crate) message: String,
}

impl Refusal {
    fn new(code: GrpcCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(GrpcCode::InvalidArgument, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(GrpcCode::NotFound, message)
    }

    /// Another client wrote between the read and the write.
    pub(crate) fn aborted(message: impl Into<String>) -> Self {
        Self::new(GrpcCode::Aborted, message)
    }

    pub(crate) fn already_exists(message: impl Into<String>) -> Self {
        Self::new(GrpcCode::AlreadyExists, message)
    }

    pub(crate) fn failed_precondition(message: impl Into<String>) -> Self {
        Self::new(GrpcCode::FailedPrecondition, message)
    }

    pub(crate) fn body(&self) -> String {
        error_body(self.code.http_status(), self.code, &self.message, None)
    }
}
