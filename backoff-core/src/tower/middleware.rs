//! The layer as a middleware of reqwest-middleware, version 0.5.

use super::{
    copies::Copies,
    layer::{Reply, RetryLayer},
    outgoing::Idempotent,
    signal::Signals,
};
use crate::{
    call::{hedging::Hedging, setting::Setting},
    facts::method::name_of,
    policy::Policy,
    runtime::{Clock, Random, Sleep},
    sync::{Mutex, lock},
};
use core::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};
use http_1::Extensions;
use reqwest_013::{Request, Response};
use reqwest_middleware_05::{Error, Middleware, Next, Result};
use std::boxed::Box;
use tower_service::Service;

type Running<'r> = Pin<Box<dyn Future<Output = Result<Response>> + Send + 'r>>;

/// The rest of a chain of middlewares, and the client at its end, as a service.
#[derive(Clone)]
#[doc(hidden)]
pub struct Chain<'r> {
    next: Next<'r>,
    /// An attempt writes its extensions when it ends, so one that is cut leaves nothing behind.
    extensions: &'r Mutex<&'r mut Extensions>,
}

impl fmt::Debug for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain").finish_non_exhaustive()
    }
}

impl<'r> Service<Request> for Chain<'r> {
    type Response = Response;
    type Error = Error;
    type Future = Running<'r>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Running<'r> {
        let Chain { next, extensions } = self.clone();
        Box::pin(async move {
            let mut own = lock(extensions).clone();
            let reply = next.run(request, &mut own).await;
            **lock(extensions) = own;
            reply
        })
    }
}

/// With the feature `reqwest-middleware-05`: see [the module](super#as-a-middleware-of-reqwest).
impl<C, K, R, G, H> Middleware for RetryLayer<C, K, R, G, H>
where
    Self: Send + Sync + 'static,
    C: Copies<Request> + Clone,
    K: Setting<Response, Error> + Clone,
    R: Clock + Sleep + Random + Clone,
    G: Signals<Response, Error>,
    H: Hedging + Clone,
    for<'r> Reply<Chain<'r>, Request, C, K, R, G, H, Policy>: Send,
{
    fn handle<'this, 'extensions, 'next, 'r>(
        &'this self,
        request: Request,
        extensions: &'extensions mut Extensions,
        next: Next<'next>,
    ) -> Running<'r>
    where
        Self: 'r,
        'this: 'r,
        'extensions: 'r,
        'next: 'r,
    {
        Box::pin(async move {
            let name = name_of(request.method());
            let own = extensions.get().map(|Idempotent(own)| *own);
            let extensions = &Mutex::new(extensions);
            let chain = Chain { next, extensions };
            let plan = |may_repeat| self.policy.idempotent(may_repeat);
            self.call(name, chain, request, own, plan).await
        })
    }
}
