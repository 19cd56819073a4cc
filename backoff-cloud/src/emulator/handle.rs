//! A running emulator, as a test uses it.

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

/// A running emulator, on its own port on 127.0.0.1.
///
/// The emulator runs on its own thread and clock, so it serves blocking programs, any async runtime, and
/// tests whose clock is paused. Dropping it stops the emulator, closes its connections, also stalled ones,
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
    /// The URL of the emulator: `http://127.0.0.1:PORT`, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The address of the emulator, for a client that takes no URL.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The newest policy of a resource such as `projects/p/secrets/s`, as a read of version 3 over HTTP
    /// would return it once every write is visible. This read is not counted and has no faults.
    #[must_use]
    pub fn policy(&self, resource: &str) -> Value {
        self.world.lock().policies.get(resource, Version::Three)
    }

    /// Replaces the whole policy of a resource, and changes its etag, whatever etag `policy` has. Use it
    /// for the first policy of a test, or for a write of another client in the middle of one. This write is
    /// not counted, has no faults, and every read sees it at once. Roles and members are checked and stored
    /// as in a write over HTTP.
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
    /// If a write over HTTP would refuse `policy`.
    #[track_caller]
    pub fn set_policy(&self, resource: &str, mut policy: Value) {
        if let Some(policy) = policy.as_object_mut() {
            policy.remove("etag");
        }
        let update = match Update::whole(policy) {
            Ok(update) => update,
            Err(refusal) => panic!("the service refuses this policy: {}", refusal.message),
        };
        // A policy without an etag cannot conflict.
        let _ = self.world.lock().policies.set(resource, &update);
    }

    /// The instance with this name, such as `projects/p/locations/l/instances/cache`, as a read over HTTP
    /// would return it, also before reads find it. This read is not counted and has no faults.
    #[must_use]
    pub fn instance(&self, name: &str) -> Option<Value> {
        self.world.lock().instances.instance(name, Instant::now())
    }

    /// Sets the replies to the next calls of this method, in order. After them the rate limit and the rates
    /// apply again. Unused replies of an earlier script come first.
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
        // Collected first, because the iterator may use this emulator.
        let replies: Vec<_> = replies.into_iter().collect();
        self.world.lock().director.script(call).extend(replies);
    }

    /// Replaces the rates of faults. Scripts and the rate limit stay.
    pub fn set_faults(&self, faults: Faults) {
        self.world.lock().director.faults = faults;
    }

    /// The counts so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.world.lock().ledger.total()
    }

    /// The counts so far for one resource. Malformed requests belong to no resource.
    #[must_use]
    pub fn stats_of(&self, resource: &str) -> Stats {
        self.world.lock().ledger.of(resource)
    }

    /// Sets all counts to zero. Policies, instances, scripts and the seed's sequence stay.
    pub fn reset_stats(&self) {
        self.world.lock().ledger = Default::default();
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
