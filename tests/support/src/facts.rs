//! The facts in an error, and what a policy decides about the error.

use backoff_core::{Codes, Delivery, Fault, GrpcCode, Policy, Verdict, codes};
use std::{error::Error, fmt::Debug, time::Duration};

/// All that an error says to a policy, but for its kind, which [`Repeated`] shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Facts {
    /// The status of HTTP.
    pub status: Option<u16>,
    /// The code of gRPC.
    pub grpc_code: Option<GrpcCode>,
    /// Whether the request was sent.
    pub delivery: Option<Delivery>,
    /// Whether the connection is of no more use.
    pub must_reconnect: bool,
    /// Whether the server asks not to be called again.
    pub must_stop: bool,
    /// The hint.
    pub retry_after: Option<Duration>,
}

/// An error without facts.
pub const NOTHING: Facts = Facts {
    status: None,
    grpc_code: None,
    delivery: None,
    must_reconnect: false,
    must_stop: false,
    retry_after: None,
};

/// The request was certainly not sent.
pub const NOT_SENT: Facts = lost(Delivery::NotSent);

/// The request may have been applied.
pub const MAYBE_SENT: Facts = lost(Delivery::MaybeSent);

const fn lost(delivery: Delivery) -> Facts {
    Facts {
        delivery: Some(delivery),
        must_reconnect: true,
        ..NOTHING
    }
}

/// A status and nothing else.
pub const fn status(status: u16) -> Facts {
    Facts {
        status: Some(status),
        ..NOTHING
    }
}

impl Facts {
    /// The facts of this error.
    pub fn of(fault: &impl Fault) -> Self {
        Facts {
            status: fault.status(),
            grpc_code: fault.grpc_code(),
            delivery: fault.delivery(),
            must_reconnect: fault.must_reconnect(),
            must_stop: fault.must_stop(),
            retry_after: fault.retry_after(),
        }
    }

    /// With this code.
    pub const fn code(mut self, code: GrpcCode) -> Self {
        self.grpc_code = Some(code);
        self
    }

    /// With a hint of so many milliseconds.
    pub const fn after(mut self, milliseconds: u64) -> Self {
        self.retry_after = Some(Duration::from_millis(milliseconds));
        self
    }
}

/// Which policies retry the error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Repeated {
    /// Everybody: it was surely not applied.
    Always,
    /// Those who may apply it twice.
    IfIdempotent,
    /// Nobody: no repetition cures it.
    Never,
    /// Nobody, for the server asks so.
    Refused,
}

/// Waits that a test can afford; 429, 5xx and conflicts are repeated.
pub const POLICY: Policy = Policy::exponential()
    .base(Duration::from_millis(1))
    .deadline(Duration::from_secs(60))
    .on(codes![429, 500, 502..=504, Codes::ABORTED]);

impl Repeated {
    /// Who retries this error. An error about which nothing is known is a failure of the test.
    pub fn of(fault: &impl Fault) -> Self {
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

/// The failure of this row was made, and this is what it must say, in a box too.
#[track_caller]
pub fn assert_row<E>(row: &str, error: E, facts: Facts, repeated: Repeated)
where
    E: Fault + Into<Box<dyn Error + Send + Sync>> + Debug,
{
    assert_says(row, &error, facts, repeated);
    let (kind, hidden) = (error.kind(), error.into());
    assert_says(&format!("{row}, in a box"), &hidden, facts, repeated);
    assert_eq!(hidden.kind(), kind, "{row}, in a box");
}

/// The same of an error that is not put in a box.
#[track_caller]
pub fn assert_says(row: &str, error: &(impl Fault + Debug), facts: Facts, repeated: Repeated) {
    assert_eq!(Facts::of(error), facts, "{row}: {error:?}");
    assert_eq!(Repeated::of(error), repeated, "{row}: {error:?}");
}
