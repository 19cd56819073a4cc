//! The layer, and the service that it makes.

use super::{
    copies::{Cloned, ClonedBy, Copies, Prepared, Replaying},
    outgoing::Outgoing,
    replay::Replay,
    sends::Sends,
    signal::{CutOn, Signals, StopOn},
};
use crate::{
    call::{
        entry::Judged,
        hedging::{Hedging, Unhedged},
        plan::Plan,
        retrying::{Awaited, Retrying},
        setting::Setting,
        settings::{
            judges::{By, ByCodes},
            limits::AttemptTimeout,
            notify::Notify,
            values::Responses,
        },
        signal::Unstopped,
    },
    event::hook::Event,
    facts::fault::Fault,
    hedge::Hedge,
    policy::Policy,
    runtime::{ASYNC, AsyncRuntime, Clock, Random, Sleep},
    state::Attempt,
};
use core::{
    future::Future,
    task::{Context, Poll},
    time::Duration,
};
use http_body_1::Body;
use std::sync::Arc;
use tower_layer::Layer;
use tower_service::Service;

/// Sends each request by a policy. Made by [`Policy::layer`]; see [the module](super).
///
/// With the feature `reqwest-middleware-05` it is a [middleware of reqwest](super#as-a-middleware-of-reqwest), too.
///
/// A request that cannot be copied is sent once. If its failure is one that the policy would retry, the
/// reason is [`StopReason::Unrepeatable`](crate::StopReason::Unrepeatable), in the event and in the
/// WARN.
#[derive(Clone, Copy, Debug)]
#[must_use = "a layer does nothing until it is given a service"]
#[doc(alias("middleware", "reqwest-retry", "RetryTransientMiddleware"))]
pub struct RetryLayer<C = Cloned, K = LayerSettings, R = AsyncRuntime, G = Unstopped, H = Unhedged>
{
    pub(super) policy: Policy,
    operation: Option<&'static str>,
    idempotent: Option<bool>,
    copies: C,
    settings: K,
    runtime: R,
    signals: G,
    hedge: H,
}

/// The settings of a layer with this judge: responses are judged, too.
pub type LayerSettings<J = ByCodes> = (By<J>, Responses);

impl RetryLayer {
    /// As [`Policy::layer`].
    pub const fn new(policy: Policy) -> Self {
        Self::judged(policy, ByCodes)
    }
}

impl<J> RetryLayer<Cloned, LayerSettings<J>> {
    const fn judged(policy: Policy, judge: J) -> Self {
        RetryLayer {
            policy: policy.without_conflicts(),
            operation: None,
            idempotent: None,
            copies: Cloned,
            settings: (By(judge), Responses),
            runtime: ASYNC,
            signals: Unstopped,
            hedge: Unhedged,
        }
    }
}

impl Policy {
    /// A layer of [tower](crate::tower) that sends each request by this policy. The layer retries no conflict, even if the
    /// policy [does](Self::retry_conflicts), because the same request would conflict for ever.
    pub const fn layer(&self) -> RetryLayer {
        RetryLayer::new(*self)
    }
}

impl<J> Judged<'_, J> {
    /// As [`Policy::layer`]. The function judges errors; the policy's codes judge responses.
    ///
    /// ```
    /// use backoff_core::Policy;
    ///
    /// // Errors whose type tower has hidden.
    /// let layer = Policy::exponential()
    ///     .when_any(|error: &Box<dyn std::error::Error + Send + Sync>| error.is::<std::io::Error>())
    ///     .layer();
    /// # let _ = layer;
    /// ```
    pub fn layer(self) -> RetryLayer<Cloned, LayerSettings<J>> {
        RetryLayer::judged(*self.policy, self.judge)
    }
}

impl<C, K, R, G, H> RetryLayer<C, K, R, G, H> {
    /// Says for all requests whether they may be made twice. This setting takes precedence over the policy
    /// and over the method of the request. The extension [`Idempotent`](super::Idempotent) of a request
    /// takes precedence over this setting.
    ///
    /// Every request of gRPC is a `POST`. Write `.idempotent(true)` for a client that only reads.
    ///
    /// ```
    /// use backoff_core::Policy;
    ///
    /// let searches = Policy::exponential().layer().idempotent(true);
    /// # let _ = searches;
    /// ```
    pub const fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = Some(idempotent);
        self
    }

    /// Names the operation in hooks, log events and metrics: for example the service that all requests of
    /// the layer go to. Without this, the name is `tower`.
    ///
    /// ```
    /// use backoff_core::Policy;
    ///
    /// let billing = Policy::exponential().layer().operation("billing");
    /// # let _ = billing;
    /// ```
    pub const fn operation(mut self, operation: &'static str) -> Self {
        self.operation = Some(operation);
        self
    }
}

