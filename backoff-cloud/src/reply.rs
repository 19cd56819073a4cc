//! The error of this crate's tests, and what a policy does after it.

use backoff_core::{
    Decision, Delivery, Fault, FaultKind, GrpcCode, Policy, RetryState, StopReason, Verdict,
};
use std::time::Duration;

/// A reply or a failure with the facts that a test gives it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Says {
    pub(crate) status: Option<u16>,
    pub(crate) code: Option<GrpcCode>,
    pub(crate) kind: Option<FaultKind>,
    pub(crate) delivery: Option<Delivery>,
    pub(crate) hint: Option<Duration>,
}

/// A reply with this status, whose body names no gRPC code.
pub(crate) fn http(status: u16) -> Says {
    Says {
        status: Some(status),
        ..Says::default()
    }
}

/// A reply whose body names this code.
pub(crate) fn grpc(code: GrpcCode) -> Says {
    Says {
        code: Some(code),
        ..http(code.http_status())
    }
}

/// An error of this kind.
pub(crate) fn of_kind(kind: FaultKind) -> Says {
    Says {
        kind: Some(kind),
        ..Says::default()
    }
}

/// The connection failed.
pub(crate) fn broken(delivery: Delivery) -> Says {
    Says {
        delivery: Some(delivery),
        ..Says::default()
    }
}

impl Says {
    /// With a hint of the server in milliseconds.
    pub(crate) fn hint(self, millis: u64) -> Self {
        Says {
            hint: Some(Duration::from_millis(millis)),
            ..self
        }
    }
}

impl Fault for Says {
    fn status(&self) -> Option<u16> {
        self.status
    }
    fn grpc_code(&self) -> Option<GrpcCode> {
        self.code
    }
    fn kind(&self) -> Option<FaultKind> {
        self.kind
    }
    fn delivery(&self) -> Option<Delivery> {
        self.delivery
    }
    fn retry_after(&self) -> Option<Duration> {
        self.hint
    }
}

pub(crate) fn retries<F: Fault>(policy: &Policy, fault: &F) -> bool {
    matches!(policy.judge(fault), Verdict::Retry { .. })
}

/// The statuses from 400 to 599 that are retried if the reply names no gRPC code, and the gRPC codes that
/// are retried.
pub(crate) fn table(policy: &Policy) -> (Vec<u16>, Vec<GrpcCode>) {
    let statuses = (400..600).filter(|status| retries(policy, &http(*status)));
    let codes = GrpcCode::ALL
        .into_iter()
        .filter(|code| retries(policy, &grpc(*code)));
    (statuses.collect(), codes.collect())
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

/// The cells of each row of a table.
#[cfg(feature = "http")]
pub(crate) fn cells<const N: usize>(rows: &str) -> impl Iterator<Item = [&str; N]> {
    let rows = rows.lines().map(str::trim).filter(|row| !row.is_empty());
    rows.map(|row| {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        cells.try_into().expect("a cell for each column")
    })
}

/// Headers by their names and values.
#[cfg(feature = "http")]
pub(crate) fn headers(given: &[(&'static str, &str)]) -> reqwest::header::HeaderMap {
    let mut headers = reqwest::header::HeaderMap::new();
    for (name, value) in given {
        headers.append(*name, value.parse().unwrap());
    }
    headers
}

/// The features of other clients build reqwest with TLS, which then needs a provider.
#[cfg(feature = "http")]
pub(crate) fn provide_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
