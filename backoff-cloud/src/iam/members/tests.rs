//! Tests of members that many tasks change at once.

use super::*;
use crate::iam::PlainPolicy;
use crate::reply::{Says, http};
use backoff_core::{Fault, StopReason, Updated, many::CombineError};
use std::sync::{
    Mutex,
    atomic::{AtomicU32, Ordering::Relaxed},
};

const PROJECT: &str = "projects/p";
const ROLE: &str = "roles/viewer";

/// A policy in memory, and how the service replies.
#[derive(Default)]
struct Kept {
    policy: Mutex<(u32, PlainPolicy)>,
    has_no_etag: bool,
    /// How many writes get a reply without an etag.
    doubtful: AtomicU32,
    reads: AtomicU32,
    writes: AtomicU32,
}

impl Kept {
    fn read(&self) -> PlainPolicy {
        let kept = self.policy.lock().unwrap();
        PlainPolicy {
            etag: (!self.has_no_etag).then(|| kept.0.to_string()),
            ..kept.1.clone()
        }
    }

    fn names(&self) -> Vec<String> {
        let mut bindings = self.read().bindings;
        bindings.pop().map_or(vec![], |binding| binding.members)
    }

    fn write(&self, policy: PlainPolicy) -> Result<PlainPolicy, Says> {
        self.writes.fetch_add(1, Relaxed);
        let bad = |name: &String| name.starts_with("nobody:");
        if policy.bindings.iter().any(|it| it.members.iter().any(bad)) {
            return Err(http(400));
        }
        {
            let mut kept = self.policy.lock().unwrap();
            *kept = (kept.0 + 1, policy);
        }
        let is_doubtful = self
            .doubtful
            .fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        Ok(if is_doubtful.is_ok() {
            PlainPolicy::default()
        } else {
            self.read()
        })
    }
}

impl PolicyStore for Arc<Kept> {
    type Policy = PlainPolicy;
    type Error = Says;

    async fn get(&self, _resource: &str) -> Result<PlainPolicy, Says> {
        self.reads.fetch_add(1, Relaxed);
        // All tasks wait when this returns.
        tokio::task::yield_now().await;
        Ok(self.read())
    }

    async fn set(&self, _resource: &str, policy: PlainPolicy) -> Result<PlainPolicy, Says> {
        self.write(policy)
    }
}

fn members(kept: &Arc<Kept>) -> Members<Arc<Kept>> {
    Members::new(Arc::clone(kept))
}

