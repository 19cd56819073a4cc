//! A set of HTTP statuses and gRPC codes, computed at compile time.

use crate::{
    codes,
    facts::grpc::{GrpcCode, grpc_codes},
};
use core::fmt;

const FIRST: u16 = 400;
const LAST: u16 = 599;

/// Which HTTP statuses and gRPC codes a policy retries: a constant set of 40 bytes.
///
/// Write a set with [`codes!`](crate::codes). A status adds the gRPC codes that have this status in
/// Google's replies: `codes![503]` also holds `UNAVAILABLE`, in a body or from a gRPC client. 502 adds
/// `UNAVAILABLE` too, and 412 adds `FAILED_PRECONDITION`. Two codes are never added, because they are
/// not retryable: `ALREADY_EXISTS` for 409 and `DATA_LOSS` for 500. A gRPC code may be named alone:
/// `codes![Codes::ABORTED]` retries a conflict with the code `ABORTED`, but no other 409.
///
/// ```
/// use backoff_core::{codes, Codes, GrpcCode};
///
/// const BUSY: Codes = codes![429, 500..=504];
/// assert!(BUSY.contains_status(502) && !BUSY.contains_status(404));
/// assert!(BUSY.contains_grpc(GrpcCode::Unavailable));
///
/// const BUSY_OR_CONFLICT: Codes = codes![BUSY, Codes::ABORTED];
/// assert!(BUSY_OR_CONFLICT.contains_grpc(GrpcCode::Aborted));
/// assert!(!BUSY_OR_CONFLICT.contains_status(409));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Codes {
    /// Bit `status - 400`.
    http: [u64; 4],
    /// Bit `number`.
    grpc: u32,
}

macro_rules! grpc_sets {
    ($($code:ident = $number:literal, $name:ident, $status:literal;)+) => {
        /// One set for each gRPC code, for use in [`codes!`](crate::codes).
        impl Codes {
            $(
                #[doc = concat!("The gRPC code `", stringify!($name), "` alone, without its HTTP status.")]
                pub const $name: Codes = Codes::NONE.with_grpc(GrpcCode::$code);
            )+
        }
    };
}

grpc_codes!(grpc_sets);

/// The replies that always mean "another writer was faster": `ABORTED`, and 412 if the reply has no
/// gRPC code.
pub(crate) const CONFLICTS: Codes = Codes {
    http: [1 << (412 - FIRST), 0, 0, 0],
    grpc: 1 << GrpcCode::Aborted as u32,
};

/// The replies that mean "the server did nothing": 403 (not allowed), 408 (the request was incomplete),
/// 409 and 412 (the resource is in another state), 425 (too early), 429 (too many) and 449 (Cosmos DB: another
/// write of the same item was running);
/// `PERMISSION_DENIED`, `RESOURCE_EXHAUSTED`, `ABORTED`, `FAILED_PRECONDITION`. A 503, `UNAVAILABLE` or
/// any other 5xx is not listed, because a proxy may have sent it while the server continued to work on
/// the request.
pub(crate) const NOTHING_DONE: Codes = codes![403, 408, 409, 412, 425, 429, 449];

/// The replies to a conditional write that refuse it for its value: a part of its changes may be
/// accepted.
pub(crate) const VALUE_REFUSED: Codes = codes![400, 413, 422];

/// The replies to a conditional write that mean "nothing was written": those of [`NOTHING_DONE`], a refused value, 401 (not
/// allowed), and 404 (no such resource).
pub(crate) const WRITE_REFUSED: Codes = codes![NOTHING_DONE, VALUE_REFUSED, 401, 404];

/// For each status from 400, the retryable gRPC codes with this status. Computed once for all sets,
/// because the sets of many annotated functions are computed at compile time.
static STAND_FOR: [u32; (LAST - FIRST) as usize + 1] = {
    let mut codes = [0; (LAST - FIRST) as usize + 1];
    let mut i = 0;
    while i < GrpcCode::ALL.len() {
        let code = GrpcCode::ALL[i];
        let status = code.http_status();
        if status >= FIRST && !matches!(code, GrpcCode::AlreadyExists | GrpcCode::DataLoss) {
            codes[(status - FIRST) as usize] |= 1 << code as u32;
        }
        i += 1;
    }
    codes[502 - FIRST as usize] |= 1 << GrpcCode::Unavailable as u32;
    codes[412 - FIRST as usize] |= 1 << GrpcCode::FailedPrecondition as u32;
    codes
};

