//! How a request is copied, so that it can be sent again.

use super::replay::{Replay, read};
use crate::{call::call_state::CallInfo, named_debug::named_in_debug, state::Attempt};
use core::fmt;
use http_1 as http;
use http_body_1::Body;

/// A way to copy requests of the type `Request`: [`Cloned`], [`ClonedBy`] or [`Replaying`].
#[diagnostic::on_unimplemented(
    message = "a request of the type `{Request}` cannot be sent again",
    label = "this layer does not know how to copy `{Request}`",
    note = "give an `http::Request` a body that is `Clone`, such as `http_body_util::Full<Bytes>`",
    note = "or write `.replaying(64 * 1024, Body::new)` for a body whose type is hidden (tonic, axum)",
    note = "or write `.cloned_by(|request: &{Request}| ..)`, which says how to copy it"
)]
pub trait Copies<Request> {
    /// Returns the request, and a copy of it if a copy is possible. Without a copy the request is sent
    /// once.
    fn copy(&self, request: Request) -> (Request, Option<Request>);

    /// Whether requests are changed before their attempts.
    #[doc(hidden)]
    const PREPARES: bool = false;

    /// What the call remembers for its attempts, if requests are changed.
    #[doc(hidden)]
    fn info(&mut self) -> Option<&mut Option<CallInfo>> {
        None
    }

    /// Changes the request of this attempt.
    #[doc(hidden)]
    fn prepare(&self, _attempt: Attempt, _request: &mut Request) {}
}

/// Requests that are copied by `Clone`: `http::Request` with a body that is `Clone`, and the requests
/// of reqwest whose body is not a stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cloned;

// With this, the compiler shows the message above, and not that the body is not `Clone`.
#[diagnostic::do_not_recommend]
impl<B: Clone> Copies<http::Request<B>> for Cloned {
    fn copy(&self, request: http::Request<B>) -> (http::Request<B>, Option<http::Request<B>>) {
        let copy = request.clone();
        (request, Some(copy))
    }
}

macro_rules! of_reqwest {
    ($($feature:literal $reqwest:ident),+) => {
        $(
            #[cfg(feature = $feature)]
            impl Copies<$reqwest::Request> for Cloned {
                fn copy(
                    &self,
                    request: $reqwest::Request,
                ) -> ($reqwest::Request, Option<$reqwest::Request>) {
                    let copy = request.try_clone();
                    (request, copy)
                }
            }
        )+
    };
}

of_reqwest!("reqwest-012" reqwest_012, "reqwest-013" reqwest_013);

/// Requests that a function copies. Made by [`RetryLayer::cloned_by`](super::RetryLayer::cloned_by).
#[derive(Clone, Copy)]
pub struct ClonedBy<F>(pub(super) F);

named_in_debug!(ClonedBy);

impl<Request, F: Fn(&Request) -> Option<Request>> Copies<Request> for ClonedBy<F> {
    fn copy(&self, request: Request) -> (Request, Option<Request>) {
        let copy = (self.0)(&request);
        (request, copy)
    }
}

/// Requests that are copied by `C`, and that a function changes before each attempt. Made by
/// [`RetryLayer::prepare`](super::RetryLayer::prepare).
#[derive(Clone, Copy)]
pub struct Prepared<C, F> {
    pub(super) copies: C,
    pub(super) prepare: F,
    /// Made when the first attempt begins.
    pub(super) info: Option<CallInfo>,
}

named_in_debug!(Prepared<C, F>);

impl<Request, C, F> Copies<Request> for Prepared<C, F>
where
    C: Copies<Request>,
    F: Fn(Attempt, &mut Request),
{
    const PREPARES: bool = true;

    fn copy(&self, request: Request) -> (Request, Option<Request>) {
        self.copies.copy(request)
    }

    fn info(&mut self) -> Option<&mut Option<CallInfo>> {
        Some(&mut self.info)
    }

    fn prepare(&self, attempt: Attempt, request: &mut Request) {
        self.copies.prepare(attempt, request);
        (self.prepare)(attempt, request);
    }
}

/// Requests whose body is read before it is sent, and built anew for each attempt. Made by
/// [`RetryLayer::replaying`](super::RetryLayer::replaying).
#[derive(Clone, Copy)]
pub struct Replaying<F> {
    pub(super) limit: usize,
    pub(super) rebuild: F,
}

impl<F> fmt::Debug for Replaying<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Replaying");
        shown.field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl<B, F> Copies<http::Request<B>> for Replaying<F>
where
    B: Body + Unpin,
    F: Fn(Replay<B>) -> B,
{
    fn copy(&self, request: http::Request<B>) -> (http::Request<B>, Option<http::Request<B>>) {
        let (head, body) = request.into_parts();
        let body = read(body, self.limit);
        let copy = body.copy().map(|body| {
            let body = (self.rebuild)(body);
            http::Request::from_parts(head.clone(), body)
        });
        let body = (self.rebuild)(body);
        (http::Request::from_parts(head, body), copy)
    }
}
