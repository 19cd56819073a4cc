//! The errors of requests that are not carried out.

use backoff_cloud::GrpcCode;

use crate::reply::error_body;

/// An error in Google's form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) code: GrpcCode,
    message: String,
}

impl Refusal {
    pub(crate) fn new(code: GrpcCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(GrpcCode::InvalidArgument, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(GrpcCode::NotFound, message)
    }

    pub(crate) fn body(&self) -> String {
        error_body(self.code.http_status(), self.code, &self.message, None)
    }
}
