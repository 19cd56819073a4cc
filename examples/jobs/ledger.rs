//! The service that charges accounts: it throttles, fails, loses replies, and knows each operation by its id.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{self, Path};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

/// What the service has seen of an operation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) requests: u32,
    /// How often the charge was made: once for each operation id.
    pub(crate) charges: u32,
    /// Requests with an id that was applied before: without the id, the charge would have been made again.
    pub(crate) repeated: u32,
    /// Requests before the time that a reply asked for.
    pub(crate) early: u32,
    not_before: Option<Instant>,
}

struct State {
    seen: Vec<Seen>,
    /// The ids of the operations that were applied.
    applied: HashSet<String>,
    rng: SmallRng,
}

#[derive(Clone)]
pub(crate) struct Ledger(Arc<Mutex<State>>);

/// The account of every hundredth operation is closed.
const CLOSED: u32 = 100;
const PAUSE: Duration = Duration::from_secs(2);

impl Ledger {
    pub(crate) fn new(operations: u32) -> Self {
        let state = State {
            seen: vec![Seen::default(); operations as usize],
            applied: HashSet::new(),
            rng: SmallRng::seed_from_u64(7),
        };
        Ledger(Arc::new(Mutex::new(state)))
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.0.lock().expect("no panic").seen.clone()
    }

    fn charge(&self, operation: u32, id: &str) -> Response {
        let State { seen, applied, rng } = &mut *self.0.lock().expect("no panic");
        let Some(seen) = seen.get_mut(operation as usize) else {
            return StatusCode::NOT_FOUND.into_response();
        };
        let now = Instant::now();
        seen.requests += 1;
        seen.early += u32::from(seen.not_before.take().is_some_and(|time| now < time));
        let chance: f64 = rng.random();
        if operation % CLOSED == 1 {
            return StatusCode::FORBIDDEN.into_response();
        }
        if chance < 0.10 {
            seen.not_before = Some(now + PAUSE);
            let pause = [("retry-after", PAUSE.as_secs().to_string())];
            return (StatusCode::TOO_MANY_REQUESTS, pause).into_response();
        }
        if chance < 0.20 {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
        match applied.insert(id.to_owned()) {
            true => seen.charges += 1,
            false => seen.repeated += 1,
        }
        match chance < 0.25 {
            // The reply is lost on its way.
            true => StatusCode::GATEWAY_TIMEOUT.into_response(),
            false => StatusCode::OK.into_response(),
        }
    }

    /// Serves until the program ends. Returns the address.
    pub(crate) async fn serve(&self) -> std::io::Result<String> {
        let charge = async |extract::State(ledger): extract::State<Ledger>,
                            Path(operation): Path<u32>,
                            headers: HeaderMap| {
            tokio::time::sleep(Duration::from_millis(10)).await;
            let id = headers.get("idempotency-key").map(|id| id.as_bytes());
            ledger.charge(operation, &String::from_utf8_lossy(id.unwrap_or_default()))
        };
        let routes = Router::new()
            .route("/charge/{operation}", post(charge))
            .with_state(self.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("http://{}", listener.local_addr()?);
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Ok(address)
    }
}
