//! The errors of requests that are not carried out.

use super::reply::error_body;

/// An error in Google's form: an HTTP status, the name of a `google.rpc.Code`, and a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Refusal {
    pub(super) code: u16,
    pub(super) name: &'static str,
    pub(super) message: String,
}

impl Refusal {
    fn new(code: u16, name: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            name,
            message: message.into(),
        }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, "INVALID_ARGUMENT", message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(404, "NOT_FOUND", message)
    }

    /// Another client wrote between the read and the write.
    pub(super) fn aborted(message: impl Into<String>) -> Self {
        Self::new(409, "ABORTED", message)
    }

    pub(super) fn already_exists(message: impl Into<String>) -> Self {
        Self::new(409, "ALREADY_EXISTS", message)
    }

    pub(super) fn failed_precondition(message: impl Into<String>) -> Self {
        Self::new(400, "FAILED_PRECONDITION", message)
    }

    pub(super) fn body(&self) -> String {
        error_body(self.code, self.name, &self.message, None)
    }
}
