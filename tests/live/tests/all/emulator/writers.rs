//! Many writers of one policy.

use std::sync::Arc;
use std::time::Duration;

use backoff_cloud::emulator::{Emulator, Faults, Reply};
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tokio::time::timeout;

use crate::emulator::client::*;

/// Sends a call and gives its status and body, or nothing if the connection failed.
async fn send(client: &reqwest::Client, emulator: &Emulator, body: &Value) -> Option<(u16, Value)> {
    let verb = if body.get("policy").is_some() {
        "setIamPolicy"
    } else {
        "getIamPolicy"
    };
    let url = format!("{}/v1/{PROJECT}:{verb}", emulator.url());
    let response = client.post(url).body(body.to_string()).send().await.ok()?;
    let status = response.status().as_u16();
    let text = response.text().await.ok()?;
    Some((status, serde_json::from_str(&text).unwrap_or_default()))
}

/// Adds a member the way a careful caller does, by hand. `met` is called once, after the first
/// read.
async fn add_member(emulator: &Emulator, member: &str, met: Option<&Barrier>) {
    let client = client();
    let mut met = met;
    loop {
        let Some((200, mut policy)) = send(&client, emulator, &json!({})).await else {
            continue;
        };
        if let Some(barrier) = met.take() {
            barrier.wait().await;
        }
        if policy.get("bindings").is_none() {
            policy["bindings"] = json!([{"role": "roles/viewer", "members": []}]);
        }
        let members = policy["bindings"][0]["members"].as_array_mut().unwrap();
        if members.iter().any(|there| there == member) {
            return;
        }
        members.push(json!(member));
        if let Some((200, _)) = send(&client, emulator, &json!({"policy": policy})).await {
            return;
        }
    }
}

async fn sixteen_writers(emulator: Emulator, met: Option<Arc<Barrier>>) -> Emulator {
    let emulator = Arc::new(emulator);
    let writers: Vec<_> = (0..16)
        .map(|writer| {
            let (emulator, met) = (Arc::clone(&emulator), met.clone());
            tokio::spawn(async move {
                add_member(
                    &emulator,
                    &format!("user:{writer}@example.com"),
                    met.as_deref(),
                )
                .await;
            })
        })
        .collect();
    for writer in writers {
        // A writer whose policy is never taken would go on for ever.
        timeout(2 * PATIENCE, writer).await.unwrap().unwrap();
    }
    let policy = emulator.policy(PROJECT);
    let mut members: Vec<_> = policy["bindings"][0]["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|member| member.as_str().unwrap().to_owned())
        .collect();
    members.sort();
    let mut expected: Vec<_> = (0..16)
        .map(|writer| format!("user:{writer}@example.com"))
        .collect();
    expected.sort();
    assert_eq!(members, expected);
    Arc::into_inner(emulator).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_writers_lose_nothing() {
    let emulator = Emulator::start().unwrap();
    let emulator = sixteen_writers(emulator, Some(Arc::new(Barrier::new(16)))).await;
    let stats = emulator.stats();
    assert_eq!((stats.writes, stats.blind_writes), (16, 0));
    // All had read the same policy, so all but one first writes were stale.
    assert!(stats.conflicts >= 15, "{stats:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_writers_lose_nothing_on_a_bad_day() {
    let faults = Faults::none()
        .status(503, 0.10)
        .applied_then(503, 0.10)
        .with(Reply::reset(), 0.05)
        .with(Reply::reset().applied(), 0.05)
        .with(Reply::cut(), 0.05)
        .with(Reply::delay(Duration::from_millis(2)), 0.05);
    let emulator = Emulator::builder().seed(7).faults(faults).start().unwrap();
    let emulator = sixteen_writers(emulator, None).await;
    let stats = emulator.stats();
    assert_eq!((stats.writes, stats.blind_writes), (16, 0));
    assert!(stats.faults > 0, "{stats:?}");
}
