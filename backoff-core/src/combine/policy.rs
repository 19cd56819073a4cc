//! Combined changes on the runtime of the caller, and their short form, by a policy.

use super::{Combining, Group, GroupResult};
use crate::{facts::fault::Fault, policy::Policy, runtime::spawn};
use core::{any::type_name_of_val, future::Future};
use std::sync::Arc;

impl Policy {
    /// Combines the changes that many callers make to one resource at the same time into one [`update`](Self::update):
    /// see [`Combining`]. `read` gets the key of the resource. `write` gets the key and the changed value, with its etag or
    /// version.
    ///
    /// ```
    /// # use backoff_core::{Policy, TimedOut, Updated};
    /// # use std::sync::Mutex;
    /// #
    /// # // A service with one row, which nobody else writes.
    /// # static ROW: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    /// # async fn read(_row: u8) -> Result<Vec<u32>, TimedOut> { Ok(ROW.lock().unwrap().clone()) }
    /// # async fn write(_row: u8, names: Vec<u32>) -> Result<(), TimedOut> { Ok(*ROW.lock().unwrap() = names) }
    /// #
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let rows = Policy::exponential().combine(read, write);
    /// # let both = tokio::join!(
    /// #     rows.update(7, |names| names.push(1)),
    /// #     async {
    /// rows.update(7, |names| names.push(2)).await
    /// #     },
    /// # );
    /// # assert!(matches!(both, (Ok(Updated::Written(())), Ok(Updated::Written(())))));
    /// # assert_eq!(*ROW.lock().unwrap(), [1, 2]);
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn combine<K, V, W, E, Reading, Writing>(
        &self,
        read: impl Fn(K) -> Reading + Send + Sync + 'static,
        write: impl Fn(K, V) -> Writing + Send + Sync + 'static,
    ) -> Combining<K, V, W, E>
    where
        K: Clone + Send + Sync + 'static,
        V: Clone + Send + Sync + 'static,
        W: Send + 'static,
        E: Fault + Send + Sync + 'static,
        Reading: Future<Output = Result<V, E>> + Send + 'static,
        Writing: Future<Output = Result<W, E>> + Send + 'static,
    {
        let (policy, steps) = (*self, Arc::new((read, write)));
        Combining::new(move |key: K, group: Group<V, W, E>| {
            let steps = Arc::clone(&steps);
            async move {
                let (read, write) = &*steps;
                policy
                    .update(
                        || group.read(async { read(key.clone()).await }),
                        |_| group.has_changed(),
                        |value| group.write(write(key.clone(), value)),
                    )
                    .operation(type_name_of_val(write))
                    .reported()
                    .await
            }
        })
    }
}

impl<K, V, W, E> Combining<K, V, W, E> {
    /// Combines changes: `update` makes the read-modify-write of a group, on the runtime of the caller (tokio's, or that of the
    /// features `smol` and `wasm`).
    pub fn new<U, F>(update: U) -> Self
    where
        U: Fn(K, Group<V, W, E>) -> F + Send + Sync + 'static,
        F: Future<Output = GroupResult<V, W, E>> + Send + 'static,
    {
        Combining::on(spawn, update)
    }
}
