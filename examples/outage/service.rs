//! A service that is healthy, throttles, fails, is down, recovers, and is healthy again.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::{
    Router,
    extract::{Path, State},
    http::{StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
    routing::get,
};
use rand::{RngExt as _, SeedableRng as _, rngs::SmallRng};
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::{Builder, Runtime};

/// A stretch of the run.
pub(crate) struct Phase {
    pub(crate) name: &'static str,
    pub(crate) lasts: Duration,
    /// Whether it belongs to the outage.
    pub(crate) is_outage: bool,
    /// What the service does; nothing while it is down.
    odds: Option<Odds>,
}

/// How many of 1 requests are answered so; the others get what they asked for.
#[derive(Clone, Copy)]
struct Odds {
    /// 429 with `Retry-After: 1`.
    throttled: f64,
    /// 503, one in three with `Retry-After: 1`.
    unavailable: f64,
    /// No answer.
    hanging: f64,
}

const HEALTHY: Odds = Odds {
    throttled: 0.0,
    unavailable: 0.01,
    hanging: 0.0,
};

/// How many of 1 requests ask for what is not there, at all times.
const MISSING: f64 = 0.01;

pub(crate) const PHASES: [Phase; 6] = [
    Phase {
        name: "healthy",
        // No phase ends in the moment of a scrape: then its last bar would hold what comes after it.
        lasts: Duration::from_millis(2_020),
        is_outage: false,
        odds: Some(HEALTHY),
    },
    Phase {
        name: "throttling",
        lasts: Duration::from_millis(1_000),
        is_outage: true,
        odds: Some(Odds {
            throttled: 0.5,
            ..HEALTHY
        }),
    },
    Phase {
        name: "failing",
        lasts: Duration::from_millis(1_200),
        is_outage: true,
        odds: Some(Odds {
            throttled: 0.0,
            unavailable: 0.7,
            hanging: 0.2,
        }),
    },
    Phase {
        name: "down",
        lasts: Duration::from_millis(600),
        is_outage: true,
        odds: None,
    },
    Phase {
        name: "recovering",
        lasts: Duration::from_millis(1_200),
        is_outage: true,
        odds: Some(Odds {
            throttled: 0.0,
            unavailable: 0.3,
            hanging: 0.02,
        }),
    },
    Phase {
        name: "healthy",
        lasts: Duration::from_millis(5_000),
        is_outage: false,
        odds: Some(HEALTHY),
    },
];

/// Runs in a runtime of its own, so that it ends as a process does: its connections are cut, and new ones
/// are refused.
pub(crate) struct Service {
    address: SocketAddr,
    /// Does not listen. While the service is down it keeps the port, which another process could take.
    _port: TcpSocket,
    behaviour: Arc<Mutex<Behaviour>>,
    process: Option<Runtime>,
}

struct Behaviour {
    odds: Odds,
    chance: SmallRng,
}

impl Service {
    pub(crate) async fn start(seed: u64) -> io::Result<Self> {
        let port = socket((Ipv4Addr::LOCALHOST, 0).into())?;
        let mut service = Service {
            address: port.local_addr()?,
            _port: port,
            behaviour: Arc::new(Mutex::new(Behaviour {
                odds: HEALTHY,
                chance: SmallRng::seed_from_u64(seed),
            })),
            process: None,
        };
        service.boot().await?;
        Ok(service)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) async fn enter(&mut self, phase: &Phase) -> io::Result<()> {
        let Some(odds) = phase.odds else {
            self.kill();
            return Ok(());
        };
        locked(&self.behaviour).odds = odds;
        if self.process.is_none() {
            self.boot().await?;
        }
        Ok(())
    }

    async fn boot(&mut self) -> io::Result<()> {
        let process = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let routes = Router::new()
            .route("/invoices/{number}", get(invoice))
            .with_state(self.behaviour.clone());
        let address = self.address;
        // The listener belongs to the runtime in which it is made.
        let listener = process.spawn(async move { socket(address)?.listen(1024) });
        let listener: TcpListener = listener.await.map_err(io::Error::other)??;
        process.spawn(async move { axum::serve(listener, routes).await });
        self.process = Some(process);
        Ok(())
    }

    fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.shutdown_background();
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A socket that shares its port with others of this program.
fn socket(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    #[cfg(unix)]
    socket.set_reuseport(true)?;
    #[cfg(not(unix))]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

fn locked(behaviour: &Mutex<Behaviour>) -> std::sync::MutexGuard<'_, Behaviour> {
    behaviour.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn invoice(
    State(behaviour): State<Arc<Mutex<Behaviour>>>,
    Path(number): Path<u64>,
) -> Response {
    let (odds, drawn, wants_a_wait, is_missing) = {
        let behaviour = &mut *locked(&behaviour);
        let chance = &mut behaviour.chance;
        (
            behaviour.odds,
            chance.random::<f64>(),
            chance.random_bool(1.0 / 3.0),
            chance.random_bool(MISSING),
        )
    };
    let busy = odds.throttled + odds.unavailable;
    if drawn < odds.throttled {
        (StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, "1")]).into_response()
    } else if drawn < busy && wants_a_wait {
        (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "1")]).into_response()
    } else if drawn < busy {
        StatusCode::SERVICE_UNAVAILABLE.into_response()
    } else if drawn < busy + odds.hanging {
        std::future::pending().await
    } else if is_missing {
        StatusCode::NOT_FOUND.into_response()
    } else {
        serde_json::json!({ "number": number })
            .to_string()
            .into_response()
    }
}