impl<K, R, G, H> RetryLayer<Cloned, K, R, G, H> {
    /// Copies requests by the function `copy` instead of `Clone`: for a body that is not `Clone`, and for a
    /// request type of your own. If the function returns `None` for a request, the request is sent once.
    ///
    /// The function is called once before each attempt.
    ///
    /// ```
    /// use backoff_core::Policy;
    /// # use http_1::Request;
    ///
    /// struct Form(Vec<(String, String)>);
    ///
    /// let layer = Policy::exponential().layer().cloned_by(|request: &Request<Form>| {
    ///     let mut copy = Request::new(Form(request.body().0.clone()));
    ///     *copy.method_mut() = request.method().clone();
    ///     *copy.uri_mut() = request.uri().clone();
    ///     *copy.headers_mut() = request.headers().clone();
    ///     Some(copy)
    /// });
    /// # let _ = layer;
    /// ```
    pub fn cloned_by<Request, F>(self, copy: F) -> RetryLayer<ClonedBy<F>, K, R, G, H>
    where
        F: Fn(&Request) -> Option<Request>,
    {
        self.rebuilt(|_, k, r, g, h| (ClonedBy(copy), k, r, g, h))
    }

    /// Reads the body of each request before the request is sent, up to `limit` bytes, and builds the body
    /// anew for each attempt: for the bodies of tonic and axum, whose type is hidden.
    ///
    /// Only bytes that are available at once are read, such as those of a unary gRPC call. A body that is
    /// longer than the limit, that fails, or that waits for its next chunk (a stream of a client, a request
    /// that a proxy passes on) is sent once, unchanged and complete.
    ///
    /// ```ignore
    /// let channel = ServiceBuilder::new()
    ///     .layer(POLICY.layer().replaying(64 * 1024, tonic::body::Body::new))
    ///     .service(channel);
    /// let client = GreeterClient::new(channel);
    /// ```
    pub fn replaying<B, F>(self, limit: usize, rebuild: F) -> RetryLayer<Replaying<F>, K, R, G, H>
    where
        B: Body + Unpin,
        F: Fn(Replay<B>) -> B,
    {
        self.rebuilt(|_, k, r, g, h| (Replaying { limit, rebuild }, k, r, g, h))
    }
}

