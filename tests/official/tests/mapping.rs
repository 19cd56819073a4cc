//! The errors of Google's own clients, and the facts that `Fault` reads from them. Each failure is caused on
//! a real socket.

use backoff_cloud::{Fault as _, GrpcCode, HintSource, Verdict};
use google_cloud_gax_1::{error::Error, options::RequestOptionsBuilder, retry_policy::NeverRetry};
use google_cloud_secretmanager_v1::client::SecretManagerService;
use official::client;
use support::{
    Act, Column, MAYBE_SENT, NOTHING, POLICY,
    Repeated::{Always, IfIdempotent, Never},
    Target, assert_row, fails_on_the_way, failure, head, reply, status,
};

struct Google;

impl Column for Google {
    type Error = Error;

    /// It has no limit for the connection alone. It calls a chunk without a length a body that cannot be read.
    const CANNOT: &str = "nobody accepts|a chunk without a length";

    const HAS_TLS: bool = true;

    const REPLIES: (bool, bool) = (true, true);

    async fn read(target: Target) -> Result<(), Error> {
        let client = client!(
            SecretManagerService,
            target.origin,
            with_retry_policy(NeverRetry)
        );
        let get = client.get_secret().set_name("projects/p/secrets/s");
        let sent = get.with_attempt_timeout(target.whole).send();
        sent.await.map(drop)
    }

    fn fits(error: &Error, row: &str) -> bool {
        row != "no reply" || error.is_timeout()
    }
}

/// A reply with an error as Google's services write it.
fn named(status: u16, code: &str, details: &str) -> Act {
    let body = format!(
        r#"{{"error":{{"code":{status},"message":"m","status":"{code}","details":[{details}]}}}}"#
    );
    reply(status, "content-type: application/json\r\n", body)
}

#[tokio::test]
async fn on_the_way() {
    fails_on_the_way::<Google>().await;
    // Half a 409 may be a conflict or not, so the status does not decide.
    let half = head("409 Conflict\r\ncontent-length: 100", "{\"err");
    let error = failure::<Google>(half).await;
    assert_row("half an error", error, MAYBE_SENT, IfIdempotent);
    // What makes no sense is permanent.
    let list = reply(200, "content-type: application/json\r\n", "[1, 2]");
    let list = failure::<Google>(list).await;
    assert!(list.is_deserialization(), "{list:?}");
    assert_row("a list", list, NOTHING, Never);
    let again = Target::at(support::serve(reply(302, "location: /again\r\n", "")));
    let error = Google::read(again).await.expect_err("a circle");
    assert_eq!(POLICY.judge(&error), Verdict::Permanent, "{error:?}");
}

/// What the codes and the hints say are rows of `backoff-core/src/clients/gax.rs`.
#[tokio::test]
async fn what_the_service_says() {
    let unnamed = r#"{"error":{"code":429,"message":"too many"}}"#;
    let unnamed = reply(429, "retry-after: 1.5\r\n", unnamed);
    let info = r#"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"3.5s"}"#;
    let info = named(429, "RESOURCE_EXHAUSTED", info);
    let exists = status(409).code(GrpcCode::AlreadyExists);
    // A body that names no code leaves the word to the status.
    let (slow, used_up) = (status(429), status(429).code(GrpcCode::ResourceExhausted));
    let (by_header, by_info) = (HintSource::RetryAfter, HintSource::RetryInfo);
    for (act, facts, repeated, source) in [
        (unnamed, slow.after(1_500), Always, by_header),
        (info, used_up.after(3_500), Always, by_info),
        (named(409, "ALREADY_EXISTS", ""), exists, Never, by_header),
    ] {
        let row = format!("{act:?}");
        let error = failure::<Google>(act).await;
        assert_eq!(error.hint_source(), source, "{row}");
        assert_row(&row, error, facts, repeated);
    }
}
