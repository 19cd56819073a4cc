//! `#[derive(Fault)]`, also beside thiserror.

use super::{ApiError, Duration, Fault, TimedOut};
use backoff_core::GrpcCode;

/// All that an error says of itself.
fn facts(error: &dyn Fault) -> String {
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
#[derive(Fault)]
struct Reply {
    #[fault(status)]
    status: u16,
    #[fault(retry_after)]
    wait: Duration,
    #[fault(forward)]
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

#[derive(Fault)]
#[fault(status = self.status(), maybe_sent)]
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
enum Wide {
    #[fault(status = self.0 + 100)]
    Sum(u64),
    #[fault(status = code)]
    Maybe {
        code: Option<i64>,
    },
    Marked(#[fault(status)] i32),
    Inner(#[fault(forward)] Option<ApiError>),
}

#[test]
fn facts_of_variants_and_structs() {
    let wait = Duration::from_secs(3);
    let cut = || TimedOut::new(Duration::ZERO);
    let reply = |cause| Reply {
        status: 503,
        wait,
        cause,
    };
    let api = Error::Api {
        code: 404,
        wait: Some(wait),
    };
    let inside = Error::Inside {
        context: "reading",
        source: ApiError(418),
    };
    let rows: [(&dyn Fault, &str); 18] = [
        (&api, r#"404, after 3s, "status 404""#),
        (&Error::Busy(6), r#"503, after 6ms, "busy""#),
        (&Error::Changed, r#"ABORTED, Conflict, "changed meanwhile""#),
        (
            &Error::from(cut()),
            r#"MaybeSent, "the attempt was cut after 0ns""#,
        ),
        (&inside, r#"418, "reading""#),
        (&Error::Refused("it".into()), r#"NotSent, "refused by it""#),
        (&Error::Config, r#"Permanent, "wrong""#),
        (&reply(Some(cut().into())), "503, MaybeSent, after 3s"),
        (&reply(None), "503, after 3s"),
        (&Computed(3), "503, MaybeSent"),
        (&Computed(0), "MaybeSent"),
        (&Generic(ApiError(429)), "429"),
        (&Renamed([""; 1]), "Transient"),
        (&Wide::Sum(403), "503"),
        (&Wide::Maybe { code: Some(503) }, "503"),
        (&Wide::Marked(-1), ""),
        (&Wide::Inner(Some(ApiError(503))), "503"),
        (&Wide::Inner(None), ""),
    ];
    for (row, &(error, expected)) in rows.iter().enumerate() {
        assert_eq!(facts(error), expected, "row {}", row);
    }
}

/// Like `Error`, but with a parameter.
#[derive(Fault)]
#[fault(forward)]
enum Made<E> {
    Client(E),
    Late(TimedOut),
}

impl<E> From<TimedOut> for Made<E> {
    fn from(late: TimedOut) -> Self {
        Made::Late(late)
    }
}

#[test]
fn an_error_that_can_be_made_from_timed_out_says_so() {
    let late = || TimedOut::new(Duration::from_secs(1));
    let made = Error::late().unwrap()(late());
    assert_eq!(facts(&made), r#"MaybeSent, "the attempt was cut after 1s""#);
    let made: Made<ApiError> = Made::late().unwrap()(late());
    assert_eq!(facts(&made), "MaybeSent");
    assert_eq!(facts(&Made::Client(ApiError(503))), "503");
    assert!(Generic::<ApiError>::late().is_none());
    assert!(Generic::<Error>::late().is_none());
    assert!(Renamed::<'_, 1>::late().is_none());
    assert!(Wide::late().is_none());
}
