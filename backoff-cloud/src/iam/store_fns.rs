//! A policy store from two closures.

use super::allow::AllowPolicy;
use super::store::PolicyStore;
use backoff_core::Fault;
use std::{fmt, future::Future};

/// Makes a [`PolicyStore`] of two closures: one reads the policy of a resource, the other writes it. With
/// it [`add`](super::add) and [`remove`](super::remove) work over any client.
///
/// Each closure makes one request and does not retry it. It takes the name of the resource and returns a
/// future: `|resource| async move { .. }`. Make references of the values that the future borrows, as
/// `client` and `url` in the example, before the closure moves them. The types are inferred. The read must
/// ask for version [`POLICY_VERSION`](super::POLICY_VERSION); the write must send the etag of its policy
/// and return the policy that was written.
///
#[cfg_attr(all(feature = "emulator", feature = "http"), doc = "```")]
#[cfg_attr(not(all(feature = "emulator", feature = "http")), doc = "```ignore")]
/// use backoff_cloud::{emulator::Emulator, http::{self, ApiError}, iam::{self, PlainPolicy}};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let _ = rustls::crypto::ring::default_provider().install_default();
/// let emulator = Emulator::start()?;
/// let client = &reqwest::Client::builder().retry(reqwest::retry::never()).build()?;
/// let url = &emulator.url();
///
/// let projects = iam::store(
///     |project| async move {
///         let request = client
///             .post(format!("{url}/v3/{project}:getIamPolicy"))
///             .body(r#"{"options": {"requestedPolicyVersion": 3}}"#);
///         http::json::<PlainPolicy>(request.send().await?).await
///     },
///     |project, policy| async move {
///         let request = client
///             .post(format!("{url}/v3/{project}:setIamPolicy"))
///             .body(serde_json::json!({ "policy": policy }).to_string());
///         http::json(request.send().await?).await
///     },
/// );
/// let added = iam::add(&projects, "projects/p", "roles/viewer", "user:ann@example.com").await?;
/// assert!(added.is_written());
/// let again = iam::add(&projects, "projects/p", "roles/viewer", "user:ann@example.com").await?;
/// assert!(!again.is_written());
/// # Ok(()) }
/// ```
pub fn store<Get, Set, GetFuture, SetFuture, P, E>(get: Get, set: Set) -> StoreFns<Get, Set>
where
    Get: Fn(String) -> GetFuture,
    Set: Fn(String, P) -> SetFuture,
    GetFuture: Future<Output = Result<P, E>> + Send,
    SetFuture: Future<Output = Result<P, E>> + Send,
    P: AllowPolicy,
    E: Fault,
{
    StoreFns { get, set }
}

/// A [`PolicyStore`] of two closures. Made by [`store`].
#[derive(Clone, Copy)]
pub struct StoreFns<Get, Set> {
    get: Get,
    set: Set,
}

impl<Get, Set> fmt::Debug for StoreFns<Get, Set> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreFns").finish_non_exhaustive()
    }
}

impl<Get, Set, GetFuture, SetFuture, P, E> PolicyStore for StoreFns<Get, Set>
where
    Get: Fn(String) -> GetFuture,
    Set: Fn(String, P) -> SetFuture,
    GetFuture: Future<Output = Result<P, E>> + Send,
    SetFuture: Future<Output = Result<P, E>> + Send,
    P: AllowPolicy,
    E: Fault,
{
    type Policy = P;
    type Error = E;

    fn get(&self, resource: &str) -> impl Future<Output = Result<P, E>> + Send {
        (self.get)(resource.to_owned())
    }

    fn set(&self, resource: &str, policy: P) -> impl Future<Output = Result<P, E>> + Send {
        (self.set)(resource.to_owned(), policy)
    }
}

#[cfg(all(test, feature = "tokio"))]
mod tests {
    use super::*;
    use crate::iam::{self, PlainPolicy, READ_MODIFY_WRITE};
    use backoff_core::{FaultKind, Policy};
    use std::{
        sync::{
            Mutex,
            atomic::{AtomicU32, Ordering::Relaxed},
        },
        time::Duration,
    };

    #[derive(Debug)]
    struct Stale;

    impl Fault for Stale {
        fn kind(&self) -> Option<FaultKind> {
            Some(FaultKind::Conflict)
        }
    }

    /// A resource whose writes fail where the etag is not that of the last one.
    #[derive(Default)]
    struct Kept(Mutex<(u32, PlainPolicy)>);

    impl Kept {
        fn read(&self) -> PlainPolicy {
            let kept = self.0.lock().unwrap();
            PlainPolicy {
                etag: Some(kept.0.to_string()),
                ..kept.1.clone()
            }
        }

        fn write(&self, policy: PlainPolicy) -> Result<PlainPolicy, Stale> {
            let mut kept = self.0.lock().unwrap();
            if policy.etag != Some(kept.0.to_string()) {
                return Err(Stale);
            }
            *kept = (kept.0 + 1, policy);
            drop(kept);
            Ok(self.read())
        }
    }

    const ROLE: &str = "roles/viewer";
    /// Long enough for the longest waits after seven conflicts.
    const PATIENT: Policy = READ_MODIFY_WRITE.deadline(Duration::from_secs(3_600));

    #[tokio::test(start_paused = true)]
    async fn writers_at_the_same_time_all_arrive() {
        let kept = &Kept::default();
        let asked = &AtomicU32::new(0);
        let store = &iam::store(
            |resource: String| async move {
                assert_eq!(resource, "projects/p");
                asked.fetch_add(1, Relaxed);
                let read = kept.read();
                // So that the others read the same.
                tokio::task::yield_now().await;
                Ok(read)
            },
            |_, policy| async move { kept.write(policy) },
        );
        let members: Vec<_> = (0..8).map(|n| format!("user:{n}@example.com")).collect();
        let add = |n: usize| iam::add(store, "projects/p", ROLE, &members[n]).policy(PATIENT);
        let all = tokio::join!(
            add(0),
            add(1),
            add(2),
            add(3),
            add(4),
            add(5),
            add(6),
            add(7)
        );
        for written in [all.0, all.1, all.2, all.3, all.4, all.5, all.6, all.7] {
            assert!(written.unwrap().is_written());
        }
        let mut added = kept.read().bindings.remove(0).members;
        added.sort();
        assert_eq!(added, members);
        assert!(asked.load(Relaxed) > 8, "nobody was slower than another");
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_over_it_can_be_spawned() {
        let kept = std::sync::Arc::new(Kept::default());
        let task = {
            let kept = std::sync::Arc::clone(&kept);
            async move {
                let kept = &kept;
                let store = iam::store(
                    |_| async { Ok(kept.read()) },
                    |_, policy| async { kept.write(policy) },
                );
                iam::add(&store, "projects/p", ROLE, "user:ann@example.com").await?;
                iam::remove(&store, "projects/p", ROLE, "user:ann@example.com").await
            }
        };
        let removed = tokio::spawn(task).await.unwrap();
        assert!(removed.unwrap().is_written());
        assert_eq!(kept.read().bindings, []);
    }
}