impl<C, K, R, G, H> RetryLayer<C, K, R, G, H> {
    /// Calls `prepare` before each attempt: it changes the request of this attempt. So an attempt has a header with its
    /// number, a new token, or the address of another replica. The function waits for nothing, since an async attempt
    /// calls it.
    ///
    /// Each attempt begins with the request as it came, without the changes for earlier attempts. Whether the request
    /// may be made twice, and the host in log events, follow from the request as it came, too: if the function adds an
    /// `Idempotency-Key`, write [`idempotent(true)`](Self::idempotent) as well.
    ///
    /// Write this after [`cloned_by`](RetryLayer::cloned_by) or [`replaying`](RetryLayer::replaying), if the layer has
    /// one of them. If this is written twice, both functions are called, the first one first.
    ///
    /// ```
    /// use backoff_core::{Attempt, Policy};
    /// # use backoff_core::TimedOut;
    /// # use http_1::{Request, Response};
    /// use tower::{Service as _, ServiceBuilder, ServiceExt as _};
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let number = |attempt: Attempt, request: &mut Request<String>| {
    ///     request.headers_mut().insert("x-attempt", attempt.number().into());
    /// };
    /// // A server that answers the second attempt.
    /// let server = tower::service_fn(|request: Request<String>| {
    ///     let status = if request.headers()["x-attempt"] == "2" { 200 } else { 503 };
    ///     let reply = Response::builder().status(status).body(()).unwrap();
    ///     std::future::ready(Ok::<_, TimedOut>(reply))
    /// });
    /// let layer = Policy::exponential().layer().prepare(number);
    /// let mut client = ServiceBuilder::new().layer(layer).service(server);
    ///
    /// let request = Request::get("http://127.0.0.1/").body(String::new()).unwrap();
    /// let response = client.ready().await.unwrap().call(request).await.unwrap();
    /// assert_eq!(response.status(), 200);
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn prepare<Request, F>(self, prepare: F) -> RetryLayer<Prepared<C, F>, K, R, G, H>
    where
        F: Fn(Attempt, &mut Request),
    {
        let of = |copies| Prepared {
            copies,
            prepare,
            info: None,
        };
        self.rebuilt(|c, k, r, g, h| (of(c), k, r, g, h))
    }

    /// The same layer of other parts.
    fn rebuilt<D, I, Q, V, W>(
        self,
        change: impl FnOnce(C, K, R, G, H) -> (D, I, Q, V, W),
    ) -> RetryLayer<D, I, Q, V, W> {
        let (copies, settings, runtime, signals, hedge) = change(
            self.copies,
            self.settings,
            self.runtime,
            self.signals,
            self.hedge,
        );
        RetryLayer {
            policy: self.policy,
            operation: self.operation,
            idempotent: self.idempotent,
            copies,
            settings,
            runtime,
            signals,
            hedge,
        }
    }

    /// Sends a slow request a second time, as [`Retrying::hedge`] does. The first response that the policy does not
    /// retry wins.
    ///
    /// Only requests that have a copy and change nothing get a second one: those of the methods `GET`, `HEAD`, `OPTIONS`,
    /// `TRACE` and `QUERY`; of your own types, those that [`Outgoing::may_repeat`] allows under a policy that is not
    /// idempotent. [`Idempotent`](super::Idempotent) and [`idempotent`](Self::idempotent) take precedence: write
    /// `.idempotent(true)` for a client of gRPC that only reads.
    ///
    /// ```
    /// use backoff_core::{Hedge, Policy};
    ///
    /// static READS: Hedge = Hedge::p95();
    ///
    /// let layer = Policy::exponential().layer().hedge(&READS);
    /// # let _ = layer;
    /// ```
    pub fn hedge(self, hedge: &'static Hedge) -> RetryLayer<C, K, R, G, &'static Hedge> {
        self.rebuilt(|c, k, r, g, _| (c, k, r, g, hedge))
    }

    /// Uses the clock, timer and random numbers of `runtime` instead of tokio's. Each request gets a clone
    /// of the runtime.
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// use backoff_core::{Policy, testing::VirtualTime};
    ///
    /// let layer = Policy::exponential().layer().runtime(VirtualTime::new());
    /// # let _ = layer;
    /// # }
    /// ```
    pub fn runtime<Q>(self, runtime: Q) -> RetryLayer<C, K, Q, G, H>
    where
        Q: Clock + Sleep + Random + Clone,
    {
        self.rebuilt(|c, k, _, g, h| (c, k, runtime, g, h))
    }

    /// Ends the waits of all requests when the future of `signal` is ready, for a program that shuts down.
    /// The function is called once for each request.
    ///
    /// A wait ends at once, and no further attempt begins: the caller gets the last response or the last
    /// error, with [`StopReason::Stopped`](crate::StopReason::Stopped) in the event. A running attempt is
    /// finished, and the first attempt of a request is always made, as with [`Retrying::stop_on`]. A
    /// request keeps its last response while it waits. If two signals are set, the later one holds.
    ///
    /// ```
    /// use backoff_core::{Jitter, Policy};
    /// use std::time::Duration;
    /// use tokio_util::sync::CancellationToken;
    /// use tower::{Service as _, ServiceBuilder, ServiceExt as _};
    /// # use backoff_core::TimedOut;
    /// # use http_1::{Request, Response};
    ///
    /// const POLICY: Policy = Policy::constant(Duration::from_secs(60)).jitter(Jitter::None);
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// # let client = tower::service_fn(|_: Request<String>| {
    /// #     let reply = Response::builder().status(503).body(()).unwrap();
    /// #     std::future::ready(Ok::<_, TimedOut>(reply))
    /// # });
    /// let shutdown = CancellationToken::new();
    /// let token = shutdown.clone();
    /// let layer = POLICY.layer().stop_on(move || token.clone().cancelled_owned());
    /// let mut client = ServiceBuilder::new().layer(layer).service(client);
    ///
    /// let request = Request::get("http://127.0.0.1/").body(String::new()).unwrap();
    /// let reply = tokio::spawn(client.ready().await.unwrap().call(request));
    /// tokio::task::yield_now().await;
    /// shutdown.cancel();
    /// // The last response, without the minute of the wait.
    /// assert_eq!(reply.await.unwrap().unwrap().status(), 503);
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn stop_on<F, Fut>(self, signal: F) -> RetryLayer<C, K, R, StopOn<F>, H>
    where
        F: Fn() -> Fut + Clone,
        Fut: Future,
    {
        self.rebuilt(|c, k, r, _, h| (c, k, r, StopOn(signal), h))
    }

    /// As [`stop_on`](Self::stop_on), but the signal also cuts the running attempts. A request that comes
    /// after the signal is not sent.
    ///
    /// An attempt that is cut has no error of its own, so its error is made from
    /// [`Stopped`](crate::Stopped), as with [`Retrying::cut_on`]. The service's error must be a type that
    /// can be made from it, such as `BoxError` or your own. For a client with another error, put `map_err`
    /// between the layer and the client, as for [`attempt_timeout`](Self::attempt_timeout).
    ///
    /// ```
    /// use backoff_core::Policy;
    /// use std::error::Error;
    /// use tokio_util::sync::CancellationToken;
    /// use tower::ServiceBuilder;
    ///
    /// # async fn reply(_: http_1::Request<String>) -> Result<http_1::Response<()>, std::io::Error> {
    /// #     Ok(http_1::Response::new(()))
    /// # }
    /// # let client = tower::service_fn(reply);
    /// let shutdown = CancellationToken::new();
    /// let layer = Policy::exponential().layer().cut_on(move || shutdown.clone().cancelled_owned());
    /// let client = ServiceBuilder::new()
    ///     .layer(layer)
    ///     .map_err(|error| Box::<dyn Error + Send + Sync>::from(error))
    ///     .service(client);
    /// # fn is_service<S: tower::Service<http_1::Request<String>>>(_: S) {}
    /// # is_service(client);
    /// ```
    pub fn cut_on<F, Fut>(self, signal: F) -> RetryLayer<C, K, R, CutOn<F>, H>
    where
        F: Fn() -> Fut + Clone,
        Fut: Future,
    {
        self.rebuilt(|c, k, r, _, h| (c, k, r, CutOn(signal), h))
    }

    /// Calls `hook` before each wait, and when a request is given up. Each request gets a clone of the
    /// hook.
    ///
    /// ```
    /// use backoff_core::{Event, Policy};
    /// use std::io;
    ///
    /// let layer = Policy::exponential()
    ///     .layer()
    ///     .notify(|event: &Event<'_, io::Error>| println!("{event}"));
    /// # let _ = layer;
    /// ```
    pub fn notify<E, F>(self, hook: F) -> RetryLayer<C, (K, Notify<F>), R, G, H>
    where
        F: FnMut(&Event<'_, E>) + Clone,
    {
        self.rebuilt(|c, k, r, g, h| (c, (k, Notify(hook)), r, g, h))
    }

    /// Cuts each attempt after `limit`, or when the policy's deadline is over. The time of an attempt
    /// contains the time until the service is ready and the time until the service has given a response.
    /// The body of the response is not limited.
    ///
    /// An attempt that is cut has no error of its own, so its error is made from
    /// [`TimedOut`](crate::TimedOut). **The service's error needs `From<TimedOut>`**: `BoxError` has it, and
    /// your own can. For a client with another error, put `map_err` between the layer and the client.
    /// Otherwise the layer makes no service, and a call of `ready` or `oneshot` ends in "trait bounds were not
    /// satisfied".
    ///
    /// ```
    /// use backoff_core::Policy;
    /// use std::{error::Error, time::Duration};
    /// use tower::ServiceBuilder;
    ///
    /// # async fn reply(_: http_1::Request<String>) -> Result<http_1::Response<()>, std::io::Error> {
    /// #     Ok(http_1::Response::new(()))
    /// # }
    /// # let client = tower::service_fn(reply);
    /// let client = ServiceBuilder::new()
    ///     .layer(Policy::exponential().layer().attempt_timeout(Duration::from_secs(10)))
    ///     .map_err(|error| Box::<dyn Error + Send + Sync>::from(error))
    ///     .service(client);
    /// # fn is_service<S: tower::Service<http_1::Request<String>>>(_: S) {}
    /// # is_service(client);
    /// ```
    pub fn attempt_timeout(self, limit: Duration) -> RetryLayer<C, (K, AttemptTimeout), R, G, H> {
        self.rebuilt(|c, k, r, g, h| (c, (k, AttemptTimeout(limit)), r, g, h))
    }
}

impl<S, C: Clone, K: Clone, R: Clone, G: Clone, H: Clone> Layer<S> for RetryLayer<C, K, R, G, H> {
    type Service = Retry<S, C, K, R, G, H>;

    fn layer(&self, service: S) -> Self::Service {
        let of = |may_repeat| Arc::new(self.policy.idempotent(may_repeat));
        Retry {
            service,
            policies: [of(false), of(true)],
            layer: self.clone(),
        }
    }
}

/// A service that sends each request by a policy. Made by a [`RetryLayer`].
///
/// The service inside must be `Clone`, because each repeated request needs a service that was made
/// ready again.
#[derive(Clone, Debug)]
pub struct Retry<S, C = Cloned, K = LayerSettings, R = AsyncRuntime, G = Unstopped, H = Unhedged> {
    service: S,
    /// The policy for requests that must not be made twice, and for those that may.
    policies: [Arc<Policy>; 2],
    layer: RetryLayer<C, K, R, G, H>,
}

impl<S, C, K, R, G, H> Retry<S, C, K, R, G, H> {
    /// The service inside.
    pub const fn get_ref(&self) -> &S {
        &self.service
    }

    /// The service inside.
    pub const fn get_mut(&mut self) -> &mut S {
        &mut self.service
    }

    /// The service inside.
    pub fn into_inner(self) -> S {
        self.service
    }
}

/// The reply to a request of a [`Retry`]: a future with a name, which shares its policy and allocates
/// nothing. The first attempt is made when the future is first polled.
pub type Reply<
    S,
    Request,
    C = Cloned,
    K = LayerSettings,
    R = AsyncRuntime,
    G = Unstopped,
    H = Unhedged,
    P = Arc<Policy>,
> = Retrying<
    P,
    Sends<S, Request, C>,
    K,
    R,
    Awaited<
        <G as Signals<<S as Service<Request>>::Response, <S as Service<Request>>::Error>>::Signal,
        H,
    >,
>;

impl<S, Request, C, K, R, G, H> Service<Request> for Retry<S, C, K, R, G, H>
where
    S: Service<Request, Response: Fault> + Clone,
    Request: Outgoing,
    C: Copies<Request> + Clone,
    K: Setting<S::Response, S::Error> + Clone,
    R: Clock + Sleep + Random + Clone,
    G: Signals<S::Response, S::Error> + Clone,
    H: Hedging + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Reply<S, Request, C, K, R, G, H>;

    /// Makes the service inside ready. An error goes to the caller and is not retried, because there is no
    /// request yet.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(cx)
    }

    #[inline]
    fn call(&mut self, request: Request) -> Self::Future {
        // The service that was made ready makes the first attempt, and a clone stays here.
        let clone = self.service.clone();
        let ready = core::mem::replace(&mut self.service, clone);
        let layer = &self.layer;
        let own = request.idempotent();
        let plan = |may_repeat| Arc::clone(&self.policies[usize::from(may_repeat)]);
        layer.call(TOWER, ready, request, own, plan)
    }
}

/// The name of the operation, unless the layer gives another. The type of a service has hundreds of
/// characters.
const TOWER: &str = "tower";

impl<C, K, R, G, H> RetryLayer<C, K, R, G, H> {
    /// Sends the request. `name` is the operation unless the layer gives another, `own` is what the request says of
    /// itself, and `plan` makes the policy of a request that may or may not be made twice.
    #[inline]
    pub(super) fn call<S, Request, P>(
        &self,
        name: &'static str,
        service: S,
        request: Request,
        own: Option<bool>,
        plan: impl FnOnce(bool) -> P,
    ) -> Reply<S, Request, C, K, R, G, H, P>
    where
        S: Service<Request, Response: Fault> + Clone,
        Request: Outgoing,
        C: Copies<Request> + Clone,
        K: Setting<S::Response, S::Error> + Clone,
        R: Clock + Sleep + Random + Clone,
        G: Signals<S::Response, S::Error>,
        H: Hedging + Clone,
        P: Plan,
    {
        let own = own.or(self.idempotent);
        let may_repeat = own.unwrap_or_else(|| request.may_repeat(&self.policy));
        let is_read = || request.may_repeat(&self.policy.idempotent(false));
        let is_read = H::IS_ONE && own.unwrap_or_else(is_read);
        let (name, copies) = (self.operation.unwrap_or(name), self.copies.clone());
        let sends = Sends::new(name, service, request, copies, is_read);
        let (settings, runtime) = (self.settings.clone(), self.runtime.clone());
        let (signal, hedge) = (self.signals.signal(), self.hedge.clone());
        let driver = Awaited { signal, hedge };
        Retrying::new(plan(may_repeat), sends, settings, runtime, driver)
    }
}
