//! kube, over plain HTTP.

use crate::assert_cut;
use backoff_core::{Fault, FaultKind};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, Config, Error};
use kube_client_5 as kube;
use serde_json::{Value, json};
use support::{
    AMPLE, Act, Column, NOTHING,
    Repeated::{Always, IfIdempotent, Never},
    Server, Target, assert_row, fails_on_the_way, failure, reply, says, status,
};

fn config(origin: &str) -> Config {
    let mut config = Config::new(origin.parse().expect("a URL"));
    config.default_retry = false;
    config.read_timeout = Some(AMPLE);
    config.connect_timeout = Some(AMPLE);
    config
}

struct Kube;

impl Column for Kube {
    type Error = Error;

    /// hyper does not say whether the connection is of use.
    const CANNOT: &str = "a chunk without a length";

    async fn read(target: Target) -> Result<(), Error> {
        let mut config = config(&target.origin);
        config.connect_timeout = Some(target.connect);
        config.read_timeout = Some(target.whole);
        let maps: Api<ConfigMap> = Api::default_namespaced(Client::try_from(config)?);
        maps.get("counter").await.map(drop)
    }
}

/// A failure as the API server sends it, with causes. The header is lost.
fn said(code: u16, reason: &str, seconds: u32, causes: &Value) -> Act {
    let details = json!({
        "name": "counter", "kind": "configmaps", "retryAfterSeconds": seconds, "causes": causes,
    });
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "said", "reason": reason, "details": details, "code": code,
    });
    let headers = "content-type: application/json\r\nretry-after: 30\r\n";
    reply(code, headers, body.to_string())
}

#[tokio::test]
async fn on_the_way() {
    fails_on_the_way::<Kube>().await;
    assert_cut::<Error>();
    let error = failure::<Kube>(reply(200, "", "<html>")).await;
    assert!(matches!(error, Error::SerdeError(_)), "{error:?}");
    assert_row("no object", error, NOTHING, Never);
}

#[tokio::test]
async fn statuses() {
    let none = json!([]);
    let rows = [
        (503, "ServiceUnavailable", 0, None, IfIdempotent),
        (500, "ServerTimeout", 7, Some(7_000), IfIdempotent),
        (504, "Timeout", 0, None, IfIdempotent),
        (429, "TooManyRequests", 7, Some(7_000), Always),
        (410, "Expired", 0, None, Never),
        (422, "Invalid", 0, None, Never),
    ];
    says::<Kube>(rows.map(|(code, reason, seconds, hint, repeated)| {
        (code, said(code, reason, seconds, &none), hint, repeated)
    }))
    .await;
    let managed = json!([{
        "reason": "FieldManagerConflict", "field": ".data.count",
        "message": "conflict with \"other\" using v1",
    }]);
    for (reason, causes, kind) in [
        ("Conflict", &none, FaultKind::Conflict),
        ("AlreadyExists", &none, FaultKind::Permanent),
        ("Conflict", &managed, FaultKind::Permanent),
    ] {
        let error = failure::<Kube>(said(409, reason, 0, causes)).await;
        assert_eq!(error.kind(), Some(kind), "{reason} {causes}");
        assert_row(reason, error, status(409), Never);
    }
}

#[tokio::test]
async fn its_own_retries_are_on_by_default() {
    let busy = || reply(503, "", "");
    let server = Server::start([busy(), busy()]);
    let mut config = config(&server.url(""));
    config.default_retry = true;
    let client = Client::try_from(config).expect("a client");
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    maps.get("counter").await.expect("an object");
    assert_eq!(server.requests(), 3);
}
