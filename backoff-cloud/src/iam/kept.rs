//! A policy in memory, for the tests of this folder.

use super::{PlainPolicy, PolicyStore};
use crate::reply::{Says, http, of_kind};
use backoff_core::FaultKind;
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU32, Ordering::Relaxed},
};

pub(super) const PROJECT: &str = "projects/p";
pub(super) const ROLE: &str = "roles/viewer";

/// The policy of a project, and how the service replies. A write whose etag is not that of the last one is a
/// conflict, and a member such as `nobody:a` is refused.
#[derive(Default)]
pub(super) struct Kept {
    policy: Mutex<(u32, PlainPolicy)>,
    has_no_etag: bool,
    /// How many writes get a reply without an etag.
    pub(super) without_etag: AtomicU32,
    /// How the next writes fail.
    pub(super) failing: Mutex<Vec<Says>>,
    reads: AtomicU32,
    writes: AtomicU32,
}

impl Kept {
    pub(super) fn without_etag() -> Arc<Self> {
        Arc::new(Kept {
            has_no_etag: true,
            ..Kept::default()
        })
    }

    fn read(&self) -> PlainPolicy {
        let kept = self.policy.lock().unwrap();
        PlainPolicy {
            etag: (!self.has_no_etag).then(|| kept.0.to_string()),
            ..kept.1.clone()
        }
    }

    pub(super) fn members(&self) -> Vec<String> {
        let mut bindings = self.read().bindings;
        bindings.pop().map_or(vec![], |binding| binding.members)
    }

    /// How many reads and writes there were.
    pub(super) fn calls(&self) -> (u32, u32) {
        (self.reads.load(Relaxed), self.writes.load(Relaxed))
    }

    fn write(&self, policy: PlainPolicy) -> Result<PlainPolicy, Says> {
        self.writes.fetch_add(1, Relaxed);
        if let Some(failure) = self.failing.lock().unwrap().pop() {
            return Err(failure);
        }
        let bad = |name: &String| name.starts_with("nobody:");
        if policy.bindings.iter().any(|it| it.members.iter().any(bad)) {
            return Err(http(400));
        }
        let mut kept = self.policy.lock().unwrap();
        if policy.etag != Some(kept.0.to_string()) {
            return Err(of_kind(FaultKind::Conflict));
        }
        *kept = (kept.0 + 1, policy);
        drop(kept);
        let one_less = |left: u32| left.checked_sub(1);
        let is_without_etag = self.without_etag.fetch_update(Relaxed, Relaxed, one_less);
        Ok(is_without_etag.map_or_else(|_| self.read(), |_| PlainPolicy::default()))
    }
}

impl PolicyStore for Arc<Kept> {
    type Policy = PlainPolicy;
    type Error = Says;

    async fn get(&self, resource: &str) -> Result<PlainPolicy, Says> {
        assert_eq!(resource, PROJECT);
        self.reads.fetch_add(1, Relaxed);
        let read = self.read();
        // All tasks read the same policy, and all of them wait when this returns.
        tokio::task::yield_now().await;
        Ok(read)
    }

    async fn set(&self, _resource: &str, policy: PlainPolicy) -> Result<PlainPolicy, Says> {
        self.write(policy)
    }
}
