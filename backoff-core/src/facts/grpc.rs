//! The canonical gRPC codes, as `google.rpc.Code` lists them.

/// Gives each code to a macro: its number, its name in the specification, and its HTTP status in Google's replies.
macro_rules! grpc_codes {
    ($with:ident) => {
        $with! {
            Cancelled = 1, CANCELLED, 499;
            Unknown = 2, UNKNOWN, 500;
            InvalidArgument = 3, INVALID_ARGUMENT, 400;
            DeadlineExceeded = 4, DEADLINE_EXCEEDED, 504;
            NotFound = 5, NOT_FOUND, 404;
            AlreadyExists = 6, ALREADY_EXISTS, 409;
            PermissionDenied = 7, PERMISSION_DENIED, 403;
            ResourceExhausted = 8, RESOURCE_EXHAUSTED, 429;
            FailedPrecondition = 9, FAILED_PRECONDITION, 400;
            Aborted = 10, ABORTED, 409;
            OutOfRange = 11, OUT_OF_RANGE, 400;
            Unimplemented = 12, UNIMPLEMENTED, 501;
            Internal = 13, INTERNAL, 500;
            Unavailable = 14, UNAVAILABLE, 503;
            DataLoss = 15, DATA_LOSS, 500;
            Unauthenticated = 16, UNAUTHENTICATED, 401;
        }
    };
}

pub(crate) use grpc_codes;

macro_rules! define {
    ($($code:ident = $number:literal, $name:ident, $status:literal;)+) => {
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
            $($code = $number,)+
        }

        impl GrpcCode {
            /// All codes, in the order of their numbers.
            pub const ALL: [GrpcCode; 16] = [$(GrpcCode::$code),+];

            /// The name as the specification writes it: `"ABORTED"`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(GrpcCode::$code => stringify!($name),)+
                }
            }

            /// The HTTP status of this code in Google's HTTP/JSON replies.
            pub const fn http_status(self) -> u16 {
                match self {
                    $(GrpcCode::$code => $status,)+
                }
            }
        }
    };
}

grpc_codes!(define);

impl GrpcCode {
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
