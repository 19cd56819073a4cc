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

/// Headers by their names and values.
#[cfg(feature = "http")]
pub(crate) fn headers(given: &[(&'static str, &str)]) -> reqwest::header::HeaderMap {
    let mut headers = reqwest::header::HeaderMap::new();
    for (name, value) in given {
        headers.append(*name, value.parse().unwrap());
    }
    headers
}

/// A server on loopback that answers each request with the next of these statuses and headers; 0 closes the
/// connection without a reply. Returns its URL, and how many requests came. Requests have no body.
#[cfg(feature = "http")]
pub(crate) fn serve<const N: usize>(
    replies: [(u16, &'static str); N],
) -> (String, std::sync::Arc<std::sync::atomic::AtomicUsize>) {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::sync::{Arc, atomic::AtomicUsize, atomic::Ordering::SeqCst};
    provide_tls();
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let requests = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&requests);
    std::thread::spawn(move || {
        for (status, headers) in replies {
            let (mut stream, _) = listener.accept().unwrap();
            let lines = BufReader::new(&stream).lines().map_while(Result::ok);
            assert!(lines.take_while(|line| !line.is_empty()).count() > 0);
            count.fetch_add(1, SeqCst);
            if status > 0 {
                let lasting = "content-length: 0\r\nconnection: close";
                let reply = format!("HTTP/1.1 {status} \r\n{lasting}\r\n{headers}\r\n");
                stream.write_all(reply.as_bytes()).unwrap();
            }
        }
    });
    (url, requests)
}

/// How many requests this sender makes of a `POST` that is answered so, and why it fails, if it does. No wait
/// lasts.
#[cfg(feature = "http")]
pub(crate) async fn posted<const N: usize>(
    send: impl FnOnce(reqwest::RequestBuilder) -> crate::http::Sending,
    replies: [(u16, &'static str); N],
) -> (usize, Option<StopReason>) {
    let (url, requests) = serve(replies);
    let client = reqwest::Client::builder().retry(reqwest::retry::never());
    let post = client.build().unwrap().post(url);
    let sent = send(post)
        .reply()
        .delays([Duration::ZERO; 9])
        .reported()
        .await;
    let made = requests.load(std::sync::atomic::Ordering::SeqCst);
    (made, sent.err().map(|failed| failed.reason))
}

/// Checks that `send` repeats a `POST` of a completion after this status, which means that the server is busy, and after
/// a lost reply, and that the preset alone does not.
#[cfg(feature = "http")]
pub(crate) async fn check_completion(
    send: fn(reqwest::RequestBuilder) -> crate::http::Sending,
    preset: Policy,
    busy: u16,
) {
    use crate::http::SendExt as _;
    use StopReason::{Attempts, MaybeApplied, Permanent, StoppedByServer};
    let stop = (busy, "x-should-retry: false\r\n");
    let (ok, lost, busy) = ((200, ""), (0, ""), (busy, ""));
    // A row: the replies, the requests that `send` makes of a `POST`, and why it fails.
    for (replies, outcome) in [
        ([busy, ok, ok], (2, None)),
        ([lost, busy, ok], (3, None)),
        ([busy, busy, busy], (3, Some(Attempts))),
        ([(429, ""), ok, ok], (2, None)),
        ([(400, ""), ok, ok], (1, Some(Permanent))),
        ([stop, ok, ok], (1, Some(StoppedByServer))),
    ] {
        let sent = posted(send, replies).await;
        assert_eq!(sent, outcome, "{replies:?}");
    }
    for first in [busy, lost] {
        let sent = posted(|post| preset.send(post), [first, ok]).await;
        assert_eq!(sent, (1, Some(MaybeApplied)), "{first:?}");
    }
}

/// The features of other clients build reqwest with TLS, which then needs a provider.
#[cfg(feature = "http")]
pub(crate) fn provide_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
