//! The HTTP server: reads every request, chooses its reply, and sends it or fails.

use std::collections::HashMap;
use std::future::pending;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;
use tokio::time::sleep;

use crate::half;
use crate::refusal::Refusal;
use crate::reply::{Mishap, StatusReply};
use crate::request::Request;
use crate::world::{World, lock};

/// Serves until it is dropped.
pub(crate) async fn serve(listener: TcpListener, world: Arc<Mutex<World>>) {
    let listener = listener.tap_io(|stream| {
        // Optional: without it replies are late, not wrong.
        let _ = stream.set_nodelay(true);
        // hyper drops a connection when the body of a reply fails. With a linger of zero that sends an RST.
        let _ = stream.set_zero_linger();
    });
    // One handler for all paths, because a route cannot match `{resource}:verb`. The listener makes no errors.
    let app = Router::new().fallback(answer).with_state(world);
    let _ = axum::serve(listener, app).await;
}

async fn answer(
    State(world): State<Arc<Mutex<World>>>,
    method: Method,
    uri: Uri,
    Query(query): Query<HashMap<String, String>>,
    body: Bytes,
) -> Response {
    lock(&world).stats.calls += 1;
    let request = Request {
        method: &method,
        path: uri.path(),
        query: &query,
        body: &body,
    };
    let demand = match request.demand() {
        Ok(demand) => demand,
        Err(refusal) => return refusal.into_response(),
    };
    let (reply, latency) = {
        let mut world = lock(&world);
        (world.decide(&demand), world.latency)
    };
    // Even a sleep of zero can take a tick of the timer.
    if !latency.is_zero() {
        sleep(latency).await;
    }

    let carry_out = || match lock(&world).carry_out(&demand, &reply) {
        Ok(value) => json(StatusCode::OK, value.to_string()),
        Err(refusal) => refusal.into_response(),
    };
    let early = reply.applied.then(carry_out);
    let real = || early.unwrap_or_else(carry_out);
    match &reply.fault {
        Mishap::None | Mishap::FailedOperation(..) => real(),
        Mishap::Status(status) => status.into_response(),
        Mishap::Stall => pending().await,
        Mishap::Cut => half::of(real()).await,
        Mishap::Reset => half::none(),
    }
}

fn json(status: StatusCode, body: String) -> Response {
    let kind = "application/json; charset=UTF-8";
    (status, [(CONTENT_TYPE, kind)], body).into_response()
}

/// `Reply::status` has checked the code.
fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        json(status(self.code.http_status()), self.body())
    }
}

impl IntoResponse for &StatusReply {
    fn into_response(self) -> Response {
        let mut response = json(status(self.code), self.body());
        let headers = response.headers_mut();
        if self.html {
            let kind = HeaderValue::from_static("text/html; charset=UTF-8");
            headers.insert(CONTENT_TYPE, kind);
        }
        if let Some(value) = &self.retry_after {
            headers.insert(RETRY_AFTER, value.clone());
        }
        response
    }
}
