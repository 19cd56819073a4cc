//! A service that is healthy, throttles, fails, is down, recovers, and is healthy again.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use axum::{
    Router,
    extract::{Path, State},
    http::{StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
    routing::get,
};
use rand::{RngExt as _, SeedableRng as _, rngs::SmallRng};
use tokio::net::TcpSocket;
use tokio::runtime::Builder;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A stretch of the run.
pub(crate) struct Phase {
    pub(crate) name: &'static str,
    pub(crate) lasts: Duration,
    /// What the service does; nothing while it is down.
    odds: Option<Odds>,
}

/// How many of 1 requests are told 429 with `Retry-After: 1`, how many are told 503, of which one in three is told
/// `Retry-After: 1`, and how many get no answer. The others get what they asked for, or 404.
type Odds = [f64; 3];

/// How many of 1 requests ask for what is not there, at all times.
const MISSING: f64 = 0.01;

/// How many requests came so far. The same ones fail in each run.
static REQUESTS: AtomicU64 = AtomicU64::new(0);
/// The same of requests for customers, of which each twentieth is slow.
static CUSTOMERS: AtomicU64 = AtomicU64::new(0);
const SLOW: Duration = Duration::from_millis(120);

pub(crate) const PHASES: [Phase; 6] = [
    phase("healthy", 2_000, Some([0.0, 0.01, 0.0])),
    phase("throttling", 1_000, Some([0.5, 0.01, 0.0])),
    phase("failing", 1_200, Some([0.0, 0.7, 0.2])),
    phase("down", 600, None),
    phase("recovering", 1_200, Some([0.0, 0.3, 0.02])),
    phase("healthy", 5_000, Some([0.0, 0.01, 0.0])),
];

/// How long all phases last.
pub(crate) fn lasts() -> Duration {
    PHASES.iter().map(|phase| phase.lasts).sum()
}

const fn phase(name: &'static str, millis: u64, odds: Option<Odds>) -> Phase {
    let lasts = Duration::from_millis(millis);
    Phase { name, lasts, odds }
}

pub(crate) struct Service {
    address: SocketAddr,
    /// Does not listen. While the service is down it keeps the port, which another process could take.
    _port: TcpSocket,
    odds: watch::Sender<Odds>,
    /// Ends the service when it is dropped.
    process: Option<DropGuard>,
}

impl Service {
    /// In the first phase.
    pub(crate) fn start() -> io::Result<Self> {
        let port = socket((Ipv4Addr::LOCALHOST, 0).into())?;
        let mut service = Service {
            address: port.local_addr()?,
            _port: port,
            odds: watch::Sender::default(),
            process: None,
        };
        service.enter(&PHASES[0])?;
        Ok(service)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn enter(&mut self, phase: &Phase) -> io::Result<()> {
        let Some(odds) = phase.odds else {
            self.process = None;
            return Ok(());
        };
        self.odds.send_replace(odds);
        if self.process.is_none() {
            self.process = Some(self.boot()?);
        }
        Ok(())
    }

    /// In a runtime of its own, so that it ends as a process does: its connections are cut, and new ones
    /// are refused.
    fn boot(&self) -> io::Result<DropGuard> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        // The listener belongs to the runtime in which it is made.
        let listener = {
            let _inside = runtime.enter();
            socket(self.address)?.listen(1024)?
        };
        let routes = Router::new()
            .route("/invoices/{number}", get(invoice))
            .route("/customers/{number}", get(customer))
            .with_state(self.odds.subscribe());
        let end = CancellationToken::new();
        let guard = end.clone().drop_guard();
        std::thread::spawn(move || {
            let service = axum::serve(listener, routes).into_future();
            runtime.block_on(end.run_until_cancelled(service))
        });
        Ok(guard)
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

async fn invoice(State(odds): State<watch::Receiver<Odds>>, Path(number): Path<u64>) -> Response {
    let odds = *odds.borrow();
    answer(odds, REQUESTS.fetch_add(1, Relaxed), number).await
}

async fn customer(State(odds): State<watch::Receiver<Odds>>, Path(number): Path<u64>) -> Response {
    let odds = *odds.borrow();
    let request = CUSTOMERS.fetch_add(1, Relaxed);
    if request % 20 == 19 {
        tokio::time::sleep(SLOW).await;
    }
    answer(odds, request, number).await
}

async fn answer(odds: Odds, request: u64, number: u64) -> Response {
    let mut chance = SmallRng::seed_from_u64(request);
    let drawn: f64 = chance.random();
    let [throttled, unavailable, hanging] = odds;
    let busy = throttled + unavailable;
    let later = [(RETRY_AFTER, "1")];
    if drawn < throttled {
        (StatusCode::TOO_MANY_REQUESTS, later).into_response()
    } else if drawn < throttled + unavailable / 3.0 {
        (StatusCode::SERVICE_UNAVAILABLE, later).into_response()
    } else if drawn < busy {
        StatusCode::SERVICE_UNAVAILABLE.into_response()
    } else if drawn < busy + hanging {
        std::future::pending().await
    } else if chance.random_bool(MISSING) {
        StatusCode::NOT_FOUND.into_response()
    } else {
        format!("{{\"number\": {number}}}").into_response()
    }
}