/// The message for an invalid range.
pub(crate) const REVERSED: &str = "the range is reversed: write the smaller status first";

/// The message for a number that is not the status of a failure.
pub(crate) const fn not_a_failure(status: u16) -> Option<&'static str> {
    match status {
        FIRST..=LAST => None,
        100..FIRST => Some("a status below 400 is not a failure: name 400 to 599"),
        _ => Some("an HTTP status is a number from 100 to 599"),
    }
}

impl Codes {
    /// The empty set.
    pub const NONE: Codes = Codes {
        http: [0; 4],
        grpc: 0,
    };

    /// This set and one HTTP status, with the gRPC codes that stand for it.
    ///
    /// # Panics
    /// Panics if `status` is not the status of a failure: below 400 or above 599. In a constant, the
    /// panic is a compile error.
    #[must_use]
    #[track_caller]
    pub const fn with_status(mut self, status: u16) -> Self {
        if let Some(instead) = not_a_failure(status) {
            panic!("{}", instead);
        }
        let bit = (status - FIRST) as usize;
        self.http[bit / 64] |= 1 << (bit % 64);
        self.grpc |= STAND_FOR[bit];
        self
    }

    /// This set and every HTTP status from `first` to `last`, both included.
    ///
    /// # Panics
    /// Panics if `first` is above `last`, or if one of them is outside 400 to 599. In a constant, the
    /// panic is a compile error.
    #[must_use]
    #[track_caller]
    pub const fn with_statuses(mut self, first: u16, last: u16) -> Self {
        assert!(first <= last, "{}", REVERSED);
        let mut status = first;
        while status <= last {
            self = self.with_status(status);
            status += 1;
        }
        self
    }

    /// This set and one gRPC code, without its HTTP status.
    #[must_use]
    pub const fn with_grpc(mut self, code: GrpcCode) -> Self {
        self.grpc |= 1 << code as u32;
        self
    }

    /// Returns the set. `codes![..]` calls this method on each constant.
    #[doc(hidden)]
    #[must_use]
    pub const fn __backoff_codes(self) -> Self {
        self
    }

    /// The union of the two sets.
    #[must_use]
    pub const fn union(mut self, other: Codes) -> Self {
        let mut i = 0;
        while i < self.http.len() {
            self.http[i] |= other.http[i];
            i += 1;
        }
        self.grpc |= other.grpc;
        self
    }

    /// The members of this set that are not in the other set.
    #[must_use]
    pub(crate) const fn without(mut self, other: Codes) -> Self {
        let mut i = 0;
        while i < self.http.len() {
            self.http[i] &= !other.http[i];
            i += 1;
        }
        self.grpc &= !other.grpc;
        self
    }

    /// Whether this HTTP status is in the set.
    pub const fn contains_status(&self, status: u16) -> bool {
        if status < FIRST || status > LAST {
            return false;
        }
        let bit = (status - FIRST) as usize;
        self.http[bit / 64] >> (bit % 64) & 1 == 1
    }

    /// Whether this gRPC code is in the set.
    pub const fn contains_grpc(&self, code: GrpcCode) -> bool {
        self.grpc >> code as u32 & 1 == 1
    }
}

/// The statuses as ranges, then the gRPC names: `{429, 500..=504, ABORTED}`.
impl fmt::Debug for Codes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut set = f.debug_set();
        let mut status = FIRST;
        while status <= LAST {
            if self.contains_status(status) {
                let first = status;
                while self.contains_status(status + 1) {
                    status += 1;
                }
                if first == status {
                    set.entry(&first);
                } else {
                    set.entry(&format_args!("{first}..={status}"));
                }
            }
            status += 1;
        }
        for code in GrpcCode::ALL
            .into_iter()
            .filter(|code| self.contains_grpc(*code))
        {
            set.entry(&format_args!("{code}"));
        }
        set.finish()
    }
}

