//! A layer of tower around a service that answers 503 some times and then 200: this project's, and tower's own.

use super::{ours::AtOnce, ours::POLICY, tower::AtOnce as Ready};
use crate::{drive::in_place, operation::ApiError};
use http::{Request, Response, StatusCode};
use std::{
    cell::Cell,
    future::{Ready as Now, ready},
    hint::black_box,
    task::{Context, Poll},
};
use tower::{
    Layer, Service,
    retry::{Policy, Retry, backoff::Backoff},
};

/// Answers at once.
#[derive(Clone, Copy)]
struct Server {
    left: &'static Cell<u32>,
}

impl Service<Request<()>> for Server {
    type Response = Response<()>;
    type Error = ApiError;
    type Future = Now<Result<Response<()>, ApiError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ApiError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        let left = black_box(self.left).get();
        let mut response = Response::new(());
        if left > 0 {
            self.left.set(left - 1);
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        }
        ready(Ok(response))
    }
}

/// The policy that a user of tower writes.
#[derive(Clone)]
struct Transient(Ready, u32);

impl Policy<Request<()>, Response<()>, ApiError> for Transient {
    type Future = Now<()>;

    fn retry(
        &mut self,
        _: &mut Request<()>,
        outcome: &mut Result<Response<()>, ApiError>,
    ) -> Option<Now<()>> {
        match outcome {
            Ok(response) if self.1 > 0 && response.status().is_server_error() => {
                self.1 -= 1;
                Some(self.0.next_backoff())
            }
            _ => None,
        }
    }

    fn clone_request(&mut self, request: &Request<()>) -> Option<Request<()>> {
        Some(request.clone())
    }
}

fn called<S>(n: u64, failures: u32, service: impl Fn(Server) -> S)
where
    S: Service<Request<()>, Response = Response<()>>,
{
    let left: &'static Cell<u32> = Box::leak(Box::new(Cell::new(0)));
    let service = std::cell::RefCell::new(service(Server { left }));
    in_place(n, |_| {
        left.set(failures);
        service.borrow_mut().call(Request::new(()))
    });
}

pub fn bare(n: u64, failures: u32) {
    called(n, failures, |server| server);
}

pub fn ours(n: u64, failures: u32) {
    called(n, failures, |server| {
        POLICY.layer().runtime(AtOnce).layer(server)
    });
}

pub fn theirs(n: u64, failures: u32) {
    called(n, failures, |server| {
        Retry::new(Transient(Ready, 10), server)
    });
}

/// The size of the future of a request without a body: this project's, and tower's.
pub fn bytes() -> [usize; 2] {
    let server = Server {
        left: Box::leak(Box::new(Cell::new(0))),
    };
    let mut ours = POLICY.layer().runtime(AtOnce).layer(server);
    let mut theirs = Retry::new(Transient(Ready, 10), server);
    let request = || Request::new(());
    [
        size_of_val(&ours.call(request())),
        size_of_val(&theirs.call(request())),
    ]
}
