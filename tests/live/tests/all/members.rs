//! Many tasks change members of roles at once, over plain REST.

use crate::iam::rest;
use backoff_cloud::{
    StopReason, Updated,
    iam::{Condition, Grant, Members, Rest},
};
use emulator::Emulator;
use std::collections::BTreeSet;

const PROJECT: &str = "projects/p";
const ROLE: &str = "roles/viewer";

fn start() -> (Emulator, Members<Rest>) {
    let emulator = Emulator::start().unwrap();
    let members = Members::new(rest(&emulator));
    (emulator, members)
}

fn user(n: usize) -> String {
    format!("user:{n}@example.com")
}

/// Each of these changes in a task of its own is written; four calls at most are made.
async fn are_written<F, T, E>(emulator: &Emulator, changes: impl Iterator<Item = F>)
where
    F: Future<Output = Result<Updated<T, T>, E>> + Send + 'static,
    T: Send + 'static,
    E: std::fmt::Debug + Send + 'static,
{
    let tasks = changes.map(tokio::spawn);
    for task in tasks.collect::<Vec<_>>() {
        assert!(task.await.unwrap().unwrap().is_written());
    }
    let stats = emulator.stats();
    assert!(stats.calls <= 4, "{stats:?}");
    assert_eq!((stats.conflicts, stats.blind_writes), (0, 0));
}

fn stored(emulator: &Emulator) -> BTreeSet<String> {
    let policy = emulator.policy(PROJECT);
    let bindings = policy["bindings"].as_array().unwrap();
    assert_eq!(bindings.len(), 1, "{policy}");
    serde_json::from_value(bindings[0]["members"].clone()).unwrap()
}

#[tokio::test]
async fn a_hundred_tasks_cost_at_most_four_calls() {
    let (emulator, members) = start();
    let add = |n: usize| members.add(PROJECT, ROLE, &user(n));
    are_written(&emulator, (0..100).map(add)).await;
    assert_eq!(stored(&emulator), (0..100).map(user).collect());
    emulator.reset_stats();
    let remove = |n: usize| members.remove(PROJECT, ROLE, &user(n));
    let both = (0..50).flat_map(|n| [remove(n), add(n + 100)]);
    are_written(&emulator, both).await;
    assert_eq!(stored(&emulator), (50..150).map(user).collect());
}

#[tokio::test]
async fn a_change_that_is_alone_costs_what_it_costs_without_others() {
    let (emulator, members) = start();
    for (name, writes) in [("user:1@example.com", 1), ("user:1@Example.com", 0)] {
        let updated = members.add(PROJECT, ROLE, name).await.unwrap();
        assert_eq!(updated.is_written(), writes == 1, "{name}");
        let stats = emulator.stats();
        let calls = (stats.calls, stats.reads, stats.writes);
        assert_eq!(calls, (1 + writes, 1, writes), "{name}");
        emulator.reset_stats();
    }
}

#[tokio::test]
async fn a_condition_is_a_binding_of_its_own() {
    let (emulator, members) = start();
    let night = Condition::new("night", "request.time.getHours() < 6");
    let at_night = Grant::add(ROLE, &user(1)).condition(night);
    let (always, at_night) = tokio::join!(
        members.add(PROJECT, ROLE, &user(1)),
        members.change(PROJECT, at_night)
    );
    assert!(always.unwrap().is_written() && at_night.unwrap().is_written());
    emulator.reset_stats();
    let removed = members.remove(PROJECT, ROLE, &user(1)).await;
    assert!(removed.unwrap().is_written());
    let stats = emulator.stats();
    assert_eq!((stats.reads, stats.writes), (1, 1));
    let policy = emulator.policy(PROJECT);
    assert_eq!(policy["bindings"].as_array().unwrap().len(), 1, "{policy}");
    assert_eq!(policy["bindings"][0]["condition"]["title"], "night");
}

#[tokio::test]
async fn a_name_that_could_lead_elsewhere_sends_nothing() {
    let (emulator, members) = start();
    let refused = members.add("projects/mine/../victim", ROLE, &user(1)).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.reason(), StopReason::Permanent);
    assert!(!refused.may_be_applied());
    let text = refused.to_string();
    assert!(text.contains("nothing was sent"), "{text}");
    assert_eq!(emulator.stats().calls, 0);
}