/// A constant set of [`Codes`]: statuses, inclusive ranges of statuses, and other constant sets.
///
/// ```
/// use backoff_core::{codes, Codes};
///
/// const RETRIED: Codes = codes![408, 429, 500..=504, Codes::ABORTED];
/// assert_eq!(
///     format!("{:?}", codes![429, 502..=503]),
///     "{429, 502..=503, RESOURCE_EXHAUSTED, UNAVAILABLE}",
/// );
/// ```
///
/// Invalid statuses and ranges do not compile:
///
/// ```compile_fail
/// backoff_core::codes![504..=500];
/// ```
///
/// ```compile_fail
/// backoff_core::codes![700];
/// ```
#[macro_export]
macro_rules! codes {
    (@ $set:expr;) => { $set };
    (@ $set:expr; $first:literal ..= $last:literal $(, $($rest:tt)*)?) => {
        $crate::codes!(@ $set.with_statuses($first, $last); $($($rest)*)?)
    };
    (@ $set:expr; $first:literal .. $last:literal $($rest:tt)*) => {
        ::core::compile_error!("write an inclusive range of statuses, such as 500..=504")
    };
    (@ $set:expr; $status:literal $(, $($rest:tt)*)?) => {
        $crate::codes!(@ $set.with_status($status); $($($rest)*)?)
    };
    (@ $set:expr; $other:expr $(, $($rest:tt)*)?) => {
        $crate::codes!(@ $set.union({
            #[allow(unused_imports)]
            use $crate::__private::NoCodes as _;
            let _ = || $crate::__private::IsCodes::of_a_list($other);
            $other.__backoff_codes()
        }); $($($rest)*)?)
    };
    ($($item:tt)*) => { const { $crate::codes!(@ $crate::Codes::NONE; $($item)*) } };
}

/// Implemented by `Codes` only.
#[diagnostic::on_unimplemented(
    message = "a list of codes contains numbers and constants of type `Codes`, not `{Self}`",
    label = "this is `{Self}`",
    note = "write a status as a number, such as `429`, and a gRPC code as `Codes::ABORTED`",
    note = "in the attribute, write braces after a variant whose name is in capitals: `Error::BUSY {{ .. }}`"
)]
pub trait IsCodes: Sized {
    /// Never called.
    fn of_a_list(self) {}
}

#[diagnostic::do_not_recommend]
impl IsCodes for Codes {}

/// Covers all other types, so that only [`IsCodes`] explains the error.
pub trait NoCodes: Sized {
    /// Never called.
    fn __backoff_codes(self) -> Codes {
        Codes::NONE
    }
}

impl<T> NoCodes for T {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_what_was_named_and_nothing_else() {
        const SET: Codes = codes![400, 429, 500..=504, 599];
        for status in 0..=u16::MAX {
            let named = matches!(status, 400 | 429 | 500..=504 | 599);
            assert_eq!(SET.contains_status(status), named, "{status}");
        }
    }

    #[test]
    fn a_status_brings_the_grpc_codes_that_a_repetition_can_cure() {
        const SET: Codes = codes![409, 500];
        use GrpcCode::{Aborted, Internal, Unknown};
        let held = GrpcCode::ALL
            .into_iter()
            .filter(|code| SET.contains_grpc(*code));
        assert_eq!(Vec::from_iter(held), [Unknown, Aborted, Internal]);
    }

    #[test]
    fn a_grpc_code_alone_brings_no_status() {
        const SET: Codes = codes![Codes::ABORTED];
        assert!(SET.contains_grpc(GrpcCode::Aborted));
        assert!((0..=u16::MAX).all(|status| !SET.contains_status(status)));
    }

    #[test]
    fn sets_join_and_trailing_commas_pass() {
        const SERVER: Codes = codes![500..=599,];
        assert_eq!(codes![SERVER, 429], codes![429, 500..=599]);
        assert_eq!(codes![], Codes::NONE);
    }

    #[test]
    fn refuses_what_is_no_failure() {
        for status in [0, 99, 100, 200, 304, 399, 600, u16::MAX] {
            let made = std::panic::catch_unwind(|| Codes::NONE.with_status(status));
            assert!(made.is_err(), "{status}");
        }
        assert!(std::panic::catch_unwind(|| Codes::NONE.with_statuses(504, 500)).is_err());
    }

    #[test]
    fn shows_itself_as_it_is_written() {
        assert_eq!(
            format!("{:?}", codes![429, 500..=504]),
            "{429, 500..=504, UNKNOWN, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, UNIMPLEMENTED, \
             INTERNAL, UNAVAILABLE}"
        );
    }
}
