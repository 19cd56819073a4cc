//! kube, over plain HTTP.

use crate::{
    facts::{Facts, MAYBE_SENT, NOT_SENT, NOTHING, POLICY, Repeated, assert_row},
    server::{
        AMPLE, End, Meeting, PATIENCE, Request, Server, broken_off_replies, full, half, html_502,
        nobody, reply,
    },
    status,
};
use backoff_core::{Delivery, Fault, FaultKind, Policy, StopReason, TimedOut, known_fault};
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
    let url = format!("http://{host}/").parse().expect("a URL");
    let mut config = Config::new(url);
    config.default_retry = false;
    config.read_timeout = Some(AMPLE);
    config.connect_timeout = Some(AMPLE);
    config
}

fn maps(config: Config) -> Api<ConfigMap> {
    Api::default_namespaced(Client::try_from(config).expect("a client"))
}

/// The error of kube when the server does this.
async fn failure(bytes: impl Into<Vec<u8>>, end: End) -> Error {
    let server = Server::of(bytes, end);
    let mut config = config(&server);
    config.read_timeout = Some(end.patience());
    let got = maps(config).get("counter").await;
    // On a slow machine the time may be over before the server has read the request.
    assert!(server.calls() <= 1, "its own retries are off");
    got.expect_err("the failure")
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
async fn refused() {
    let got = maps(config(nobody())).get("counter").await;
    assert_row(&got.expect_err("refused"), NOT_SENT, Repeated::Always);
}

#[tokio::test]
async fn dns() {
    let got = maps(config("no-such-host.invalid")).get("counter").await;
    assert_row(&got.expect_err("no name"), NOT_SENT, Repeated::Always);
}

#[tokio::test]
async fn connect_timeout() {
    let (server, _socket, _queue) = full();
    let mut config = config(server);
    config.connect_timeout = Some(PATIENCE);
    let got = maps(config).get("counter").await;
    assert_row(&got.expect_err("no answer"), NOT_SENT, Repeated::Always);
}

#[tokio::test]
async fn broken_off() {
    for (bytes, end) in broken_off_replies() {
        let error = failure(bytes, end).await;
        assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
    }
}

#[tokio::test]
async fn stall() {
    for bytes in [Vec::new(), half("", b"half")] {
        let error = failure(bytes, End::Stall).await;
        assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
    }
}

#[tokio::test]
async fn statuses() {
    for (code, reason, repeated) in [
        (503, "ServiceUnavailable", Repeated::IfIdempotent),
        (500, "ServerTimeout", Repeated::IfIdempotent),
        (504, "Timeout", Repeated::IfIdempotent),
        (429, "TooManyRequests", Repeated::Always),
        (403, "Forbidden", Repeated::Never),
        (404, "NotFound", Repeated::Never),
        (410, "Expired", Repeated::Never),
        (422, "Invalid", Repeated::Never),
    ] {
        let error = failure(said(code, reason, 0), End::Close).await;
        assert_row(&error, status(code), repeated);
        let error = failure(said(code, reason, 7), End::Close).await;
        let facts = Facts {
            retry_after: Some(Duration::from_secs(7)),
            ..status(code)
        };
        assert_row(&error, facts, repeated);
    }
}

#[tokio::test]
async fn all_kinds_of_409() {
    let stale = failure(said(409, "Conflict", 0), End::Close).await;
    assert_eq!(stale.kind(), Some(FaultKind::Conflict));
    assert_row(&stale, status(409), Repeated::Never);
    assert_ne!(POLICY.retry_conflicts(true).judge(&stale), false.into());
    let exists = failure(said(409, "AlreadyExists", 0), End::Close).await;
    assert_eq!(exists.kind(), Some(FaultKind::Permanent));
    assert_row(&exists, status(409), Repeated::Never);
    assert_eq!(POLICY.retry_conflicts(true).judge(&exists), false.into());
    let cause = json!([{
        "reason": "FieldManagerConflict", "field": ".data.count",
        "message": "conflict with \"other\" using v1",
    }]);
    let applied = failure(said_because(409, "Conflict", 0, &cause), End::Close).await;
    assert_eq!(applied.kind(), Some(FaultKind::Permanent));
    assert_row(&applied, status(409), Repeated::Never);
    assert_eq!(POLICY.retry_conflicts(true).judge(&applied), false.into());
}

#[tokio::test]
async fn html() {
    let error = failure(html_502(), End::Close).await;
    assert_row(&error, status(502), Repeated::IfIdempotent);
}

#[tokio::test]
async fn no_object() {
    let error = failure(reply(200, "", "<html>"), End::Close).await;
    assert!(matches!(error, Error::SerdeError(_)), "{error:?}");
    assert_eq!(error.kind(), Some(FaultKind::Permanent));
    assert_row(&error, NOTHING, Repeated::Never);
}

#[tokio::test]
async fn its_own_retries_are_on_by_default() {
    let (call, mut calls) = tokio::sync::mpsc::unbounded_channel();
    let server = Server::answering(move |_| {
        // Nobody listens any more when the third has come.
        let _ = call.send(());
        reply(503, "", "")
    });
    let mut config = config(&server);
    config.default_retry = true;
    let maps = maps(config);
    let third = async {
        for _ in 0..3 {
            calls.recv().await.expect("a call");
        }
    };
    tokio::select! {
        got = maps.get("counter") => panic!("it gave up: {got:?}"),
        () = third => {}
    }
}

#[tokio::test]
async fn inside_other_errors() {
    let got = maps(config(nobody())).get("counter").await;
    let hidden = std::io::Error::other(got.expect_err("refused"));
    let found = known_fault(&hidden).and_then(Fault::delivery);
    assert_eq!(found, Some(Delivery::NotSent));
    let cut = Error::from(TimedOut::new(PATIENCE));
    assert_row(&cut, MAYBE_SENT, Repeated::IfIdempotent);
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
    let answers = Mutex::new(
        answers
            .iter()
            .rev()
            .map(|&it| it.to_owned())
            .collect::<Vec<_>>(),
    );
    let json = "content-type: application/json\r\n";
    let server = Server::answering(move |request: Request| {
        let mut object = object.lock().expect("no panic");
        match (&*request.method, request.path.strip_prefix(PATH)) {
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
    let mut conflicts = 0;
    for _ in 0..4 {
        let one = || count(maps, &POLICY);
        let (a, b, c, d) = tokio::join!(one(), one(), one(), one());
        conflicts += [a, b, c, d].iter().map(|it| it.conflicts).sum::<u32>();
    }
    assert_eq!(kept.lock().expect("no panic")["data"]["count"], "16");
    assert!(conflicts > 0);
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
