//! Tests of members that many tasks change at once.

use super::*;
use crate::iam::kept::{Kept, PROJECT, ROLE};
use backoff_core::{Fault, StopReason, Updated, combine::CombineError};
use std::{sync::atomic::Ordering::Relaxed, time::Duration};

/// A policy in memory, whose first writes get a reply without an etag, and its members.
fn members(without_etag: u32) -> (Arc<Kept>, Members<Arc<Kept>>) {
    let kept = Arc::new(Kept::default());
    kept.without_etag.store(without_etag, Relaxed);
    (Arc::clone(&kept), Members::new(kept))
}

#[tokio::test(start_paused = true)]
async fn a_policy_without_an_etag_is_not_written() {
    let kept = Kept::without_etag();
    let members = Members::new(Arc::clone(&kept));
    let (added, removed) = tokio::join!(
        members.add(PROJECT, ROLE, "user:a"),
        members.remove(PROJECT, ROLE, "user:b"),
    );
    let resource = PROJECT.to_owned();
    let error = added.unwrap_err();
    assert_eq!(error.error(), Some(&Failure::NoEtag { resource }));
    assert!(!error.may_be_applied());
    assert!(!removed.unwrap().is_written());
    assert_eq!(kept.calls().1, 0);
}

#[tokio::test(start_paused = true)]
async fn after_a_reply_without_an_etag_the_policy_is_read_again() {
    let (kept, members) = members(1);
    let added = members.add(PROJECT, ROLE, "user:a").await;
    assert!(matches!(added, Ok(Updated::Unchanged(_))), "{added:?}");
    assert_eq!(kept.members(), ["user:a"]);
    assert_eq!(kept.calls(), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn the_callers_of_a_group_share_one_policy() {
    let (kept, members) = members(0);
    let add = |name| members.add(PROJECT, ROLE, name);
    let (first, second) = tokio::join!(add("user:a"), add("user:b"));
    let (Ok(Updated::Written(first)), Ok(Updated::Written(second))) = (first, second) else {
        panic!("both are written")
    };
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!(first.bindings[0].members, ["user:a", "user:b"]);
    assert_eq!(kept.calls().1, 1);

    // Copies for ten thousand callers of a policy of 1,500 members would take more than a gigabyte.
    let tasks = (0..50).map(|_| tokio::spawn(add("user:b")));
    let mut shared = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        let Ok(Updated::Unchanged(policy)) = task.await.unwrap() else {
            panic!("it is there already")
        };
        shared.push(policy);
    }
    // The first one was alone when its read began.
    let shared = &shared[1..];
    assert!(shared.iter().all(|it| Arc::ptr_eq(it, &shared[0])));
}

#[tokio::test(start_paused = true)]
async fn a_member_that_the_service_refuses_fails_alone() {
    let (kept, members) = members(0);
    let names = ["user:a", "user:b", "nobody:c", "user:d"];
    let tasks = names.map(|name| tokio::spawn(members.add(PROJECT, ROLE, name)));
    for (name, task) in names.into_iter().zip(tasks) {
        let ended = task.await.unwrap();
        assert_eq!(ended.is_err(), name == "nobody:c", "{name}");
        match ended {
            Ok(updated) => assert!(updated.is_written(), "{name}"),
            Err(error) => {
                assert_eq!(error.status(), Some(400));
                assert_eq!(error.reason(), StopReason::Permanent);
                assert!(!error.may_be_applied());
            }
        }
    }
    assert_eq!(kept.members(), ["user:a", "user:b", "user:d"]);
}

#[tokio::test(start_paused = true)]
async fn each_rule_holds_in_any_order() {
    let (kept, members) = members(0);
    let once = READ_MODIFY_WRITE.max_attempts(1);
    let limit = Duration::from_secs(7);
    let first = members
        .clone()
        .policy(once)
        .set(|it| it.at_most(1).attempt_timeout(limit));
    let last = members
        .set(|it| it.attempt_timeout(limit).at_most(1))
        .policy(once);
    for members in [first, last] {
        kept.without_etag.store(1, Relaxed);
        let add = |name| members.add(PROJECT, ROLE, name);
        let (first, second) = tokio::join!(add("user:a"), add("user:b"));
        let first = first.unwrap_err();
        assert_eq!(first.reason(), StopReason::Attempts);
        assert!(first.may_be_applied());
        assert!(matches!(second, Err(CombineError::Full)), "{second:?}");
        members.remove(PROJECT, ROLE, "user:a").await.unwrap();
        let shown = format!("{members:?}");
        assert!(shown.contains("attempt_timeout: 7s"), "{shown}");
    }
}
