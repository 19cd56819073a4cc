//! Names of resources that could lead to another resource, or to another method.

use crate::{iam::rest, server::client};
use backoff_cloud::{
    Delivery, StopReason,
    iam::{self, Failure, PolicyStore, Rest},
};
use emulator::Emulator;
use serde_json::json;

const MEMBER: &str = "user:mallory@example.com";

#[tokio::test]
async fn a_name_that_could_lead_elsewhere_sends_nothing() {
    let emulator = Emulator::start().expect("a port on loopback");
    let owner = json!({"role": "roles/owner", "members": ["user:ann@example.com"]});
    emulator.set_policy("projects/victim", json!({"bindings": [owner]}));
    let before = emulator.policy("projects/victim");
    let by_post = rest(&emulator).token(|| async { panic!("a token is asked for") });
    let by_get = by_post.clone().read_by_get();
    for resource in [
        "projects/mine/../victim",
        "",
        "projects/victim:getIamPolicy?x=",
        "projects/victim\n",
    ] {
        for rest in [&by_post, &by_get] {
            let change = iam::add(rest, resource, "roles/viewer", MEMBER).await;
            let refused = change.expect_err(resource);
            assert_eq!(refused.reason, StopReason::Permanent, "{resource}");
            assert_eq!(refused.report.attempts, 1, "{resource}");
            let Failure::Client(error) = refused.error else {
                panic!("{resource}: {:?}", refused.error)
            };
            assert_eq!(error.status(), None);
            let delivery = backoff_cloud::Fault::delivery(&error);
            assert_eq!(delivery, Some(Delivery::NotSent), "{resource}");
            let shown = error.to_string();
            let beginning = "nothing was sent: the name of a resource ";
            assert!(shown.starts_with(beginning), "{shown}");
        }
        let policy = iam::PlainPolicy::default();
        by_post.set(resource, policy).await.expect_err(resource);
    }
    assert_eq!(emulator.stats().calls, 0);
    assert_eq!(emulator.policy("projects/victim"), before);
}

#[tokio::test]
async fn a_name_leads_to_the_resource_that_it_names() {
    for resource in [
        "b/größe",
        "projects/mine/%2e%2e/victim",
        "projects/victim?x=",
        "projects/victim#x",
        "projects/mine\\..\\victim",
    ] {
        for by_get in [false, true] {
            let emulator = Emulator::start().expect("a port on loopback");
            let mut rest = rest(&emulator);
            if by_get {
                rest = rest.read_by_get();
            }
            let change = iam::add(&rest, resource, "roles/viewer", MEMBER).await;
            assert!(change.expect(resource).is_written(), "{resource}");
            let expected = json!([{"role": "roles/viewer", "members": [MEMBER]}]);
            let bindings = &emulator.policy(resource)["bindings"];
            assert_eq!(bindings, &expected, "{resource}");
            assert_eq!(emulator.stats().calls, 2, "{resource}");
        }
    }
}

#[tokio::test]
async fn a_base_with_a_query_sends_nothing() {
    let emulator = Emulator::start().expect("a port on loopback");
    let base = format!("{}/v3?key=SECRET", emulator.url());
    let rest = Rest::new(client(), base);
    assert!(!format!("{rest:?}").contains("SECRET"), "{rest:?}");
    let change = iam::add(&rest, "projects/p", "roles/viewer", MEMBER).await;
    let shown = change.expect_err("no path").to_string();
    assert!(shown.contains("without a query and a fragment"), "{shown}");
    assert!(!shown.contains("SECRET"), "{shown}");
    assert_eq!(emulator.stats().calls, 0);
}
