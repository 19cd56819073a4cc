//! The canonical gRPC codes, as `google.rpc.Code` lists them.

/// A canonical gRPC status code of a failure.
///
/// Google's HTTP/JSON services use the same codes, as `error.status` of the reply's body. `OK` is
/// missing, because `OK` is not a failure.
///
/// Source: `google/rpc/code.proto` (numbers, names, and the HTTP status of each code).
///
/// ```
/// use backoff_core::GrpcCode;
///
/// assert_eq!(GrpcCode::from_name("ABORTED"), Some(GrpcCode::Aborted));
/// assert_eq!(GrpcCode::from_number(14), Some(GrpcCode::Unavailable));
/// assert_eq!(GrpcCode::Aborted.http_status(), 409);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are the specification's own")]
pub enum GrpcCode {
    Cancelled = 1,
    Unknown = 2,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    NotFound = 5,
    AlreadyExists = 6,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Aborted = 10,
    OutOfRange = 11,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
    DataLoss = 15,
    Unauthenticated = 16,
}

impl GrpcCode {
    /// All codes, in the order of their numbers.
    pub const ALL: [GrpcCode; 16] = [
        GrpcCode::Cancelled,
        GrpcCode::Unknown,
        GrpcCode::InvalidArgument,
        GrpcCode::DeadlineExceeded,
        GrpcCode::NotFound,
        GrpcCode::AlreadyExists,
        GrpcCode::PermissionDenied,
        GrpcCode::ResourceExhausted,
        GrpcCode::FailedPrecondition,
        GrpcCode::Aborted,
        GrpcCode::OutOfRange,
        GrpcCode::Unimplemented,
        GrpcCode::Internal,
        GrpcCode::Unavailable,
        GrpcCode::DataLoss,
        GrpcCode::Unauthenticated,
    ];

    /// The code with this number on the wire; `None` for 0 (`OK`) and for undefined numbers.
    pub const fn from_number(number: i32) -> Option<Self> {
        if number >= 1 && number <= 16 {
            Some(Self::ALL[number as usize - 1])
        } else {
            None
        }
    }

    /// The code with this name, as in JSON bodies: `"ABORTED"`.
    #[inline]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.name() == name)
    }

    /// The number on the wire, 1 to 16.
    pub const fn number(self) -> i32 {
        self as i32
    }

    /// The name as the specification writes it: `"ABORTED"`.
    pub const fn name(self) -> &'static str {
        match self {
            GrpcCode::Cancelled => "CANCELLED",
            GrpcCode::Unknown => "UNKNOWN",
            GrpcCode::InvalidArgument => "INVALID_ARGUMENT",
            GrpcCode::DeadlineExceeded => "DEADLINE_EXCEEDED",
            GrpcCode::NotFound => "NOT_FOUND",
            GrpcCode::AlreadyExists => "ALREADY_EXISTS",
            GrpcCode::PermissionDenied => "PERMISSION_DENIED",
            GrpcCode::ResourceExhausted => "RESOURCE_EXHAUSTED",
            GrpcCode::FailedPrecondition => "FAILED_PRECONDITION",
            GrpcCode::Aborted => "ABORTED",
            GrpcCode::OutOfRange => "OUT_OF_RANGE",
            GrpcCode::Unimplemented => "UNIMPLEMENTED",
            GrpcCode::Internal => "INTERNAL",
            GrpcCode::Unavailable => "UNAVAILABLE",
            GrpcCode::DataLoss => "DATA_LOSS",
            GrpcCode::Unauthenticated => "UNAUTHENTICATED",
        }
    }

    /// The HTTP status of this code in Google's HTTP/JSON replies.
    pub const fn http_status(self) -> u16 {
        match self {
            GrpcCode::InvalidArgument | GrpcCode::FailedPrecondition | GrpcCode::OutOfRange => 400,
            GrpcCode::Unauthenticated => 401,
            GrpcCode::PermissionDenied => 403,
            GrpcCode::NotFound => 404,
            GrpcCode::AlreadyExists | GrpcCode::Aborted => 409,
            GrpcCode::ResourceExhausted => 429,
            GrpcCode::Cancelled => 499,
            GrpcCode::Unknown | GrpcCode::Internal | GrpcCode::DataLoss => 500,
            GrpcCode::Unimplemented => 501,
            GrpcCode::Unavailable => 503,
            GrpcCode::DeadlineExceeded => 504,
        }
    }
}

impl core::fmt::Display for GrpcCode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_and_name_lead_back_to_the_code() {
        for code in GrpcCode::ALL {
            assert_eq!(GrpcCode::from_number(code.number()), Some(code));
            assert_eq!(GrpcCode::from_name(code.name()), Some(code));
        }
        for number in [i32::MIN, -1, 0, 17, i32::MAX] {
            assert_eq!(GrpcCode::from_number(number), None);
        }
        assert_eq!(GrpcCode::from_name("aborted"), None);
        assert_eq!(GrpcCode::from_name("OK"), None);
    }
}
