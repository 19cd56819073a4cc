//! kube, over plain HTTP.

use crate::{
    facts::{
        NOTHING, POLICY,
        Repeated::{Always, IfIdempotent, Never},
        assert_says,
    },
    forms::{Form, fails_on_the_way, failure, says, sixteen_writes, status},
    server::{AMPLE, End, Meeting, Request, Server, reply},
};
use backoff_core::{Fault, FaultKind, Policy, StopReason};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, Config, Error,
    api::{ObjectMeta, PostParams},
};
use kube_client_5 as kube;
use serde_json::{Value, json};
use std::{
    fmt::Display,
    sync::{Arc, Mutex},
    time::Duration,
};

const PATH: &str = "/api/v1/namespaces/default/configmaps";

fn config(host: impl Display) -> Config {
    config_of(&format!("http://{host}/"))
}

fn config_of(url: &str) -> Config {
    let mut config = Config::new(url.parse().expect("a URL"));
    config.default_retry = false;
    config.read_timeout = Some(AMPLE);
    config.connect_timeout = Some(AMPLE);
    config
}

fn maps(config: Config) -> Api<ConfigMap> {
    Api::default_namespaced(Client::try_from(config).expect("a client"))
}

struct Kube;

impl Form for Kube {
    type Error = Error;

    const CANNOT: &[(&str, &str)] = &[(
        "a chunk without a length",
        "hyper does not say whether the connection is of use",
    )];

    const HAS_TLS: bool = false;

    async fn read(origin: &str, connect: Duration, whole: Duration) -> Result<(), Error> {
        let mut config = config_of(origin);
        config.connect_timeout = Some(connect);
        config.read_timeout = Some(whole);
        let maps: Api<ConfigMap> = Api::default_namespaced(Client::try_from(config)?);
        maps.get("counter").await.map(drop)
    }
}

/// A failure as the API server sends it.
fn said(code: u16, reason: &str, seconds: u32) -> String {
    said_because(code, reason, seconds, &json!([]))
}

/// The same with causes.
fn said_because(code: u16, reason: &str, seconds: u32, causes: &Value) -> String {
    let details = json!({
        "name": "counter", "kind": "configmaps", "retryAfterSeconds": seconds, "causes": causes,
    });
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "said", "reason": reason, "details": details, "code": code,
    });
    let headers = "content-type: application/json\r\nretry-after: 30\r\n";
    reply(code, headers, &body.to_string())
}

#[tokio::test]
async fn on_the_way() {
    fails_on_the_way::<Kube>().await;
}

#[tokio::test]
async fn statuses() {
    for (seconds, hint) in [(0, None), (7, Some(7_000))] {
        let rows = [
            (503, "ServiceUnavailable", IfIdempotent),
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
        let error = failure::<Kube>(said, End::Close).await;
        assert_eq!(error.kind(), Some(kind), "{reason} {causes}");
        assert_says(&error, status(409), Never);
        let is_repeated = POLICY.retry_conflicts(true).judge(&error) != false.into();
        assert_eq!(
            is_repeated,
            kind == FaultKind::Conflict,
            "{reason} {causes}"
        );
    }
}

#[tokio::test]
async fn no_object() {
    let error = failure::<Kube>(reply(200, "", "<html>"), End::Close).await;
    assert!(matches!(error, Error::SerdeError(_)), "{error:?}");
    assert_eq!(error.kind(), Some(FaultKind::Permanent));
    assert_says(&error, NOTHING, Never);
}

#[tokio::test]
async fn its_own_retries_are_on_by_default() {
    let server = Server::of(reply(503, "", ""), End::Close);
    let mut config = config(&server);
    config.default_retry = true;
    let maps = maps(config);
    let third = async {
        while server.calls() < 3 {
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
fn api(answers: &[&str], writers: u32) -> (Server, Arc<Mutex<Value>>) {
    let meeting = Meeting::of(writers);
    let first = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"count": "0"},
        "metadata": {"name": "counter", "namespace": "default", "resourceVersion": "1"},
    });
    let kept = Arc::new(Mutex::new(first));
    let object = Arc::clone(&kept);
    let answers: Vec<_> = answers.iter().rev().map(|&it| it.to_owned()).collect();
    let answers = Mutex::new(answers);
    let json = "content-type: application/json\r\n";
    let server = Server::answering(move |request: Request| {
        let mut object = object.lock().expect("no panic");
        let mut words = request.first.split([' ', '?']);
        let (method, path) = (
            words.next(),
            words.next().and_then(|it| it.strip_prefix(PATH)),
        );
        match (method.unwrap_or_default(), path) {
            ("GET", Some("/counter")) => {
                let read = reply(200, json, &object.to_string());
                drop(object);
                meeting.has_read();
                read
            }
            ("POST", Some("")) => said(409, "AlreadyExists", 0),
            ("PUT", Some("/counter")) => {
                if let Some(answer) = answers.lock().expect("no panic").pop() {
                    return answer;
                }
                let mut new: Value = serde_json::from_str(&request.body).expect("an object");
                let version = &object["metadata"]["resourceVersion"];
                if new["metadata"]["resourceVersion"] != *version {
                    return said(409, "Conflict", 0);
                }
                let next: u32 = version
                    .as_str()
                    .and_then(|it| it.parse().ok())
                    .expect("a number");
                new["metadata"]["resourceVersion"] = (next + 1).to_string().into();
                *object = new;
                reply(200, json, &object.to_string())
            }
            _ => said(404, "NotFound", 0),
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
    let (server, kept) = api(&[], 4);
    let maps = &maps(config(&server));
    assert!(sixteen_writes(async || count(maps, &POLICY).await.conflicts).await > 0);
    assert_eq!(kept.lock().expect("no panic")["data"]["count"], "16");
}

#[tokio::test]
async fn a_write_that_is_throttled_is_made_again() {
    let busy = said(429, "TooManyRequests", 1);
    let away = said(503, "ServiceUnavailable", 0);
    let (server, kept) = api(&[&busy, &away, ""], 1);
    let report = count(&maps(config(&server)), &POLICY).await;
    assert_eq!((report.reads, report.writes, report.conflicts), (4, 4, 0));
    assert!(report.slept >= Duration::from_secs(1), "{report:?}");
    assert_eq!(kept.lock().expect("no panic")["data"]["count"], "1");
}

#[tokio::test]
async fn what_exists_is_not_created_again() {
    let (server, _) = api(&[], 1);
    let maps = &maps(config(&server));
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
    assert_eq!(server.calls(), 1);
}
