//! Many tasks change members of roles at once, with Google's own client.

use backoff_cloud::{FaultKind, GrpcCode, StopReason, iam, known_fault};
use emulator::{Call, Emulator, Reply};
use google_cloud_resourcemanager_v3::client::Projects;
use official::client;
use serde_json::Value;
use std::collections::BTreeSet;

const PROJECT: &str = "projects/p";
const ROLE: &str = "roles/viewer";

async fn members(emulator: &Emulator) -> iam::Members<Projects> {
    iam::Members::new(client!(Projects, emulator.url()))
}

#[tokio::test]
async fn a_hundred_tasks_cost_at_most_four_calls() {
    let emulator = Emulator::start().unwrap();
    let members = members(&emulator).await;
    let names: BTreeSet<_> = (0..100).map(|n| format!("user:{n}@example.com")).collect();
    let add = |name: &String| tokio::spawn(members.add(PROJECT, ROLE, name));
    for task in names.iter().map(add).collect::<Vec<_>>() {
        assert!(task.await.unwrap().unwrap().is_written());
    }
    let policy = emulator.policy(PROJECT);
    let stored = policy["bindings"][0]["members"].as_array().unwrap();
    let stored: Vec<_> = stored.iter().filter_map(Value::as_str).collect();
    assert_eq!(stored.len(), 100);
    assert!(names.iter().all(|name| stored.contains(&name.as_str())));
    let stats = emulator.stats();
    assert!(stats.calls <= 4, "{stats:?}");
}

/// A retry around the call does not multiply the attempts, also where the error is in a box.
#[tokio::test]
async fn a_failed_write_is_shared_and_is_permanent_in_a_box() {
    let emulator = Emulator::start().unwrap();
    let once = iam::READ_MODIFY_WRITE.max_attempts(1);
    let members = members(&emulator).await.policy(once);
    emulator.script(Call::SetIamPolicy, [Reply::status(503)]);
    let add = |member| members.add(PROJECT, ROLE, member);
    let (first, second) = tokio::join!(add("user:a@example.com"), add("user:b@example.com"));
    for failed in [first, second] {
        let failed = failed.unwrap_err();
        assert_eq!(failed.reason(), StopReason::Attempts);
        assert!(failed.may_be_applied());
        let hidden: Box<dyn std::error::Error + Send + Sync> = failed.into();
        let known = known_fault(&*hidden).unwrap();
        assert_eq!(known.kind(), Some(FaultKind::Permanent));
        assert_eq!(known.grpc_code(), Some(GrpcCode::Unavailable));
    }
    assert_eq!(emulator.stats().calls, 2);
}
