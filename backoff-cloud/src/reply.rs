//! Replies, failures and schedules for the tests of the presets.

use backoff_core::{
    Decision, Delivery, Fault, FaultKind, GrpcCode, Policy, RetryState, StopReason, Verdict,
};
use std::time::Duration;

/// A reply with an HTTP status and the gRPC code of its body.
#[derive(Debug, PartialEq)]
pub(crate) struct Reply(pub(crate) u16, pub(crate) Option<GrpcCode>);

impl Fault for Reply {
    fn status(&self) -> Option<u16> {
        Some(self.0)
    }

    fn grpc_code(&self) -> Option<GrpcCode> {
        self.1
    }
}

/// An error with one fact, and perhaps a hint of the server.
#[derive(Clone, Copy, Default)]
pub(crate) struct Says {
    pub(crate) status: Option<u16>,
    pub(crate) transport: Option<Delivery>,
    pub(crate) kind: Option<FaultKind>,
    pub(crate) retry_after: Option<Duration>,
}

impl Fault for Says {
    fn status(&self) -> Option<u16> {
        self.status
    }

    fn delivery(&self) -> Option<Delivery> {
        self.transport
    }

    fn kind(&self) -> Option<FaultKind> {
        self.kind
    }

    fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}

pub(crate) fn retries<F: Fault>(policy: &Policy, fault: &F) -> bool {
    matches!(policy.judge(fault), Verdict::Retry { .. })
}

/// The statuses from 400 to 599 that are retried if the reply names no gRPC code, and the gRPC codes that
/// are retried.
pub(crate) fn table(policy: &Policy) -> (Vec<u16>, Vec<GrpcCode>) {
    let statuses = (400..600)
        .filter(|status| retries(policy, &Reply(*status, None)))
        .collect();
    let codes = GrpcCode::ALL
        .into_iter()
        .filter(|code| retries(policy, &Reply(code.http_status(), Some(*code))))
        .collect();
    (statuses, codes)
}

/// The first waits of a request that fails in the same way each time, and why the call ends if it ends
/// earlier.
pub(crate) fn life<F: Fault>(
    policy: &Policy,
    fault: &F,
    random: u64,
    first: usize,
) -> (Vec<Duration>, Option<StopReason>) {
    let mut now = Duration::ZERO;
    let mut retry = RetryState::start(policy, || now);
    let mut waits = Vec::new();
    while waits.len() < first {
        match retry.failed(policy, policy.judge(fault), || now, || random) {
            Decision::Wait(wait) => {
                now += wait.delay;
                waits.push(wait.delay);
            }
            Decision::Stop(reason) => return (waits, Some(reason)),
        }
    }
    (waits, None)
}

/// The features of other clients build reqwest with TLS, which then needs a provider.
#[cfg(feature = "http")]
pub(crate) fn provide_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
