//! The settings of an emulator, and its start.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::sync::oneshot;

use super::fault::{Bucket, Director, Faults, check_throttle};
use super::handle::Emulator;
use super::iam::lag::Lag;
use super::iam::store::Policies;
use super::instances::product::Memorystore;
use super::instances::store::Instances;
use super::reply::Reply;
use super::server;
use super::world::World;

/// Settings for an [`Emulator`], from [`Emulator::builder`].
#[derive(Debug)]
#[must_use = "a builder does nothing until `start`"]
pub struct Builder {
    seed: u64,
    latency: Duration,
    faults: Faults,
    limit: Option<Bucket>,
    throttle: Reply,
    product: Memorystore,
    operations_take: Duration,
    appears_after: Duration,
    lag: Lag,
}

// The functions that start an emulator are here, because a running emulator does not know its settings.
impl Emulator {
    /// Starts an emulator without faults, latency or rate limit.
    ///
    /// # Errors
    ///
    /// If no port can be bound or no thread can be started.
    pub fn start() -> io::Result<Self> {
        Self::builder().start()
    }

    /// Settings for an emulator: see [`Builder`].
    pub fn builder() -> Builder {
        Builder::default()
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            seed: 0,
            latency: Duration::ZERO,
            faults: Faults::none(),
            limit: None,
            throttle: Reply::status(429),
            product: Memorystore::default(),
            operations_take: Duration::from_secs(1),
            appears_after: Duration::ZERO,
            lag: Lag::default(),
        }
    }
}

impl Builder {
    /// The seed for faults, etags and reads that flap. Default: 0.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How long every well-formed call takes before it is carried out or its fault happens. Default: no
    /// time.
    pub fn latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// Faults by rate. Default: none.
    pub fn faults(mut self, faults: Faults) -> Self {
        self.faults = faults;
        self
    }

    /// Limits the calls of all methods and resources: `burst` calls at once and `per_second` calls a second
    /// in the long run. Further calls get 429 `RESOURCE_EXHAUSTED`. Default: no limit.
    ///
    /// # Panics
    ///
    /// If either is 0.
    #[track_caller]
    pub fn rate_limit(mut self, per_second: u32, burst: u32) -> Self {
        self.limit = Some(Bucket::new(per_second, burst));
        self
    }

    /// The reply of the rate limit. Default: `Reply::status(429)`, which has no `Retry-After`.
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

    /// Which product the emulator imitates. Default: [`Memorystore::Valkey`].
    pub fn memorystore(mut self, product: Memorystore) -> Self {
        self.product = product;
        self
    }

    /// How long it takes to create or delete an instance, from the call that starts the operation until a
    /// poll finds it done. [`Duration::MAX`] never ends. Default: 1 s.
    pub fn operations_take(mut self, time: Duration) -> Self {
        self.operations_take = time;
        self
    }

    /// How long reads and lists do not find a new instance after its creation began, as in a service whose
    /// reads are eventually consistent. A get of the instance gets 404 `NOT_FOUND` in this time. Default:
    /// no time.
    pub fn appears_after(mut self, time: Duration) -> Self {
        self.appears_after = time;
        self
    }

    /// How long reads do not show a `setIamPolicy` after it was carried out: in this time a `getIamPolicy`
    /// gets the old policy, with its etag. [`Duration::MAX`] never shows the new one. Default: no time.
    ///
    /// IAM is [eventually consistent][consistency]. The write itself is not: its reply is the new policy,
    /// and the next write is compared with the new etag. So a client that changes an old policy gets 409.
    /// But a client whose change makes no difference to the old policy writes nothing.
    ///
    /// ```
    /// use backoff_cloud::{emulator::Emulator, iam};
    /// use std::time::Duration;
    ///
    /// # #[cfg(feature = "http")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let _ = rustls::crypto::ring::default_provider().install_default();
    /// let emulator = Emulator::builder().visible_after(Duration::MAX).start()?;
    /// let client = iam::Rest::new(reqwest::Client::new(), format!("{}/v3", emulator.url()));
    /// iam::add(&client, "projects/p", "roles/viewer", "user:ann@example.com").await?;
    ///
    /// let read = reqwest::get(format!("{}/v1/projects/p:getIamPolicy", emulator.url())).await?;
    /// assert_eq!(read.text().await?, r#"{"etag":"ACAB"}"#);
    /// assert_eq!(emulator.policy("projects/p")["bindings"][0]["role"], "roles/viewer");
    /// assert_eq!(emulator.stats().stale_reads, 1);
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "http"))] fn main() {}
    /// ```
    ///
    /// [consistency]: https://cloud.google.com/iam/docs/access-change-propagation
    pub fn visible_after(mut self, time: Duration) -> Self {
        self.lag.visible_after = time;
        self
    }

    /// How long, after [`visible_after`](Self::visible_after), a read shows either a `setIamPolicy` or the
    /// policy before it, by chance and by the seed, as if one of several replicas answered.
    /// [`Duration::MAX`] never ends. Default: no time.
    ///
    /// A reader that waits for a write can rely on it after it has seen the write for this time. With
    /// `until(..).consecutive(n)`, the sum of the `n` − 1 waits between the reads has to be longer.
    pub fn flaps_for(mut self, time: Duration) -> Self {
        self.lag.flaps_for = time;
        self
    }

    /// Binds a free port on 127.0.0.1 and serves on it.
    ///
    /// # Errors
    ///
    /// If no port can be bound or no thread can be started.
    pub fn start(self) -> io::Result<Emulator> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let addr = listener.local_addr()?;
        let director = Director::new(self.seed, self.faults, self.limit, self.throttle);
        // Another seed, so that etags do not reveal faults.
        let policies = Policies::new(!self.seed, self.lag);
        let instances = Instances::new(self.product, self.operations_take, self.appears_after);
        let world = World::new(policies, instances, director, self.latency);
        let world = Arc::new(world);
        let (stop, stopped) = oneshot::channel();
        let (ready, started) = mpsc::sync_channel(1);
        let shared = Arc::clone(&world);
        let thread = std::thread::Builder::new()
            .name("emulator".to_owned())
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
