//! `#[derive(Fault)]` beside thiserror.

use std::time::Duration;

use backoff_core::{Delivery, Fault, FaultKind, GrpcCode, Policy, TimedOut, Verdict, retry};
use ui::{ApiError, Flaky};

#[derive(Debug, thiserror::Error, Fault)]
#[fault(permanent)]
enum Error {
    #[error("status {code}")]
    #[fault(status = self.code, retry_after = wait)]
    Api { code: u16, wait: Option<Duration> },
    #[error("busy")]
    #[fault(status = 503, retry_after = Duration::from_millis(self.0))]
    Busy(u64),
    #[error("changed meanwhile")]
    #[fault(conflict, grpc_code = GrpcCode::Aborted)]
    Changed,
    #[error("not there yet")]
    #[fault(pending)]
    Creating,
    #[error("too fast")]
    #[fault(throttled)]
    TooFast,
    #[error(transparent)]
    #[fault(forward)]
    Late(#[from] TimedOut),
    #[error("{context}")]
    #[fault(forward)]
    Inside {
        context: &'static str,
        source: ApiError,
    },
    #[error("refused by {0}")]
    #[fault(not_sent)]
    Refused(String),
    #[error("wrong")]
    Config,
}

/// A struct, its fields marked; the inner error is behind a box.
#[derive(Debug, Fault)]
struct Reply {
    #[fault(status)]
    status: u16,
    #[fault(retry_after)]
    wait: Duration,
    #[fault(forward)]
    cause: Box<dyn std::error::Error + Send + Sync>,
}

#[derive(Debug, Fault)]
#[fault(status = self.status())]
struct Computed(u8);

impl Computed {
    fn status(&self) -> Option<u16> {
        (self.0 > 0).then_some(500 + u16::from(self.0))
    }
}

#[derive(Debug, backoff_cloud::Fault)]
#[fault(forward)]
struct Generic<E>(E);

#[derive(Fault)]
#[fault(crate = backoff_cloud, transient)]
struct Renamed<'a, const N: usize>([&'a str; N]);

#[retry(base = "1ms", on = [503])]
fn get(flaky: &Flaky, error: fn() -> Error) -> Result<u32, Error> {
    flaky.call().map_err(|_| error())
}

#[test]
fn works() {
    let api = Error::Api {
        code: 404,
        wait: Some(Duration::from_secs(3)),
    };
    assert_eq!(
        (api.status(), api.retry_after()),
        (Some(404), Some(Duration::from_secs(3)))
    );
    assert_eq!(api.message().unwrap().to_string(), "status 404");
    assert_eq!(api.kind(), None);
    assert_eq!(Error::Busy(6).retry_after(), Some(Duration::from_millis(6)));
    assert_eq!(Error::Changed.kind(), Some(FaultKind::Conflict));
    assert_eq!(Error::Changed.grpc_code(), Some(GrpcCode::Aborted));
    assert_eq!(Error::Creating.kind(), Some(FaultKind::Pending));
    assert_eq!(Error::TooFast.kind(), Some(FaultKind::Throttled));
    let late = Error::from(TimedOut::new(Duration::ZERO));
    assert_eq!(late.delivery(), Some(Delivery::MaybeSent));
    let inside = Error::Inside {
        context: "reading",
        source: ApiError(418),
    };
    assert_eq!(inside.status(), Some(418));
    assert_eq!(inside.message().unwrap().to_string(), "reading");
    assert_eq!(
        Error::Refused("it".into()).delivery(),
        Some(Delivery::NotSent)
    );
    assert_eq!(
        Policy::exponential().judge(&Error::Config),
        Verdict::Permanent
    );
    assert_eq!(Error::Config.kind(), Some(FaultKind::Permanent));

    let reply = Reply {
        status: 503,
        wait: Duration::from_secs(1),
        cause: Box::new(TimedOut::new(Duration::ZERO)),
    };
    assert_eq!(
        (reply.status(), reply.retry_after()),
        (Some(503), Some(Duration::from_secs(1)))
    );
    assert_eq!(reply.delivery(), Some(Delivery::MaybeSent));
    assert!(reply.message().is_none());
    assert_eq!(
        (Fault::status(&Computed(3)), Fault::status(&Computed(0))),
        (Some(503), None)
    );
    assert_eq!(Generic(ApiError(429)).status(), Some(429));
    assert_eq!(Renamed([""; 1]).kind(), Some(FaultKind::Transient));

    assert_eq!(get(&Flaky::failing(2), || Error::Busy(2)).unwrap(), 3);
    let flaky = Flaky::failing(2);
    assert!(get(&flaky, || Error::Config).is_err());
    assert_eq!(flaky.calls(), 1);
}
