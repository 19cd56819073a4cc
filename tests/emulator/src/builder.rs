//! The settings of an emulator, and its start.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use tokio::runtime;
use tokio::sync::oneshot;

use crate::fault::{Bucket, Director, Faults};
use crate::handle::Emulator;
use crate::instances::Instances;
use crate::policies::Policies;
use crate::reply::Reply;
use crate::server;
use crate::stats::Stats;
use crate::world::World;

/// Settings for an [`Emulator`], from [`Emulator::builder`].
#[derive(Debug)]
#[must_use = "a builder does nothing until `start`"]
pub struct Builder {
    seed: u64,
    world: World,
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
        Builder {
            seed: 0,
            world: World {
                policies: Policies::new(0),
                instances: Instances::new(Duration::from_secs(1), Duration::ZERO),
                director: Director::new(Faults::none(), None, Reply::status(429)),
                latency: Duration::ZERO,
                stats: Stats::default(),
            },
        }
    }
}

impl Builder {
    /// The seed for faults and etags. Default: 0.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How long every well-formed call takes before it is carried out or its fault happens. Default: no
    /// time.
    pub fn latency(mut self, latency: Duration) -> Self {
        self.world.latency = latency;
        self
    }

    /// Faults by rate. Default: none.
    pub fn faults(mut self, faults: Faults) -> Self {
        self.world.director.faults = faults;
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
        self.world.director.limit = Some(Bucket::new(per_second, burst));
        self
    }

    /// The reply of the rate limit. Default: `Reply::status(429)`, which has no `Retry-After`.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> {
    /// use emulator::{Emulator, Reply};
    ///
    /// let hint = Reply::status(429).retry_after("1");
    /// let emulator = Emulator::builder().rate_limit(50, 10).throttle_with(hint).start()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn throttle_with(mut self, reply: Reply) -> Self {
        self.world.director.throttle = reply;
        self
    }

    /// How long it takes to create or delete an instance, from the call that starts the operation until a
    /// poll finds it done. [`Duration::MAX`] never ends. Default: 1 s.
    pub fn operations_take(mut self, time: Duration) -> Self {
        self.world.instances.takes = time;
        self
    }

    /// How long reads and lists do not find a new instance after its creation began, as in a service whose
    /// reads are eventually consistent. A get of the instance gets 404 `NOT_FOUND` in this time. Default:
    /// no time.
    pub fn appears_after(mut self, time: Duration) -> Self {
        self.world.instances.appears_after = time;
        self
    }

    /// Binds a free port on 127.0.0.1 and serves on it.
    ///
    /// # Errors
    ///
    /// If no port can be bound or no thread can be started.
    pub fn start(self) -> io::Result<Emulator> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let url = format!("http://{}", listener.local_addr()?);
        let mut world = self.world;
        // Another seed, so that etags do not reveal faults.
        world.policies = Policies::new(!self.seed);
        world.director.rng = SmallRng::seed_from_u64(self.seed);
        let world = Arc::new(Mutex::new(world));
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let (stop, stopped) = oneshot::channel();
        let server = server::serve(listener, Arc::clone(&world));
        let thread = thread::Builder::new()
            .name("emulator".to_owned())
            .spawn(move || {
                runtime.spawn(server);
                let _ = runtime.block_on(stopped);
                // Dropping the runtime drops all connections, stalled or not.
            })?;
        Ok(Emulator {
            url,
            world,
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}
