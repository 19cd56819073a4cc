use backoff_cloud::{Fault, iam::{self, PlainPolicy, PolicyStore}};
use std::sync::Mutex;

#[derive(Debug, thiserror::Error, Fault)]
#[error("another writer was faster")]
#[fault(conflict)]
struct Stale;

/// The policy of a project, and how often it was written: that is its etag.
#[derive(Default)]
struct Memory(Mutex<(u32, PlainPolicy)>);

impl Memory {
    fn read(&self) -> PlainPolicy {
        let (writes, policy) = self.0.lock().unwrap().clone();
        PlainPolicy { etag: Some(writes.to_string()), ..policy }
    }
}

impl PolicyStore for Memory {
    type Policy = PlainPolicy;
    type Error = Stale;

    async fn get(&self, _resource: &str) -> Result<PlainPolicy, Stale> {
        Ok(self.read())
    }

    async fn set(&self, _resource: &str, policy: PlainPolicy) -> Result<PlainPolicy, Stale> {
        let mut kept = self.0.lock().unwrap();
        if policy.etag != Some(kept.0.to_string()) {
            return Err(Stale);
        }
        *kept = (kept.0 + 1, policy);
        drop(kept);
        Ok(self.read())
    }
}

