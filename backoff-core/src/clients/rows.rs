//! The form of the tests of all clients: errors, what they say of themselves, and whether they ask for a new
//! connection. What a policy makes of this is tested in `judge.rs`.

// The features decide which of these are used.
#![allow(dead_code)]

use crate::{
    facts::{
        fault::{Delivery, Fault, FaultKind, TimedOut},
        not_opened::NotOpened,
    },
    test_error::TestError,
};
use core::time::Duration;
use std::io;

pub(super) const UNKNOWN: TestError = TestError::UNKNOWN;
pub(super) const PERMANENT: TestError = TestError::kind(FaultKind::Permanent);
pub(super) const TRANSIENT: TestError = TestError::kind(FaultKind::Transient);
pub(super) const NOT_SENT: TestError = TestError::delivery(Delivery::NotSent);
pub(super) const MAYBE_SENT: TestError = TestError::delivery(Delivery::MaybeSent);

pub(super) const NOT_APPLIED: TestError = TRANSIENT.and_delivery(Delivery::NotSent);
pub(super) const MAYBE_APPLIED: TestError = TRANSIENT.and_delivery(Delivery::MaybeSent);

pub(super) const PAUSE: Duration = Duration::from_millis(20);
pub(super) const CUT: TimedOut = TimedOut::new(Duration::from_secs(1));

/// An opening that failed, after which the next one waits for [`PAUSE`].
pub(super) fn not_opened<E>(error: E) -> NotOpened<E> {
    let pause = Some(PAUSE);
    NotOpened { error, pause }
}

pub(super) fn refused() -> io::Error {
    io::ErrorKind::ConnectionRefused.into()
}

/// As rustls says it.
pub(super) fn untrusted() -> io::Error {
    io::Error::other("invalid peer certificate: UnknownIssuer")
}

/// The facts of a fault.
pub(super) fn facts(fault: &dyn Fault) -> TestError {
    TestError {
        status: fault.status(),
        grpc: fault.grpc_code(),
        kind: fault.kind(),
        delivery: fault.delivery(),
        hint: fault.retry_after(),
        must_stop: fault.must_stop(),
        ..UNKNOWN
    }
}

/// All these errors say the same.
#[track_caller]
pub(super) fn all_say<E: Fault>(
    expected: TestError,
    must_reconnect: bool,
    errors: impl IntoIterator<Item = E>,
) {
    for error in errors {
        let said = (facts(&error), error.must_reconnect());
        let text = error.message().map(|text| text.to_string());
        assert_eq!(said, (expected, must_reconnect), "{text:?}");
    }
}
