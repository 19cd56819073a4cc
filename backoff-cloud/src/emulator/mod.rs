//! A loopback service with Google Cloud IAM's paths, JSON and errors, which conflicts, throttles
//! and fails on command.
//!
//! Code that reads a policy, changes it and writes it back is right only if it survives what
//! happens on a bad day: another writer in between, a 503 after the write went through, a
//! connection that dies. This makes a bad day, as often as a test asks for one.
//!
//! ```
//! use backoff_cloud::emulator::{Call, Emulator, Reply};
//! use serde_json::{Value, json};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let emulator = Emulator::start()?;
//! emulator.script(Call::SetIamPolicy, [Reply::status(503).retry_after("1")]);
//!
//! let client = reqwest::Client::builder().retry(reqwest::retry::never()).build()?;
//! let policy = format!("{}/v1/projects/p/secrets/s", emulator.url());
//! let read = client.get(format!("{policy}:getIamPolicy")).send().await?.text().await?;
//! let mut read: Value = serde_json::from_str(&read)?;
//! read["bindings"] = json!([{"role": "roles/viewer", "members": ["user:ann@example.com"]}]);
//!
//! let body = json!({"policy": read}).to_string();
//! let write = || client.post(format!("{policy}:setIamPolicy")).body(body.clone()).send();
//! let first = write().await?;
//! assert_eq!((first.status().as_u16(), &first.headers()["retry-after"]), (503, &"1".parse()?));
//! assert_eq!(write().await?.status(), 200);
//! // The etag in `body` is stale by now.
//! assert_eq!(write().await?.status(), 409);
//!
//! let stats = emulator.stats();
//! assert_eq!((stats.writes, stats.conflicts, stats.faults.statuses), (1, 1, 1));
//! assert_eq!(emulator.policy("projects/p/secrets/s")["bindings"], read["bindings"]);
//! # Ok(())
//! # }
//! ```
//!
//! # What it serves
//!
//! - `GET` and `POST /v1/{resource}:getIamPolicy`, `POST /v1/{resource}:setIamPolicy` and
//!   `POST /v1/{resource}:testIamPermissions`, which grants everything; `v2` and `v3` are the
//!   same. Paths are not percent-decoded.
//! - Every resource exists from the start, with a policy that has nothing but an etag.
//! - A write with a stale etag gets 409 `ABORTED`. A write with none replaces whatever is there,
//!   as in the real service, and is counted as blind.
//! - An `updateMask` limits a write to the top-level fields it names. Without one it is the
//!   [documented default](https://cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts/setIamPolicy), the
//!   bindings. Fields this module does not know are kept.
//! - [Versions](https://cloud.google.com/iam/docs/allow-policies#versions): a read shows
//!   conditions only if it asks for version 3. To any other reader a conditional binding has no
//!   condition, and a role that ends in `_withcond_` and a hash; a write of such a role gets 400.
//!   So does one with conditions that does not say `"version": 3`, and one of another version
//!   that would replace bindings with conditions, unless it carries no etag: then they are lost,
//!   as in the real service. A policy without conditions is of version 1, whatever it was written
//!   with.
//! - Anything else gets 400 `INVALID_ARGUMENT` or 404 `NOT_FOUND` in Google's JSON, at once: a
//!   malformed request uses up no scripted reply and no token of the rate limit.
//!
//! It checks no credentials, no roles and no members, and keeps everything in memory.
//!
//! # How a call is decided about
//!
//! A reply scripted for it comes first, whatever the rate limit and the rates say. Then the rate
//! limit may refuse it. Then one number is drawn from the seed and held against the
//! [`Faults`]' rates. The same seed and the same order of unscripted calls give the same faults.

mod fault;
mod iam;
mod policy;
mod refusal;
mod reply;
mod request;
mod server;
mod stats;
mod wire;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;

pub use self::fault::{Call, Faults};
pub use self::reply::Reply;
pub use self::stats::{FaultCounts, Stats};

