//! Read-modify-write against a real etcd.

mod server;
mod store;

use backoff_cloud::{Fault, FaultKind, Policy, StopReason, http::ApiError, testing::VirtualTime};
use server::Server;
use std::{collections::BTreeSet, time::Duration};
use store::Store;
use tokio::task::JoinSet;

/// The waits are short because etcd is near and fast. The deadline is long, so that every name arrives from a
/// slow machine too.
const UPDATE: Policy = Policy::exponential()
    .base(Duration::from_millis(20))
    .max_backoff(Duration::from_millis(500))
    .deadline(Duration::from_secs(600));

/// Adds a name to a list that other writers change too.
async fn add(store: Store, name: String) -> Result<(), ApiError> {
    let written = UPDATE
        .update(
            || store.read(),
            |names| names.add(&name),
            async |names| store.swap(&names).await,
        )
        .conflict_if(|reply| !reply.succeeded)
        .attempt_timeout(Duration::from_secs(60));
    written.await.map(drop)
}

async fn started() -> (Server, Store) {
    let server = Server::start().await.expect("etcd comes up");
    let store = Store::new(&server.url, "a key").expect("a client");
    (server, store)
}

#[tokio::test]
#[cfg_attr(
    not(has_etcd),
    ignore = "etcd is not installed: apt-get install etcd-server"
)]
async fn sixteen_writers_all_arrive() {
    let (_server, store) = started().await;
    let names: BTreeSet<_> = (0..16).map(|number| format!("writer-{number}")).collect();
    let mut writers: JoinSet<_> = names
        .iter()
        .map(|name| add(store.clone(), name.clone()))
        .collect();
    while let Some(written) = writers.join_next().await {
        written.expect("no panic").expect("written");
    }
    let arrived = store.read().await.expect("the names").names;
    assert_eq!(arrived.len(), names.len(), "none twice: {arrived:?}");
    assert_eq!(BTreeSet::from_iter(arrived), names);
}

#[tokio::test]
#[cfg_attr(
    not(has_etcd),
    ignore = "etcd is not installed: apt-get install etcd-server"
)]
async fn a_conflict_is_a_reply_and_a_conflict_for_ever_ends_with_the_deadline() {
    let (_server, store) = started().await;
    let stale = store.read().await.expect("nothing yet");
    let mut first = stale.clone();
    first.add("first");
    assert!(store.swap(&first).await.expect("a reply").succeeded);

    // A cache that never learns. Of the time only the waits count, so that the machine's speed does not.
    let read = || std::future::ready(Ok(stale.clone()));
    let policy = Policy::constant(Duration::from_millis(50)).deadline(Duration::from_millis(200));
    let updated = policy
        .update(
            read,
            |names| names.add("second"),
            async |names| store.swap(&names).await,
        )
        .conflict_if(|reply| !reply.succeeded)
        .runtime(VirtualTime::new())
        .reported()
        .await;
    let given_up = updated.expect_err("always too late");
    assert_eq!(given_up.reason, StopReason::Deadline);
    assert_eq!(given_up.error.kind(), Some(FaultKind::Conflict));
    assert_eq!(given_up.report.conflicts, given_up.report.writes);
    assert_eq!(given_up.report.conflicts, 5, "{:?}", given_up.report);
    assert_eq!(store.read().await.expect("the names").names, ["first"]);
}
