//! An address that stays the same while the servers behind it change, as Memorystore's does.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// The port of no server.
const NOWHERE: u16 = 0;

pub(crate) struct Address {
    port: u16,
    behind: Arc<Behind>,
    listening: AbortHandle,
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
        let behind = Arc::new(Behind {
            target: AtomicU16::new(target),
            accepted: AtomicU32::new(0),
            connections: Mutex::default(),
        });
        let port = listener.local_addr()?.port();
        let listening = tokio::spawn(Arc::clone(&behind).listen(listener)).abort_handle();
        Ok(Address {
            port,
            behind,
            listening,
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
        self.lead_to(NOWHERE);
    }

    /// Breaks every connection.
    pub(crate) fn break_connections(&self) {
        self.behind.connections().abort_all();
    }

    /// How many connections were made to it.
    pub(crate) fn accepted(&self) -> u32 {
        self.behind.accepted.load(Relaxed)
    }
}

impl Drop for Address {
    fn drop(&mut self) {
        self.listening.abort();
        self.break_connections();
    }
}

impl Behind {
    async fn listen(self: Arc<Self>, listener: TcpListener) {
        while let Ok((client, _)) = listener.accept().await {
            self.accepted.fetch_add(1, Relaxed);
            let port = self.target.load(Relaxed);
            if port != NOWHERE {
                let target = SocketAddr::from(([127, 0, 0, 1], port));
                self.connections().spawn(relay(client, target));
            }
        }
    }

    fn connections(&self) -> std::sync::MutexGuard<'_, JoinSet<()>> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends when either side does, which the other one sees.
async fn relay(mut client: TcpStream, target: SocketAddr) {
    if let Ok(mut server) = TcpStream::connect(target).await {
        // A broken connection is what this is for.
        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
    }
}
