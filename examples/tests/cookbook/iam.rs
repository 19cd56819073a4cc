//! No change is lost, neither a grant nor what other programs write.

use backoff_cloud::{iam::Rest, testing};
use emulator::{Call, Emulator, Reply};
use reqwest::Client;
use serde_json::json;
use tokio::task::JoinSet;

#[path = "../../cookbook/iam.rs"]
#[allow(dead_code, unreachable_pub, reason = "a program of its own")]
mod program;

const PROJECT: &str = "projects/p";

#[tokio::test]
async fn all_members_arrive() {
    let _instant = testing::instant();
    let emulator = Emulator::start().unwrap();
    let projects = Rest::new(Client::new(), format!("{}/v3", emulator.url()));
    let lost = Reply::reset().applied();
    emulator.script(Call::GetIamPolicy, [Reply::status(503)]);
    emulator.script(Call::SetIamPolicy, [lost.clone(), Reply::status(429)]);

    let members: Vec<_> = (0..8).map(|n| format!("user:{n}@example.com")).collect();
    let mut grants = JoinSet::new();
    for member in members.clone() {
        let projects = projects.clone();
        grants.spawn(
            async move { program::grant(&projects, PROJECT, "roles/editor", &member).await },
        );
    }
    assert!(grants.join_all().await.iter().all(Result::is_ok));

    emulator.script(Call::SetIamPolicy, [Reply::status(409), lost]);
    let replaced = program::replace(&projects, PROJECT, "roles/editor", "roles/viewer");
    replaced.await.unwrap();

    let policy = emulator.policy(PROJECT);
    let mut arrived = policy["bindings"][0]["members"].as_array().unwrap().clone();
    arrived.sort_by_key(ToString::to_string);
    assert_eq!(json!(arrived), json!(members));
    assert_eq!(policy["bindings"][0]["role"], "roles/viewer");
    let stats = emulator.stats();
    assert!(stats.conflicts > 0 && stats.lost_replies == 2, "{stats:?}");
    assert_eq!(stats.blind_writes, 0);
}
