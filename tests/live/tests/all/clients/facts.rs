//! The facts in an error, and what a policy decides about the error.

// tests/clients uses a part of this file too.
#![allow(dead_code)]

use backoff_core::{Codes, Delivery, Fault, GrpcCode, Policy, Verdict, codes};
use std::time::Duration;

/// All that an error says to a policy, but for its kind, which [`Repeated`] shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Facts {
    pub(crate) status: Option<u16>,
    pub(crate) grpc_code: Option<GrpcCode>,
    pub(crate) transport: Option<Delivery>,
    pub(crate) must_reconnect: bool,
    pub(crate) must_stop: bool,
    pub(crate) retry_after: Option<Duration>,
}

/// An error without facts.
pub(crate) const NOTHING: Facts = Facts {
    status: None,
    grpc_code: None,
    transport: None,
    must_reconnect: false,
    must_stop: false,
    retry_after: None,
};

/// The request was certainly not sent.
pub(crate) const NOT_SENT: Facts = lost(Delivery::NotSent);

/// The request may have been applied.
pub(crate) const MAYBE_SENT: Facts = lost(Delivery::MaybeSent);

const fn lost(delivery: Delivery) -> Facts {
    Facts {
        transport: Some(delivery),
        must_reconnect: true,
        ..NOTHING
    }
}

impl Facts {
    pub(crate) fn of(fault: &impl Fault) -> Self {
        Facts {
            status: fault.status(),
            grpc_code: fault.grpc_code(),
            transport: fault.delivery(),
            must_reconnect: fault.must_reconnect(),
            must_stop: fault.must_stop(),
            retry_after: fault.retry_after(),
        }
    }
}

/// Which policies retry the error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Repeated {
    /// Everybody: it was surely not applied.
    Always,
    /// Those who may apply it twice.
    IfIdempotent,
    Never,
    /// Nobody, for the server asks so.
    Refused,
}

/// Waits that a test can afford; 429, 5xx and conflicts are repeated.
pub(crate) const POLICY: Policy = Policy::exponential()
    .base(Duration::from_millis(1))
    .deadline(Duration::from_secs(60))
    .on(codes![429, 500, 502..=504, Codes::ABORTED]);

impl Repeated {
    pub(crate) fn of(fault: &impl Fault) -> Self {
        let careful = POLICY.idempotent(false);
        match (POLICY.judge(fault), careful.judge(fault)) {
            (Verdict::Retry { .. }, Verdict::Retry { .. }) => Repeated::Always,
            (Verdict::Retry { .. }, Verdict::MaybeApplied) => Repeated::IfIdempotent,
            (Verdict::Permanent, Verdict::Permanent) => Repeated::Never,
            (Verdict::StoppedByServer, Verdict::StoppedByServer) => Repeated::Refused,
            odd => panic!("no policy may say {odd:?}"),
        }
    }
}

/// What an error must say.
#[track_caller]
pub(crate) fn assert_says(
    error: &(impl Fault + std::fmt::Debug),
    facts: Facts,
    repeated: Repeated,
) {
    assert_eq!(Facts::of(error), facts, "{error:?}");
    assert_eq!(Repeated::of(error), repeated, "{error:?}");
}

/// The failure of this row was made, and this is what it must say, in a box too.
#[track_caller]
pub(crate) fn assert_row<E>(row: &str, error: E, facts: Facts, repeated: Repeated)
where
    E: Fault + Into<Box<dyn std::error::Error + Send + Sync>> + std::fmt::Debug,
{
    assert_eq!(Facts::of(&error), facts, "{row}: {error:?}");
    assert_eq!(Repeated::of(&error), repeated, "{row}: {error:?}");
    let (kind, hidden) = (error.kind(), error.into());
    let said = (Facts::of(&hidden), hidden.kind());
    assert_eq!(said, (facts, kind), "{row}, in a box");
    assert_eq!(Repeated::of(&hidden), repeated, "{row}, in a box");
}

/// A code of gRPC and nothing else.
pub(crate) const fn code(code: GrpcCode) -> Facts {
    NOTHING.code(code)
}

/// A status and nothing else.
pub(crate) const fn status(status: u16) -> Facts {
    Facts {
        status: Some(status),
        ..NOTHING
    }
}

impl Facts {
    pub(crate) const fn code(mut self, code: GrpcCode) -> Self {
        self.grpc_code = Some(code);
        self
    }

    pub(crate) const fn after(mut self, milliseconds: u64) -> Self {
        self.retry_after = Some(Duration::from_millis(milliseconds));
        self
    }
}
