//! kube, over plain HTTP.

use crate::objects::{assert_cut, sixteen_writes};
use backoff_core::{Fault, FaultKind, Policy, StopReason};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, Config, Error,
    api::{ObjectMeta, PostParams},
};
use kube_client_5 as kube;
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use support::{
    AMPLE, Act, CLOSE, Column, Meeting, NOTHING, POLICY,
    Repeated::{Always, IfIdempotent, Never},
    Server, Target, assert_row, fails_on_the_way, failure, reply, says, status,
};

const PATH: &str = "/api/v1/namespaces/default/configmaps";

fn config(origin: &str) -> Config {
    let mut config = Config::new(origin.parse().expect("a URL"));
    config.default_retry = false;
    config.read_timeout = Some(AMPLE);
    config.connect_timeout = Some(AMPLE);
    config
}

fn maps(server: &Server) -> Api<ConfigMap> {
    let client = Client::try_from(config(&server.url("")));
    Api::default_namespaced(client.expect("a client"))
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

/// A part of an API server: one config map, which is written only by who has read the last version. A
/// write is answered as this says, once each. So many writers meet when they have read for the first time.
fn api(answers: Vec<Act>, writers: usize) -> (Server, Arc<Mutex<Value>>) {
    let (meeting, answers) = (Meeting::of(writers), Mutex::new(answers));
    let kept = Arc::new(Mutex::new(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"count": "0"},
        "metadata": {"name": "counter", "namespace": "default", "resourceVersion": "1"},
    })));
    let object = Arc::clone(&kept);
    let json = "content-type: application/json\r\n";
    let server = Server::new(move |seen| {
        let mut object = object.lock().expect("no panic");
        let (method, path) = seen.line.split_once(' ').expect("a request line");
        let path = path.split('?').next().and_then(|it| it.strip_prefix(PATH));
        let is_read = (method, path) == ("GET", Some("/counter"));
        let answer = match (method, path) {
            _ if is_read => reply(200, json, object.to_string()),
            ("POST", Some("")) => said(409, "AlreadyExists", 0),
            ("PUT", Some("/counter")) => {
                let mut new: Value = serde_json::from_str(&seen.text()).expect("an object");
                let version = object["metadata"]["resourceVersion"].clone();
                let next: u32 = version.as_str().expect("a text").parse().expect("a number");
                let is_stale = new["metadata"]["resourceVersion"] != version;
                match answers.lock().expect("no panic").pop() {
                    Some(answer) => answer,
                    None if is_stale => said(409, "Conflict", 0),
                    None => {
                        new["metadata"]["resourceVersion"] = (next + 1).to_string().into();
                        *object = new;
                        reply(200, json, object.to_string())
                    }
                }
            }
            _ => said(404, "NotFound", 0),
        };
        let meeting = meeting.clone();
        async move {
            if is_read {
                meeting.has_read().await;
            }
            answer
        }
    });
    (server, kept)
}

/// Adds one to the number in the map, as often as it takes.
async fn count(maps: &Api<ConfigMap>, policy: &Policy) -> backoff_core::UpdateReport {
    let written = policy
        .update(
            || maps.get("counter"),
            |map| {
                let data = map.data.get_or_insert_default();
                let count: u32 = data["count"].parse().expect("a number");
                data.insert("count".to_owned(), (count + 1).to_string());
                true
            },
            |map| async move { maps.replace("counter", &PostParams::default(), &map).await },
        )
        .reported()
        .await;
    written.expect("written").1
}

#[tokio::test]
async fn writers_of_one_object_lose_nothing() {
    let (server, kept) = api(vec![], 4);
    let maps = &maps(&server);
    assert!(sixteen_writes(async || count(maps, &POLICY).await.conflicts).await > 0);
    assert_eq!(kept.lock().expect("no panic")["data"]["count"], "16");
}

#[tokio::test]
async fn a_write_that_is_throttled_is_made_again() {
    let busy = said(429, "TooManyRequests", 1);
    let away = said(503, "ServiceUnavailable", 0);
    let (server, kept) = api(vec![CLOSE, away, busy], 1);
    let report = count(&maps(&server), &POLICY).await;
    assert_eq!((report.reads, report.writes, report.conflicts), (4, 4, 0));
    assert!(report.slept >= Duration::from_secs(1), "{report:?}");
    assert_eq!(kept.lock().expect("no panic")["data"]["count"], "1");
}

#[tokio::test]
async fn what_exists_is_not_created_again() {
    let (server, _) = api(vec![], 1);
    let maps = &maps(&server);
    let map = &ConfigMap {
        metadata: ObjectMeta {
            name: Some("counter".to_owned()),
            ..Default::default()
        },
        ..Default::default()
    };
    let create = || async move { maps.create(&PostParams::default(), map).await };
    let patient = POLICY.retry_conflicts(true);
    let refused = patient.retry(create).reported().await;
    assert_eq!(refused.expect_err("exists").reason, StopReason::Permanent);
    assert_eq!(server.requests(), 1);
}