use self::fault::{Bucket, Director, check_throttle};
use self::iam::Policies;
use self::policy::{Update, Version};
use self::server::World;

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
    addr: SocketAddr,
    url: String,
    world: Arc<World>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Emulator {
    /// Starts one without faults, latency or rate limit.
    ///
    /// # Errors
    ///
    /// If no port can be bound or no thread started.
    pub fn start() -> io::Result<Self> {
        Self::builder().start()
    }

    /// Settings for one: see [`Builder`].
    pub fn builder() -> Builder {
        Builder {
            seed: 0,
            latency: Duration::ZERO,
            faults: Faults::none(),
            limit: None,
            throttle: Reply::status(429),
        }
    }

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

    /// The policy of a resource such as `projects/p/secrets/s`, as a read of version 3 over HTTP
    /// would give it. Not counted, and never faulty.
    #[must_use]
    pub fn policy(&self, resource: &str) -> Value {
        self.world.lock().policies.get(resource, Version::Three)
    }

    /// Replaces the policy of a resource, all its fields, and changes its etag, whatever etag `policy` has: a
    /// starting point for a test, or someone else's write in the middle of one. Not counted, and
    /// never faulty.
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

    /// Sets every count back to zero. Policies, scripts and the seed's sequence stay.
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

/// Settings for an [`Emulator`], from [`Emulator::builder`].
#[derive(Debug)]
#[must_use = "a builder does nothing until `start`"]
pub struct Builder {
    seed: u64,
    latency: Duration,
    faults: Faults,
    limit: Option<Bucket>,
    throttle: Reply,
}

impl Builder {
    /// Where the drawing of faults and etags starts. Default: 0.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How long every well-formed call takes before its policy is read or written, or its fault
    /// strikes. Default: no time.
    pub fn latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// Faults by rate. Default: none.
    pub fn faults(mut self, faults: Faults) -> Self {
        self.faults = faults;
        self
    }

    /// Lets `burst` calls through at once and `per_second` calls a second in the long run, over
    /// all methods and resources. The rest get 429 `RESOURCE_EXHAUSTED`. Default: no limit.
    ///
    /// # Panics
    ///
    /// If either is 0.
    #[track_caller]
    pub fn rate_limit(mut self, per_second: u32, burst: u32) -> Self {
        self.limit = Some(Bucket::new(per_second, burst));
        self
    }

    /// What the rate limit answers with. Default: `Reply::status(429)`, which gives no hint when
    /// to come back.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> {
    /// use backoff_cloud::emulator::{Emulator, Reply};
    ///
    /// let hint = Reply::status(429).retry_after("1");
    /// let emulator = Emulator::builder().rate_limit(50, 10).throttle_with(hint).start()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// If `reply` is not a [`Reply::status`], or is [`applied`](Reply::applied).
    #[track_caller]
    pub fn throttle_with(mut self, reply: Reply) -> Self {
        check_throttle(&reply);
        self.throttle = reply;
        self
    }

    /// Binds a free port on 127.0.0.1 and serves on it.
    ///
    /// # Errors
    ///
    /// If no port can be bound or no thread started.
    pub fn start(self) -> io::Result<Emulator> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let addr = listener.local_addr()?;
        let director = Director::new(self.seed, self.faults, self.limit, self.throttle);
        // Another seed, so that no fault can be told from an etag.
        let world = World::new(Policies::new(!self.seed), director, self.latency);
        let world = Arc::new(world);
        let (stop, stopped) = oneshot::channel();
        let (ready, started) = mpsc::sync_channel(1);
        let shared = Arc::clone(&world);
        let thread = std::thread::Builder::new()
            .name("iam-emulator".to_owned())
            .spawn(move || server::run(listener, shared, &ready, stopped))?;
        let emulator = Emulator {
            addr,
            url: format!("http://{addr}"),
            world,
            stop: Some(stop),
            thread: Some(thread),
        };
        match started.recv() {
            Ok(outcome) => outcome.map(|()| emulator),
            Err(_) => Err(io::Error::other(
                "the emulator's thread ended before it served",
            )),
        }
    }
}
