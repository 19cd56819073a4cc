//! A running emulator, as a test uses it.

use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use serde_json::Value;
use tokio::sync::oneshot;

use crate::fault::{Call, Faults};
use crate::reply::Reply;
use crate::stats::Stats;
use crate::world::{World, lock};
use backoff_cloud::iam::PlainPolicy;

/// A running emulator, on its own port on 127.0.0.1.
///
/// The emulator runs on its own thread and clock, so it serves blocking programs and any async runtime.
/// Do not pause the clock of a test that uses it: sockets need real time. Dropping it stops the emulator, closes its connections, also stalled ones,
/// and waits for its thread.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// use std::time::Duration;
/// use emulator::{Emulator, Faults};
///
/// let emulator = Emulator::builder()
///     .seed(7)
///     .latency(Duration::from_millis(5))
///     .faults(Faults::none().status(503, 0.10).applied_then(503, 0.05))
///     .rate_limit(50, 10)
///     .start()?;
/// assert!(emulator.url().starts_with("http://127.0.0.1:"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Emulator {
    pub(crate) url: String,
    pub(crate) world: Arc<Mutex<World>>,
    pub(crate) stop: Option<oneshot::Sender<()>>,
    pub(crate) thread: Option<JoinHandle<()>>,
}

impl Emulator {
    /// The URL of the emulator: `http://127.0.0.1:PORT`, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The policy of a resource such as `projects/p/secrets/s`, as a read of version 3 over HTTP would
    /// return it. This read is not counted and has no faults.
    #[must_use]
    pub fn policy(&self, resource: &str) -> Value {
        lock(&self.world).policies.read(resource, true)
    }

    /// Replaces the whole policy of a resource, and changes its etag, whatever etag `policy` has. Use it
    /// for the first policy of a test, or for a write of another client in the middle of one. This write is
    /// not counted and has no faults.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> {
    /// use emulator::Emulator;
    /// use serde_json::json;
    ///
    /// let emulator = Emulator::start()?;
    /// let before = emulator.policy("projects/p");
    /// emulator.set_policy("projects/p", json!({"bindings": []}));
    /// assert_ne!(emulator.policy("projects/p")["etag"], before["etag"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// If `policy` is not the JSON of a policy.
    #[track_caller]
    pub fn set_policy(&self, resource: &str, policy: Value) {
        let policy: PlainPolicy = serde_json::from_value(policy).expect("a policy");
        lock(&self.world).policies.replace(resource, policy);
    }

    /// The instance with this name, such as `projects/p/locations/l/instances/cache`, as a read over HTTP
    /// would return it. This read is not counted and has no faults.
    #[must_use]
    pub fn instance(&self, name: &str) -> Option<Value> {
        lock(&self.world).instances.get(name, Instant::now()).ok()
    }

    /// Sets the replies to the next calls of this method, in order. After them the rate limit and the rates
    /// apply again. Unused replies of an earlier script come first.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> {
    /// use emulator::{Call, Emulator, Reply};
    ///
    /// let emulator = Emulator::start()?;
    /// let lost = Reply::status(503).applied();
    /// emulator.script(Call::SetIamPolicy, [Reply::reset(), Reply::pass(), lost]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn script(&self, call: Call, replies: impl IntoIterator<Item = Reply>) {
        // Collected first, because the iterator may use this emulator.
        let replies: Vec<_> = replies.into_iter().collect();
        lock(&self.world).director.script(call).extend(replies);
    }

    /// Replaces the rates of faults. Scripts and the rate limit stay.
    pub fn set_faults(&self, faults: Faults) {
        lock(&self.world).director.faults = faults;
    }

    /// The counts so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        lock(&self.world).stats.clone()
    }

    /// Sets all counts to zero. Policies, instances, scripts and the seed's sequence stay.
    pub fn reset_stats(&self) {
        lock(&self.world).stats = Stats::default();
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // The thread stops when the sender is dropped.
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread must not cause a second panic here.
            let _ = thread.join();
        }
    }
}
