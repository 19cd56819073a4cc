//! An emulator that runs: what a test asks it and tells it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use serde_json::Value;
use tokio::sync::oneshot;

use super::fault::{Call, Faults};
use super::iam::policy::{Update, Version};
use super::reply::Reply;
use super::stats::Stats;
use super::world::World;

/// A running emulator, on a port of its own on 127.0.0.1.
///
/// It runs on its own thread and clock, so it serves synchronous programs, any async runtime, and
/// tests whose clock is paused. Dropping this stops it, closes its connections, even stalled ones,
/// and waits for its thread.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// use std::time::Duration;
/// use backoff_cloud::emulator::{Emulator, Faults};
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
    pub(super) addr: SocketAddr,
    pub(super) url: String,
    pub(super) world: Arc<World>,
    pub(super) stop: Option<oneshot::Sender<()>>,
    pub(super) thread: Option<JoinHandle<()>>,
}

impl Emulator {
    /// Where it listens: `http://127.0.0.1:PORT`, with no slash at the end.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The address it listens on, for a client that wants no URL.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The newest policy of a resource such as `projects/p/secrets/s`, as a read of version 3 over
    /// HTTP would give it once every write is visible. Not counted, and never faulty.
    #[must_use]
    pub fn policy(&self, resource: &str) -> Value {
        self.world.lock().policies.get(resource, Version::Three)
    }

    /// Replaces the policy of a resource, all its fields, and changes its etag, whatever etag
    /// `policy` has: a starting point for a test, or someone else's write in the middle of one. Not
    /// counted, never faulty, and visible to every read at once. Roles and members are checked and kept as in a write over HTTP.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> {
    /// use backoff_cloud::emulator::Emulator;
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
    /// If `policy` is not one that a write over HTTP would accept.
    #[track_caller]
    pub fn set_policy(&self, resource: &str, mut policy: Value) {
        if let Some(policy) = policy.as_object_mut() {
            policy.remove("etag");
        }
        let update = match Update::whole(policy) {
            Ok(update) => update,
            Err(refusal) => panic!("this is not a policy: {}", refusal.message),
        };
        // Without an etag there is nothing to conflict with.
        let _ = self.world.lock().policies.set(resource, &update);
    }

    /// The instance with this name, such as `projects/p/locations/l/instances/cache`, as a read
    /// over HTTP would give it, even before it appears to one. Not counted, and never faulty.
    #[must_use]
    pub fn instance(&self, name: &str) -> Option<Value> {
        self.world.lock().instances.instance(name, Instant::now())
    }

    /// Fixes what happens to the next calls of this method, one reply each, in order; after that
    /// the rate limit and the rates apply again. Replies still waiting from an earlier script
    /// come first.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> {
    /// use backoff_cloud::emulator::{Call, Emulator, Reply};
    ///
    /// let emulator = Emulator::start()?;
    /// let lost = Reply::status(503).applied();
    /// emulator.script(Call::SetIamPolicy, [Reply::reset(), Reply::pass(), lost]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn script(&self, call: Call, replies: impl IntoIterator<Item = Reply>) {
        // Collected first: the iterator is free to use this emulator.
        let replies: Vec<_> = replies.into_iter().collect();
        self.world.lock().director.script(call).extend(replies);
    }

    /// Replaces the rates of faults from now on. Scripts and the rate limit stay.
    pub fn set_faults(&self, faults: Faults) {
        self.world.lock().director.faults = faults;
    }

    /// What was counted so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.world.lock().ledger.total()
    }

    /// What was counted so far for one resource. Malformed requests belong to none.
    #[must_use]
    pub fn stats_of(&self, resource: &str) -> Stats {
        self.world.lock().ledger.of(resource)
    }

    /// Sets every count back to zero. Policies, instances, scripts and the seed's
    /// sequence stay.
    pub fn reset_stats(&self) {
        self.world.lock().ledger = Default::default();
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // The thread stops when the sender is gone.
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic over there must not become a second one here.
            let _ = thread.join();
        }
    }
}
