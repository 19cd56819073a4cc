//! An address that stays the same while the servers behind it change, as Memorystore's does.

use std::io;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

pub(crate) struct Address {
    port: u16,
    behind: Arc<Behind>,
    /// Ends when this is dropped.
    _listening: JoinSet<()>,
}

struct Behind {
    target: AtomicU16,
    accepted: AtomicU32,
    connections: Mutex<JoinSet<()>>,
}

impl Address {
    /// A port that leads to the server on another one.
    pub(crate) async fn before(target: u16) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let behind = Arc::new(Behind {
            target: AtomicU16::new(target),
            accepted: AtomicU32::new(0),
            connections: Mutex::default(),
        });
        let listening = Arc::clone(&behind).listen(listener);
        Ok(Address {
            port,
            behind,
            _listening: JoinSet::from_iter([listening]),
        })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// From now on new connections lead there; those that are open stay where they are.
    pub(crate) fn lead_to(&self, target: u16) {
        self.behind.target.store(target, Relaxed);
    }

    /// From now on new connections are closed at once, as if the server were gone.
    pub(crate) fn lead_nowhere(&self) {
        // Nobody listens on this port.
        self.lead_to(0);
    }

    /// Breaks every connection.
    #[allow(dead_code, reason = "not every program that has this file does it")]
    pub(crate) fn break_connections(&self) {
        self.behind.connections().abort_all();
    }

    /// How many connections were made to it.
    pub(crate) fn accepted(&self) -> u32 {
        self.behind.accepted.load(Relaxed)
    }
}

impl Behind {
    async fn listen(self: Arc<Self>, listener: TcpListener) {
        while let Ok((client, _)) = listener.accept().await {
            self.accepted.fetch_add(1, Relaxed);
            let target = self.target.load(Relaxed);
            self.connections().spawn(relay(client, target));
        }
    }

    fn connections(&self) -> MutexGuard<'_, JoinSet<()>> {
        let connections = self.connections.lock();
        connections.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends when either side does, which the other one sees.
async fn relay(mut client: TcpStream, target: u16) {
    if let Ok(mut server) = TcpStream::connect(("127.0.0.1", target)).await {
        // A broken connection is what this is for.
        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
    }
}
