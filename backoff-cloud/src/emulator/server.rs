//! The HTTP side: every request is read, decided about, and answered or not.

use std::io;
use std::net::TcpListener;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{self, ConnectInfo, Request, State};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::fault::{Director, Verdict};
use super::iam::Policies;
use super::refusal::Refusal;
use super::reply::{Fault, Reply, StatusReply};
use super::request::{Action, Operation, Query, parse};
use super::stats::{Ledger, Stats};
use super::wire::{Line, Loopback};

/// More than any policy may hold.
const MAX_BODY: usize = 1 << 20;

/// What the handle and the request handlers share.
#[derive(Debug)]
pub(super) struct World {
    state: Mutex<Inner>,
    latency: Duration,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) policies: Policies,
    pub(super) director: Director,
    pub(super) ledger: Ledger,
}

impl World {
    pub(super) fn new(policies: Policies, director: Director, latency: Duration) -> Self {
        let inner = Inner {
            policies,
            director,
            ledger: Ledger::default(),
        };
        Self {
            state: Mutex::new(inner),
            latency,
        }
    }

    /// Never held across an await.
    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn decide(&mut self, operation: &Operation) -> Reply {
        let verdict = self.director.decide(operation.call(), Instant::now());
        let (reply, throttled) = match verdict {
            Verdict::Throttle(reply) => (reply, true),
            Verdict::Answer(reply) => (reply, false),
        };
        self.ledger.count(&operation.resource, |stats| {
            stats.calls += 1;
            if throttled {
                stats.throttled += 1;
            } else {
                count_fault(stats, &reply.fault);
            }
        });
        reply
    }

    /// Reads or writes the policy. `hidden` says that the caller will not see the result.
    fn carry_out(&mut self, operation: &Operation, hidden: bool) -> Answer {
        let Operation { resource, action } = operation;
        match action {
            Action::Get(version) => {
                self.ledger.count(resource, |stats| stats.reads += 1);
                Answer::json(200, self.policies.get(resource, *version).to_string())
            }
            // It knows nobody who could lack one.
            Action::Test(permissions) => {
                Answer::json(200, json!({"permissions": permissions}).to_string())
            }
            Action::Set(update) => match self.policies.set(resource, update) {
                Ok(written) => {
                    self.ledger.count(resource, |stats| {
                        stats.writes += 1;
                        stats.blind_writes += u64::from(written.blind);
                        stats.lost_replies += u64::from(hidden);
                    });
                    Answer::json(200, written.policy.to_string())
                }
                Err(refusal) => {
                    self.ledger.count(resource, |stats| {
                        if refusal.is_aborted() {
                            stats.conflicts += 1;
                        } else {
                            stats.rejected += 1;
                        }
                    });
                    Answer::from(refusal)
                }
            },
        }
    }
}

fn count_fault(stats: &mut Stats, fault: &Fault) {
    let faults = &mut stats.faults;
    match fault {
        Fault::None => {}
        Fault::Status(_) => faults.statuses += 1,
        Fault::Delay(_) => faults.delays += 1,
        Fault::Stall(_) => faults.stalls += 1,
        Fault::StallBody(_) => faults.body_stalls += 1,
        Fault::Reset => faults.resets += 1,
        Fault::Cut => faults.cuts += 1,
    }
}

/// Serves on this thread until `stop` is sent or dropped. Says on `ready` whether it started.
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
            // Nobody left to tell is no further error.
            let _ = ready.send(Err(error));
            return;
        }
    };
    // One handler for all paths: `{resource}:verb` is beyond what a route can say.
    let app = Router::new().fallback(answer).with_state(world);
    let server = axum::serve(listener, app.into_make_service_with_connect_info::<Line>());
    runtime.spawn(server.into_future());
    let _ = ready.send(Ok(()));
    let _ = runtime.block_on(stop);
    // Dropping the runtime drops every connection with it, stalled or not.
}

async fn answer(
    State(world): State<Arc<World>>,
    ConnectInfo(line): ConnectInfo<Line>,
    request: Request,
) -> Response {
    let operation = match read(request).await {
        Ok(operation) => operation,
        Err(refusal) => {
            world.lock().ledger.count_rejected();
            return Answer::from(refusal).into_response();
        }
    };
    let reply = world.lock().decide(&operation);
    // Even a sleep of no time can cost a tick of the timer.
    if !world.latency.is_zero() {
        sleep(world.latency).await;
    }

    let hidden = reply.hides_result();
    let carry_out = || world.lock().carry_out(&operation, hidden);
    let early = reply.applied.then(carry_out);
    match reply.fault {
        Fault::None => early.unwrap_or_else(carry_out).into_response(),
        Fault::Delay(time) => {
            sleep(time).await;
            early.unwrap_or_else(carry_out).into_response()
        }
        Fault::Status(status) => Answer::from(status).into_response(),
        Fault::Stall(time) => {
            sleep(time).await;
            line.close();
            Response::default()
        }
        Fault::Reset => {
            line.reset();
            Response::default()
        }
        Fault::Cut => early
            .unwrap_or_else(carry_out)
            .into_half(&line, Duration::ZERO),
        Fault::StallBody(time) => early.unwrap_or_else(carry_out).into_half(&line, time),
    }
}

async fn read(request: Request) -> Result<Operation, Refusal> {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, MAX_BODY).await.map_err(|error| {
        Refusal::invalid(format!("The request body could not be read: {error}."))
    })?;
    let query = extract::Query::<Vec<(String, String)>>::try_from_uri(&head.uri)
        .map_err(|error| Refusal::invalid(format!("The query string cannot be read: {error}.")))?;
    let query: Query = query.0.into_iter().collect();
    parse(&head.method, head.uri.path(), &query, &body)
}

/// A reply before it is HTTP.
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
        // Every code here is within what `Reply::status` lets through.
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

    /// Half of the body, then nothing for `hold`, then the end of the connection.
    fn into_half(self, line: &Line, hold: Duration) -> Response {
        line.truncate(self.body.len() / 2, hold);
        self.into_response()
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        Self::json(refusal.code, refusal.body())
    }
}

impl From<StatusReply> for Answer {
    fn from(status: StatusReply) -> Self {
        let body = status.body();
        Self {
            code: status.code,
            html: status.html,
            retry_after: status.retry_after,
            body,
        }
    }
}
