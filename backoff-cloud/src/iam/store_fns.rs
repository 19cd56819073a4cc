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
/// `kept` in the example, before the closure moves them. The types are inferred. The read must
/// ask for version [`POLICY_VERSION`](super::POLICY_VERSION); the write must send the etag of its policy
/// and return the policy that was written.
///
/// ```
/// use backoff_cloud::{Fault, iam::{self, PlainPolicy}};
/// use std::sync::Mutex;
///
/// #[derive(Debug, thiserror::Error, Fault)]
/// #[error("another writer was faster")]
/// #[fault(conflict)]
/// struct Stale;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let kept = &Mutex::new(PlainPolicy { etag: Some("1".into()), ..PlainPolicy::default() });
///
/// let projects = iam::store(
///     |_project| async move { Ok(kept.lock().unwrap().clone()) },
///     |_project, mut policy: PlainPolicy| async move {
///         let mut kept = kept.lock().unwrap();
///         if policy.etag != kept.etag { return Err(Stale) }
///         policy.etag.as_mut().unwrap().push('+'); // each write has a new one
///         *kept = policy;
///         Ok(kept.clone())
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
    use crate::iam::{
        self, PolicyStore as _, READ_MODIFY_WRITE,
        kept::{Kept, PROJECT, ROLE},
    };
    use std::{sync::Arc, time::Duration};

    #[tokio::test(start_paused = true)]
    async fn tasks_that_change_a_policy_at_the_same_time_all_arrive() {
        // Long enough for the longest waits after seven conflicts.
        let patient = READ_MODIFY_WRITE.deadline(Duration::from_secs(3_600));
        let kept = Arc::new(Kept::default());
        let names: Vec<_> = (0..8).map(|n| format!("user:{n}@example.com")).collect();
        for adds in [true, false] {
            let tasks = names.iter().cloned().map(|name| {
                let kept = Arc::clone(&kept);
                tokio::spawn(async move {
                    let kept = &kept;
                    let store = iam::store(
                        |resource: String| async move { kept.get(&resource).await },
                        |_, policy| async { kept.write(policy) },
                    );
                    let change = if adds { iam::add } else { iam::remove };
                    change(&store, PROJECT, ROLE, &name).policy(patient).await
                })
            });
            for task in tasks.collect::<Vec<_>>() {
                assert!(task.await.unwrap().unwrap().is_written());
            }
            let mut left = kept.members();
            left.sort();
            assert_eq!(left, if adds { names.clone() } else { vec![] });
        }
        assert!(kept.calls().0 > 16, "nobody was slower than another");
    }
}
