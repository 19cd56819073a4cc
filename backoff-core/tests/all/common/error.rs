//! The error of these tests. It says what a test wants it to say.

// No test uses all of it.
#![allow(dead_code)]

use backoff_core::{
    Conflict, Delivery, Fault, FaultKind, GrpcCode, HintSource, NotApplied, NotYet, Stopped,
    TimedOut,
};
use std::{fmt, time::Duration};

/// An error, and what it says of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TestError {
    pub(crate) origin: Origin,
    /// Tells errors apart that say the same.
    pub(crate) number: u32,
    pub(crate) status: Option<u16>,
    pub(crate) grpc: Option<GrpcCode>,
    pub(crate) kind: Option<FaultKind>,
    pub(crate) delivery: Option<Delivery>,
    pub(crate) hint: Option<Duration>,
    pub(crate) must_stop: bool,
    pub(crate) hint_source: HintSource,
    /// Whether it is handed over in a [`NotApplied`].
    pub(crate) not_applied: bool,
}

/// Who has made an error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Origin {
    Operation,
    /// The library, for an attempt that was cut after this time.
    TimedOut(Duration),
    /// The library, for an attempt that a signal has cut.
    Stopped,
    /// The library, for a reply that is a conflict.
    Conflict,
    /// The library, for a value that is not the awaited one.
    NotYet,
}

impl TestError {
    /// An error about which nothing is known.
    pub(crate) const UNKNOWN: Self = TestError {
        origin: Origin::Operation,
        number: 0,
        status: None,
        grpc: None,
        kind: None,
        delivery: None,
        hint: None,
        must_stop: false,
        hint_source: HintSource::RetryAfter,
        not_applied: false,
    };
    /// The request may have arrived.
    pub(crate) const LOST: Self = Self::UNKNOWN.and_delivery(Delivery::MaybeSent);
    /// The request was never sent.
    pub(crate) const REFUSED: Self = Self::UNKNOWN.and_delivery(Delivery::NotSent);
    pub(crate) const CONFLICT: Self = Self::kind(FaultKind::Conflict);
    pub(crate) const STOPPED: Self = Self::UNKNOWN.made(Origin::Stopped);

    pub(crate) const fn status(status: u16) -> Self {
        Self::UNKNOWN.and_status(status)
    }

    pub(crate) const fn grpc(code: GrpcCode) -> Self {
        Self::UNKNOWN.and_grpc(code)
    }

    pub(crate) const fn kind(kind: FaultKind) -> Self {
        Self::UNKNOWN.and_kind(kind)
    }

    /// What the library makes of an attempt that was cut after this time.
    pub(crate) const fn cut(after: Duration) -> Self {
        Self::LOST.made(Origin::TimedOut(after))
    }

    fn wrapped(&self) -> Option<NotApplied<Self>> {
        let inside = Self {
            not_applied: false,
            ..*self
        };
        self.not_applied.then_some(NotApplied(inside))
    }
}

setters! { TestError:
    and_status(status: u16) { status: Some(status) }
    and_grpc(code: GrpcCode) { grpc: Some(code) }
    and_kind(kind: FaultKind) { kind: Some(kind) }
    and_delivery(delivery: Delivery) { delivery: Some(delivery) }
    /// With the server's hint when to come again.
    after(hint: Duration) { hint: Some(hint) }
    /// With a hint of this origin.
    hinted_by(source: HintSource) { hint_source: source }
    /// The server asks not to be called again.
    asking_to_stop() { must_stop: true }
    /// In a [`NotApplied`].
    not_applied() { not_applied: true }
    number(number: u32) { number: number }
    made(origin: Origin) { origin: origin }
}

impl Fault for TestError {
    fn status(&self) -> Option<u16> {
        self.status
    }

    fn grpc_code(&self) -> Option<GrpcCode> {
        self.grpc
    }

    fn kind(&self) -> Option<FaultKind> {
        match self.wrapped() {
            Some(wrapped) => wrapped.kind(),
            None => self.kind,
        }
    }

    fn delivery(&self) -> Option<Delivery> {
        match self.wrapped() {
            Some(wrapped) => wrapped.delivery(),
            None => self.delivery,
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        self.hint
    }

    fn hint_source(&self) -> HintSource {
        self.hint_source
    }

    fn must_stop(&self) -> bool {
        self.must_stop
    }
}

impl fmt::Display for TestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.origin, self.number) {
            (Origin::Operation, _) => {}
            (Origin::TimedOut(after), _) => return write!(f, "cut after {after:?}"),
            (Origin::Stopped, _) => return f.write_str("stopped"),
            (Origin::Conflict, _) => return f.write_str("conflict in a reply"),
            (Origin::NotYet, 0) => return f.write_str("not yet"),
            (Origin::NotYet, values) => return write!(f, "not yet, {values} in a row"),
        }
        match (self.status, self.grpc, self.kind, self.delivery) {
            (Some(status), ..) => write!(f, "{status}"),
            (_, Some(code), ..) => write!(f, "{code:?}"),
            (_, _, Some(kind), _) => write!(f, "{kind:?}"),
            (_, _, _, Some(Delivery::MaybeSent)) => f.write_str("lost"),
            (_, _, _, Some(Delivery::NotSent)) => f.write_str("refused"),
            _ => f.write_str("unknown"),
        }
    }
}

impl std::error::Error for TestError {}

impl From<u16> for TestError {
    fn from(status: u16) -> Self {
        Self::status(status)
    }
}

impl From<TimedOut> for TestError {
    fn from(late: TimedOut) -> Self {
        Self::cut(late.after)
    }
}

impl From<Stopped> for TestError {
    fn from(_: Stopped) -> Self {
        Self::STOPPED
    }
}

impl From<Conflict> for TestError {
    fn from(_: Conflict) -> Self {
        Self::UNKNOWN.made(Origin::Conflict)
    }
}

impl From<NotYet> for TestError {
    fn from(not_yet: NotYet) -> Self {
        let row = Self::UNKNOWN.number(not_yet.consecutive());
        row.made(Origin::NotYet)
    }
}

/// An error with a text, which belongs into no label and no span.
#[derive(Debug, PartialEq)]
pub(crate) struct Talkative;

impl Fault for Talkative {
    fn status(&self) -> Option<u16> {
        Some(503)
    }

    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(&"a text")
    }
}
