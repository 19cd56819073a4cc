//! The HTTP server: reads every request, chooses its reply, and sends it or fails.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{self, ConnectInfo, State};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::demand::Demand;
use super::instances::product::Memorystore;
use super::refusal::Refusal;
use super::reply::{Mishap, StatusReply};
use super::request::{Query, Request};
use super::route;
use super::wire::{Line, Loopback};
use super::world::World;

/// Larger than any policy may be.
const MAX_BODY: usize = 1 << 20;

/// Serves on this thread until `stop` is sent or dropped. Sends on `ready` whether the server started.
pub(super) fn run(
    listener: TcpListener,
    world: Arc<World>,
    ready: &SyncSender<io::Result<()>>,
    stop: oneshot::Receiver<()>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build();
    let started = runtime.and_then(|runtime| {
        listener.set_nonblocking(true)?;
        let guard = runtime.enter();
        let listener = Loopback(tokio::net::TcpListener::from_std(listener)?);
        drop(guard);
        Ok((runtime, listener))
    });
    let (runtime, listener) = match started {
        Ok(started) => started,
        Err(error) => {
            // If the receiver is gone, nobody needs the result.
            let _ = ready.send(Err(error));
            return;
        }
    };
    // One handler for all paths, because a route cannot match `{resource}:verb`.
    let app = Router::new().fallback(answer).with_state(world);
    let server = axum::serve(listener, app.into_make_service_with_connect_info::<Line>());
    runtime.spawn(server.into_future());
    let _ = ready.send(Ok(()));
    let _ = runtime.block_on(stop);
    // Dropping the runtime drops all connections, stalled or not.
}

async fn answer(
    State(world): State<Arc<World>>,
    ConnectInfo(line): ConnectInfo<Line>,
    request: extract::Request,
) -> Response {
    let product = world.lock().instances.product();
    let demand = match read(request, product).await {
        Ok(demand) => demand,
        Err(refusal) => {
            world.lock().ledger.count_rejected();
            return Answer::from(refusal).into_response();
        }
    };
    let reply = world.lock().decide(&demand);
    // Even a sleep of zero can take a tick of the timer.
    if !world.latency.is_zero() {
        sleep(world.latency).await;
    }

    let carry_out = || Answer::from(world.lock().carry_out(&demand, &reply));
    let early = reply.applied.then(carry_out);
    match &reply.fault {
        Mishap::None | Mishap::FailedOperation(..) => {
            early.unwrap_or_else(carry_out).into_response()
        }
        Mishap::Delay(time) => {
            sleep(*time).await;
            early.unwrap_or_else(carry_out).into_response()
        }
        Mishap::Status(status) => Answer::from(status).into_response(),
        Mishap::Stall(time) => {
            sleep(*time).await;
            line.close();
            Response::default()
        }
        Mishap::Reset => {
            line.reset();
            Response::default()
        }
        Mishap::Cut => early
            .unwrap_or_else(carry_out)
            .into_half(&line, Duration::ZERO),
        Mishap::StallBody(time) => early.unwrap_or_else(carry_out).into_half(&line, *time),
    }
}

async fn read(request: extract::Request, product: Memorystore) -> Result<Demand, Refusal> {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, MAX_BODY).await.map_err(|error| {
        Refusal::invalid(format!("The request body could not be read: {error}."))
    })?;
    let query = extract::Query::<Vec<(String, String)>>::try_from_uri(&head.uri)
        .map_err(|error| Refusal::invalid(format!("The query string cannot be read: {error}.")))?;
    let query: Query = query.0.into_iter().collect();
    let request = Request {
        method: &head.method,
        path: head.uri.path(),
        query: &query,
        body: &body,
    };
    route::demand(&request, product)
}

/// A reply before it becomes HTTP.
struct Answer {
    code: u16,
    html: bool,
    retry_after: Option<HeaderValue>,
    body: String,
}

impl Answer {
    fn json(code: u16, body: String) -> Self {
        Self {
            code,
            html: false,
            retry_after: None,
            body,
        }
    }

    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        // `Reply::status` has checked the code.
        *response.status_mut() =
            StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let kind = if self.html {
            "text/html; charset=UTF-8"
        } else {
            "application/json; charset=UTF-8"
        };
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        if let Some(value) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, value);
        }
        response
    }

    /// Half of the body, then a pause of `hold`, then the end of the connection.
    fn into_half(self, line: &Line, hold: Duration) -> Response {
        line.truncate(self.body.len() / 2, hold);
        self.into_response()
    }
}

impl From<Result<Value, Refusal>> for Answer {
    fn from(outcome: Result<Value, Refusal>) -> Self {
        match outcome {
            Ok(answer) => Self::json(200, answer.to_string()),
            Err(refusal) => refusal.into(),
        }
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        Self::json(refusal.code, refusal.body())
    }
}

impl From<&StatusReply> for Answer {
    fn from(status: &StatusReply) -> Self {
        Self {
            code: status.code,
            html: status.html,
            retry_after: status.retry_after.clone(),
            body: status.body(),
        }
    }
}
