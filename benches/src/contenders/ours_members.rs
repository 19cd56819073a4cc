//! This project: a hundred tasks add one member each to a role that has 1,500 members.

use crate::operation::ApiError;
use backoff_cloud::iam::{Members, PlainBinding, PlainPolicy, PolicyStore};
use std::{future::IntoFuture, hint::black_box, sync::Mutex};
use tokio::task::JoinSet;

const ROLE: &str = "roles/viewer";
const MEMBERS: u32 = 1_500;
const ADDS: u32 = 100;

/// A policy in memory.
pub struct Store(Mutex<PlainPolicy>);

impl PolicyStore for Store {
    type Policy = PlainPolicy;
    type Error = ApiError;

    async fn get(&self, _resource: &str) -> Result<PlainPolicy, ApiError> {
        // The other tasks begin to wait before this read returns.
        tokio::task::yield_now().await;
        Ok(self.0.lock().expect("nobody panics here").clone())
    }

    async fn set(&self, _resource: &str, policy: PlainPolicy) -> Result<PlainPolicy, ApiError> {
        *self.0.lock().expect("nobody panics here") = policy.clone();
        Ok(policy)
    }
}

/// Combines the changes of a role that already has `MEMBERS` members.
pub fn role() -> Members<Store> {
    let mut binding = PlainBinding::default();
    binding.role = ROLE.to_owned();
    binding.members = (0..MEMBERS)
        .map(|n| format!("user:member-{n}@example.com"))
        .collect();
    let mut policy = PlainPolicy::default();
    policy.etag = Some("1".to_owned());
    policy.bindings.push(binding);
    Members::new(Store(Mutex::new(policy)))
}

/// Makes one read, a hundred changes and one write.
pub async fn adds(members: &Members<Store>) {
    let mut tasks = JoinSet::new();
    for n in 0..ADDS {
        let member = format!("user:new-member-{n}@example.com");
        tasks.spawn(members.add("projects/p", ROLE, &member).into_future());
    }
    for told in tasks.join_all().await {
        assert!(black_box(told).is_ok_and(|updated| updated.is_written()));
    }
}
