//! `#[derive(Fault)]`, also beside thiserror.

use super::{ApiError, Duration, Fault, TimedOut};
use backoff_core::GrpcCode;

/// All that an error says of itself.
fn facts(error: &impl Fault) -> String {
    let facts = vec![
        error.status().map(|status| status.to_string()),
        error.grpc_code().map(|code| code.to_string()),
        error.kind().map(|kind| format!("{:?}", kind)),
        error.delivery().map(|delivery| format!("{:?}", delivery)),
        error.retry_after().map(|wait| format!("after {:?}", wait)),
        error.message().map(|text| format!("\"{}\"", text)),
    ];
    facts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

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

#[test]
fn variants() {
    let wait = Some(Duration::from_secs(3));
    let source = ApiError(418);
    let context = "reading";
    let api = Error::Api { code: 404, wait };
    let late = TimedOut::new(Duration::ZERO).into();
    let rows = [
        (api, r#"404, after 3s, "status 404""#),
        (Error::Busy(6), r#"503, after 6ms, "busy""#),
        (Error::Changed, r#"ABORTED, Conflict, "changed meanwhile""#),
        (Error::Creating, r#"Pending, "not there yet""#),
        (Error::TooFast, r#"Throttled, "too fast""#),
        (late, r#"MaybeSent, "the attempt was cut after 0ns""#),
        (Error::Inside { context, source }, r#"418, "reading""#),
        (Error::Refused("it".into()), r#"NotSent, "refused by it""#),
        (Error::Config, r#"Permanent, "wrong""#),
    ];
    for (error, expected) in rows {
        assert_eq!(facts(&error), expected, "{:?}", error);
    }
}

/// A struct, its fields marked; the inner error is behind a box.
#[derive(Fault)]
struct Reply {
    #[fault(status)]
    status: u16,
    #[fault(retry_after)]
    wait: Duration,
    #[fault(forward)]
    cause: Box<dyn std::error::Error + Send + Sync>,
}

#[derive(Fault)]
#[fault(status = self.status())]
struct Computed(u8);

impl Computed {
    fn status(&self) -> Option<u16> {
        (self.0 > 0).then_some(500 + u16::from(self.0))
    }
}

#[derive(backoff_cloud::Fault)]
#[fault(forward)]
struct Generic<E>(E);

#[derive(Fault)]
#[fault(crate = backoff_cloud, transient)]
struct Renamed<'a, const N: usize>([&'a str; N]);

/// Any integer is a status.
#[derive(Fault)]
#[fault(status = code)]
struct Signed {
    code: i32,
}

#[derive(Fault)]
enum Wide {
    #[fault(status = self.0 + 100)]
    Sum(u64),
    #[fault(status = code)]
    Maybe { code: Option<i64> },
    #[fault(status = 503)]
    Fixed,
}

#[derive(Fault)]
struct Perhaps<E> {
    #[fault(forward)]
    inner: Option<E>,
}

#[derive(Fault)]
#[fault(maybe_sent)]
struct Source {
    #[fault(forward)]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

#[test]
fn structs_and_fields_of_near_types() {
    let reply = Reply {
        status: 503,
        wait: Duration::from_secs(1),
        cause: Box::new(TimedOut::new(Duration::ZERO)),
    };
    let inner = Some(ApiError(503));
    let rows = [
        (facts(&reply), "503, MaybeSent, after 1s"),
        (facts(&Computed(3)), "503"),
        (facts(&Computed(0)), ""),
        (facts(&Generic(ApiError(429))), "429"),
        (facts(&Renamed([""; 1])), "Transient"),
        (facts(&Signed { code: 503 }), "503"),
        (facts(&Signed { code: -1 }), ""),
        (facts(&Wide::Sum(403)), "503"),
        (facts(&Wide::Maybe { code: Some(503) }), "503"),
        (facts(&Wide::Maybe { code: None }), ""),
        (facts(&Wide::Fixed), "503"),
        (facts(&Perhaps { inner }), "503"),
        (facts(&Perhaps::<ApiError> { inner: None }), ""),
        (facts(&Source { source: None }), "MaybeSent"),
    ];
    for (row, (facts, expected)) in rows.iter().enumerate() {
        assert_eq!(facts, expected, "row {}", row);
    }
}
