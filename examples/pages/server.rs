//! A service that lists rows in pages and fails now and then. Its seed decides which calls fail.

use axum::{
    Router,
    extract::{Path, State},
    http::StatusCode,
    routing::get,
};
use rand::{RngExt as _, SeedableRng as _, rngs::SmallRng};
use serde_json::json;
use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};
use tokio::net::TcpListener;

/// How many rows a page has.
const ROWS: u64 = 10;
/// How many pages the list has.
const PAGES: u64 = 40;
/// The share of the calls that fail, 0 to 1.
const FAILING: f64 = 0.2;

pub(crate) struct Service {
    chance: Mutex<SmallRng>,
    calls: AtomicU32,
}

impl Service {
    /// Serves until the program ends. Returns the address and the service.
    pub(crate) async fn start() -> io::Result<(SocketAddr, Arc<Self>)> {
        let service = Arc::new(Service {
            chance: Mutex::new(SmallRng::seed_from_u64(1)),
            calls: AtomicU32::new(0),
        });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let routes = Router::new().route("/pages/{number}", get(page));
        let routes = routes.with_state(service.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Ok((address, service))
    }

    /// How many calls came since the last call of this function.
    pub(crate) fn take_calls(&self) -> u32 {
        self.calls.swap(0, Relaxed)
    }
}

async fn page(
    State(service): State<Arc<Service>>,
    Path(number): Path<u64>,
) -> Result<String, StatusCode> {
    service.calls.fetch_add(1, Relaxed);
    let chance = service.chance.lock().expect("nobody panics with it");
    if { chance }.random_bool(FAILING) {
        return Err(StatusCode::SERVICE_UNAVAILABLE);
    }
    let rows: Vec<u64> = (number * ROWS..(number + 1) * ROWS).collect();
    let next = Some(number + 1).filter(|next| *next < PAGES);
    Ok(json!({ "rows": rows, "next": next }).to_string())
}