#[tokio::test(start_paused = true)]
async fn a_policy_without_an_etag_is_not_written() {
    let kept = Arc::new(Kept {
        has_no_etag: true,
        ..Kept::default()
    });
    let members = members(&kept);
    let (added, removed) = tokio::join!(
        members
            .add(PROJECT, ROLE, "user:a@example.com")
            .into_future(),
        members
            .remove(PROJECT, ROLE, "user:b@example.com")
            .into_future(),
    );
    let CombineError::Own {
        error,
        may_be_applied: false,
    } = added.unwrap_err()
    else {
        panic!("an error of its own")
    };
    let resource = PROJECT.to_owned();
    assert_eq!(error, Failure::NoEtag { resource });
    assert!(!removed.unwrap().is_written());
    assert_eq!(kept.writes.load(Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn after_a_reply_without_an_etag_the_policy_is_read_again() {
    let kept = Arc::new(Kept {
        doubtful: 1.into(),
        ..Kept::default()
    });
    let members = members(&kept);
    let added = members.add(PROJECT, ROLE, "user:a@example.com").await;
    assert!(matches!(added, Ok(Updated::Unchanged(_))), "{added:?}");
    assert_eq!(kept.names(), ["user:a@example.com"]);
    let calls = (kept.reads.load(Relaxed), kept.writes.load(Relaxed));
    assert_eq!(calls, (2, 1));
}

#[tokio::test(start_paused = true)]
async fn the_callers_of_a_group_share_one_policy() {
    let kept = Arc::new(Kept::default());
    let members = members(&kept);
    let add = |name| members.add(PROJECT, ROLE, name).into_future();
    let (first, second) = tokio::join!(add("user:a"), add("user:b"));
    let (Ok(Updated::Written(first)), Ok(Updated::Written(second))) = (first, second) else {
        panic!("both are written")
    };
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!(first.bindings[0].members, ["user:a", "user:b"]);
    assert_eq!(kept.writes.load(Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_member_that_the_service_refuses_fails_alone() {
    let kept = Arc::new(Kept::default());
    let members = members(&kept);
    let names = ["user:a", "user:b", "nobody:c", "user:d"];
    let tasks = names.map(|name| tokio::spawn(members.add(PROJECT, ROLE, name).into_future()));
    for (name, task) in names.into_iter().zip(tasks) {
        match task.await.unwrap() {
            Ok(updated) => assert!(updated.is_written(), "{name}"),
            Err(error) => {
                assert_eq!(name, "nobody:c");
                assert_eq!(error.status(), Some(400));
                assert_eq!(error.reason(), StopReason::Permanent);
                assert!(!error.may_be_applied());
            }
        }
    }
    assert_eq!(kept.names(), ["user:a", "user:b", "user:d"]);
}

#[tokio::test(start_paused = true)]
async fn each_rule_holds_in_any_order() {
    let kept = Arc::new(Kept::default());
    let once = READ_MODIFY_WRITE.max_attempts(1);
    let limit = Duration::from_secs(7);
    for members in [
        members(&kept)
            .policy(once)
            .at_most(1)
            .attempt_timeout(limit),
        members(&kept)
            .attempt_timeout(limit)
            .at_most(1)
            .policy(once),
    ] {
        kept.doubtful.store(1, Relaxed);
        let (first, second) = tokio::join!(
            members
                .add(PROJECT, ROLE, "user:a@example.com")
                .into_future(),
            members
                .add(PROJECT, ROLE, "user:b@example.com")
                .into_future(),
        );
        let first = first.unwrap_err();
        assert_eq!(first.reason(), StopReason::Attempts);
        assert!(first.may_be_applied());
        assert!(matches!(second, Err(CombineError::Full)), "{second:?}");
        members
            .remove(PROJECT, ROLE, "user:a@example.com")
            .await
            .unwrap();
        let shown = format!("{members:?}");
        assert!(shown.contains("attempt_timeout: 7s"), "{shown}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_change_has_attempts_of_its_own() {
    let kept = Arc::new(Kept {
        doubtful: 1.into(),
        ..Kept::default()
    });
    let members = members(&kept).policy(READ_MODIFY_WRITE.max_attempts(1));
    let add = |name| members.add(PROJECT, ROLE, name);
    let (by_policy, once, twice) = tokio::join!(
        add("user:a").into_future(),
        add("user:b").into_future().max_attempts(1),
        add("user:c").into_future().max_attempts(2).reported(),
    );
    for ended in [by_policy, once] {
        let ended = ended.unwrap_err();
        assert_eq!(ended.reason(), StopReason::Attempts);
        assert!(ended.may_be_applied());
    }
    let (updated, report) = twice.unwrap();
    assert!(!updated.is_written(), "the second read has found it");
    assert_eq!((report.attempts, report.writes), (2, 1));
}

#[cfg(all(feature = "emulator", feature = "http"))]
mod live {
    use super::*;
    use crate::{emulator::Emulator, iam::Rest};
    use serde_json::json;
    use std::collections::BTreeSet;

    fn members(emulator: &Emulator) -> Members<Rest> {
        crate::reply::provide_tls();
        let client = reqwest::Client::builder().retry(reqwest::retry::never());
        let client = client.build().unwrap();
        Members::new(Rest::new(client, format!("{}/v3", emulator.url())))
    }

    fn user(n: usize) -> String {
        format!("user:{n}@example.com")
    }

    fn stored(emulator: &Emulator) -> BTreeSet<String> {
        let policy = emulator.policy(PROJECT);
        let bindings = policy["bindings"].as_array().unwrap();
        assert_eq!(bindings.len(), 1, "{policy}");
        serde_json::from_value(bindings[0]["members"].clone()).unwrap()
    }

    #[tokio::test]
    async fn a_hundred_tasks_cost_at_most_four_calls() {
        let emulator = Emulator::start().unwrap();
        let members = members(&emulator);
        let add = |n| tokio::spawn(members.add(PROJECT, ROLE, &user(n)).into_future());
        let tasks: Vec<_> = (0..100).map(add).collect();
        for task in tasks {
            assert!(task.await.unwrap().unwrap().is_written());
        }
        assert_eq!(stored(&emulator), (0..100).map(user).collect());
        let stats = emulator.stats();
        assert!(stats.calls <= 4, "{stats:?}");
        assert_eq!((stats.conflicts, stats.blind_writes), (0, 0));
    }

    #[tokio::test]
    async fn adds_and_removes_are_one_write() {
        let emulator = Emulator::start().unwrap();
        let before: Vec<_> = (0..50).map(user).collect();
        let bindings = json!([{"role": ROLE, "members": before}]);
        emulator.set_policy(PROJECT, json!({ "bindings": bindings }));
        let members = members(&emulator);
        let tasks: Vec<_> = (0..50)
            .flat_map(|n| {
                [
                    members.remove(PROJECT, ROLE, &user(n)),
                    members.add(PROJECT, ROLE, &user(n + 50)),
                ]
            })
            .map(|change| tokio::spawn(change.into_future()))
            .collect();
        for task in tasks {
            assert!(task.await.unwrap().unwrap().is_written());
        }
        assert_eq!(stored(&emulator), (50..100).map(user).collect());
        let stats = emulator.stats();
        assert!(stats.calls <= 4, "{stats:?}");
    }

    #[tokio::test]
    async fn a_change_that_is_alone_costs_what_it_costs_without_others() {
        let emulator = Emulator::start().unwrap();
        let members = members(&emulator);
        let written = members.add(PROJECT, ROLE, &user(1)).await.unwrap();
        assert!(written.is_written());
        let stats = emulator.stats();
        assert_eq!((stats.calls, stats.reads, stats.writes), (2, 1, 1));
        emulator.reset_stats();
        let again = members.add(PROJECT, ROLE, "user:1@Example.com");
        assert!(!again.await.unwrap().is_written());
        let stats = emulator.stats();
        assert_eq!((stats.calls, stats.reads, stats.writes), (1, 1, 0));
    }

    #[tokio::test]
    async fn a_condition_is_a_binding_of_its_own() {
        let emulator = Emulator::start().unwrap();
        let members = members(&emulator);
        let night = Condition::new("night", "request.time.getHours() < 6");
        let (always, at_night) = tokio::join!(
            members.add(PROJECT, ROLE, &user(1)).into_future(),
            members
                .add(PROJECT, ROLE, &user(1))
                .when(night.clone())
                .into_future(),
        );
        assert!(always.unwrap().is_written() && at_night.unwrap().is_written());
        let removed = members.remove(PROJECT, ROLE, &user(1)).reported().await;
        let (removed, report) = removed.unwrap();
        assert!(removed.is_written());
        assert_eq!((report.reads, report.writes), (1, 1));
        let policy = emulator.policy(PROJECT);
        assert_eq!(policy["bindings"].as_array().unwrap().len(), 1, "{policy}");
        assert_eq!(policy["bindings"][0]["condition"]["title"], "night");
    }

    #[tokio::test]
    async fn a_name_that_could_lead_elsewhere_sends_nothing() {
        let emulator = Emulator::start().unwrap();
        let resource = "projects/mine/../victim";
        let refused = members(&emulator).add(resource, ROLE, &user(1)).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.reason(), StopReason::Permanent);
        assert!(!refused.may_be_applied());
        assert!(
            refused.to_string().contains("nothing was sent"),
            "{refused}"
        );
        assert_eq!(emulator.stats().calls, 0);
    }
}
