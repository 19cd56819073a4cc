//! kube, over plain HTTP.

use crate::assert_cut;
use backoff_core::{Fault, FaultKind};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, Config, Error};
use kube_client_5 as kube;
use serde_json::{Value, json};
use std::time::Duration;
use support::{
    AMPLE, Act, Column, NOTHING, POLICY,
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
    const CANNOT: &[&str] = &["a chunk without a length"];

    async fn read(target: Target) -> Result<(), Error> {
        let mut config = config(&target.origin);
        config.connect_timeout = Some(target.connect);
        config.read_timeout = Some(target.whole);
        let maps: Api<ConfigMap> = Api::default_namespaced(Client::try_from(config)?);
        maps.get("counter").await.map(drop)
    }
}

/// A failure as the API server sends it.
fn said(code: u16, reason: &str, seconds: u32) -> Act {
    said_because(code, reason, seconds, &json!([]))
}

/// The same with causes.
fn said_because(code: u16, reason: &str, seconds: u32, causes: &Value) -> Act {
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
    for (seconds, hint) in [(0, None), (7, Some(7_000))] {
        let rows = [
            (503, "ServiceUnavailable", IfIdempotent),
            (502, "", IfIdempotent),
            (500, "ServerTimeout", IfIdempotent),
            (504, "Timeout", IfIdempotent),
            (429, "TooManyRequests", Always),
            (403, "Forbidden", Never),
            (404, "NotFound", Never),
            (410, "Expired", Never),
            (422, "Invalid", Never),
        ];
        let said = |(code, reason, repeated)| (code, said(code, reason, seconds), hint, repeated);
        says::<Kube>(rows.map(said)).await;
    }
}

#[tokio::test]
async fn all_kinds_of_409() {
    let managed = json!([{
        "reason": "FieldManagerConflict", "field": ".data.count",
        "message": "conflict with \"other\" using v1",
    }]);
    for (reason, causes, kind) in [
        ("Conflict", json!([]), FaultKind::Conflict),
        ("AlreadyExists", json!([]), FaultKind::Permanent),
        ("Conflict", managed, FaultKind::Permanent),
    ] {
        let said = said_because(409, reason, 0, &causes);
        let error = failure::<Kube>(said).await;
        assert_eq!(error.kind(), Some(kind), "{reason} {causes}");
        let is_repeated = POLICY.retry_conflicts(true).judge(&error) != false.into();
        let is_conflict = kind == FaultKind::Conflict;
        assert_eq!(is_repeated, is_conflict, "{reason} {causes}");
        assert_row(reason, error, status(409), Never);
    }
}

#[tokio::test]
async fn its_own_retries_are_on_by_default() {
    let server = Server::always(reply(503, "", ""));
    let mut config = config(&server.url(""));
    config.default_retry = true;
    let client = Client::try_from(config).expect("a client");
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let third = async {
        while server.requests() < 3 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        got = maps.get("counter") => panic!("it gave up: {got:?}"),
        () = third => {}
    }
}
