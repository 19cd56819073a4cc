//! Allow policies over HTTP: reads, writes, etags, versions.

use backoff_cloud::emulator::{Call, Emulator, Reply, Stats};
use serde_json::{Value, json};

use crate::emulator::client::*;

#[test]
fn a_policy_is_read_written_and_read_back() {
    let emulator = Emulator::start().unwrap();
    let fresh = ask(&emulator, &read_request());
    assert_eq!((fresh.status, fresh.json()), (200, json!({"etag": "ACAB"})));

    let policy = json!({
        "version": 3,
        "etag": "ACAB",
        "bindings": [{"role": "roles/viewer", "members": ["user:ann@example.com"],
                      "condition": {"title": "t", "expression": "true", "new": [1, {"a": null}]}}],
        "auditConfigs": [{"service": "allServices"}],
    });
    let written = ask(&emulator, &write_request(&policy));
    assert_eq!(written.status, 200);
    let written = written.json();
    assert_ne!(written["etag"], policy["etag"]);
    assert_eq!(written["bindings"], policy["bindings"]);
    // Not named in a mask, so not written.
    assert_eq!(written.get("auditConfigs"), None);

    for version in ["v1", "v2", "v3"] {
        let path = format!("/{version}/{PROJECT}:getIamPolicy");
        let query = format!("{path}?options.requestedPolicyVersion=3&%24alt=json%3Ba%3Db");
        let body = r#"{"options":{"requestedPolicyVersion":3}}"#;
        for read in [request("GET", &query, ""), request("POST", &path, body)] {
            assert_eq!(ask(&emulator, &read).json(), written);
        }
    }
    assert_eq!(emulator.policy(PROJECT), written);
    assert_eq!(emulator.policy("projects/other"), json!({"etag": "ACAB"}));

    let stats = emulator.stats();
    let written = (stats.writes, stats.blind_writes);
    assert_eq!((stats.calls, stats.reads, written), (8, 7, (1, 0)));
    emulator.reset_stats();
    assert_eq!(emulator.stats(), Stats::default());
}

#[test]
fn who_does_not_ask_for_conditions_sees_hashes_and_cannot_write_them() {
    let emulator = Emulator::start().unwrap();
    let condition = json!({"title": "t", "expression": "request.time < timestamp('2030-01-01')"});
    let bindings =
        json!([{"role": "roles/viewer", "members": ["user:a@b.c"], "condition": condition}]);
    emulator.set_policy(PROJECT, json!({"version": 3, "bindings": bindings}));
    let path = format!("/v1/{PROJECT}:getIamPolicy");
    for read in [request("GET", &path, ""), request("POST", &path, "")] {
        let seen = ask(&emulator, &read).json();
        let role = seen["bindings"][0]["role"].as_str().unwrap();
        assert!(role.starts_with("roles/viewer_withcond_"), "{role}");
        let refused = ask(&emulator, &write_request(&seen)).error();
        assert_eq!(refused, (400, "INVALID_ARGUMENT".to_owned()));
    }
    assert_eq!(emulator.stats().writes, 0);
    assert_eq!(emulator.policy(PROJECT)["bindings"], bindings);
}

#[test]
fn every_permission_that_is_asked_about_is_there() {
    let emulator = Emulator::start().unwrap();
    let busy = [Reply::status(503), Reply::pass()];
    emulator.script(Call::TestIamPermissions, busy);
    let path = "/v3/folders/1:testIamPermissions";
    let test = request("POST", path, r#"{"permissions": ["a.b.get", "a.b.set"]}"#);
    assert_eq!(ask(&emulator, &test).error().0, 503);
    let granted = ask(&emulator, &test).json();
    assert_eq!(granted, json!({"permissions": ["a.b.get", "a.b.set"]}));
    let stats = emulator.stats();
    assert_eq!((stats.calls, stats.reads, stats.faults), (2, 0, 1));
}

/// As `google-cloud-secretmanager-v1` reads; `-iam-v1` and `-resourcemanager-v3` read by POST.
#[test]
fn the_policy_of_a_secret_is_read_by_get_alone() {
    let emulator = Emulator::start().unwrap();
    let path = "/v1/projects/p/secrets/s:getIamPolicy";
    let by_post = ask(&emulator, &request("POST", path, "{}"));
    assert_eq!(by_post.error(), (404, "NOT_FOUND".to_owned()));
    assert_eq!(ask(&emulator, &request("GET", path, "")).status, 200);
    assert_eq!(emulator.stats().reads, 1);
}

/// With the paths of several services.
#[tokio::test]
async fn a_policy_is_kept_for_each_resource() {
    let emulator = Emulator::start().unwrap();
    let client = client();
    let url = |path: &str| format!("{}/{path}", emulator.url());
    let body = json!({"options": {"requestedPolicyVersion": 3}}).to_string();
    for resource in [
        "v1/projects/p/serviceAccounts/a@p.iam.gserviceaccount.com",
        "v1/projects/p/locations/europe-west1/keyRings/k",
        "v3/projects/p",
        "v3/folders/12",
        "v3/organizations/34",
    ] {
        let read = format!("{}:getIamPolicy", url(resource));
        let by_post = client.post(&read).body(body.clone()).send().await.unwrap();
        let by_post = by_post.text().await.unwrap();
        let query = [
            ("options.requestedPolicyVersion", "3"),
            ("$alt", "json;enum-encoding=int"),
        ];
        let by_get = reqwest::Url::parse_with_params(&read, query).unwrap();
        let by_get = client.get(by_get).send().await.unwrap();
        assert_eq!(by_get.text().await.unwrap(), by_post);

        let mut policy: Value = serde_json::from_str(&by_post).unwrap();
        policy["bindings"] = json!([
            {"role": "roles/r", "members": [format!("principal://{resource}")]}
        ]);
        let body = json!({"policy": policy}).to_string();
        let write = format!(
            "{}:setIamPolicy?%24alt=json%3Benum-encoding%3Dint",
            url(resource)
        );
        let written = client.post(&write).body(body.clone()).send().await.unwrap();
        assert_eq!(written.status(), 200);
        let again = client.post(&write).body(body).send().await.unwrap();
        assert_eq!(again.status(), 409);

        let (_, name) = resource.split_once('/').unwrap();
        assert_eq!(emulator.policy(name)["bindings"], policy["bindings"]);
        let stats = emulator.stats();
        assert_eq!((stats.reads, stats.writes, stats.conflicts), (2, 1, 1));
        assert_eq!(stats.blind_writes, 0);
        emulator.reset_stats();
    }
}

#[test]
fn a_stale_etag_conflicts_and_no_etag_overwrites() {
    let emulator = Emulator::start().unwrap();
    let read = ask(&emulator, &read_request()).json();
    emulator.set_policy(
        PROJECT,
        json!({"bindings": [{"role": "roles/r", "members": ["user:b@b.c"]}]}),
    );
    let theirs = emulator.policy(PROJECT);

    let conflict = ask(&emulator, &write_request(&read));
    assert_eq!(conflict.error(), (409, "ABORTED".to_owned()));
    assert_eq!(emulator.policy(PROJECT), theirs);

    let blind = ask(&emulator, &write_request(&json!({"bindings": []})));
    assert_eq!(blind.status, 200);
    assert_eq!(emulator.policy(PROJECT)["bindings"], json!([]));
    let stats = emulator.stats();
    let written = (stats.writes, stats.blind_writes);
    assert_eq!((stats.conflicts, written), (1, (1, 1)));
}
