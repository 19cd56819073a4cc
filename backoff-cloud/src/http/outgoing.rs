//! A request of reqwest 0.13 or 0.12, with the client that sends it.

use super::{error::ApiError, limits::Limits};
use reqwest::{Client, Method, Request, RequestBuilder, Response, Url, header::HeaderMap};
use std::{future::Future, pin::Pin};

/// A request from a builder of reqwest 0.13, or with the feature `reqwest-012` of reqwest 0.12.
///
/// ```no_run
/// use backoff_cloud::http::Outgoing;
///
/// let client = reqwest::Client::new();
/// let request: Outgoing = client.get("http://127.0.0.1:8080/").into();
/// ```
#[must_use = "nothing is sent until it is awaited"]
pub struct Outgoing(Result<Box<Built>, ApiError>);

impl Outgoing {
    /// The request, or the error of the builder.
    pub(super) fn built(self) -> Result<Box<Built>, ApiError> {
        self.0
    }
}

/// What `send` takes: an [`Outgoing`], or a builder that becomes one. Implemented for the `RequestBuilder` of reqwest
/// 0.13, and with the feature `reqwest-012` for that of reqwest 0.12.
///
/// ```no_run
/// use backoff_cloud::http::{ApiError, IntoOutgoing, Reply, SendExt as _};
/// use backoff_cloud::plain_http::BY_METHOD;
///
/// async fn fetch(request: impl IntoOutgoing) -> Result<Reply, ApiError> {
///     BY_METHOD.send(request).await
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be sent: `http` takes a `RequestBuilder` of reqwest 0.13",
    label = "not a request of reqwest 0.13",
    note = "for reqwest 0.12 turn on the feature `reqwest-012` of `backoff-cloud`"
)]
pub trait IntoOutgoing {
    /// The request with its client.
    fn into_outgoing(self) -> Outgoing;
}

impl IntoOutgoing for Outgoing {
    fn into_outgoing(self) -> Outgoing {
        self
    }
}

impl IntoOutgoing for RequestBuilder {
    fn into_outgoing(self) -> Outgoing {
        self.into()
    }
}

#[cfg(feature = "reqwest-012")]
impl IntoOutgoing for reqwest_012::RequestBuilder {
    fn into_outgoing(self) -> Outgoing {
        self.into()
    }
}

impl From<RequestBuilder> for Outgoing {
    fn from(builder: RequestBuilder) -> Self {
        let (client, request) = builder.build_split();
        let built = request.map(|request| Box::new(Built::New(client, request)));
        Outgoing(built.map_err(ApiError::from))
    }
}

#[cfg(feature = "reqwest-012")]
impl From<reqwest_012::RequestBuilder> for Outgoing {
    fn from(builder: reqwest_012::RequestBuilder) -> Self {
        let (client, request) = builder.build_split();
        let built = request.map(|request| Box::new(Built::Old(client, request)));
        Outgoing(built.map_err(ApiError::from))
    }
}

/// A request and its client.
pub(super) enum Built {
    New(Client, Request),
    #[cfg(feature = "reqwest-012")]
    Old(reqwest_012::Client, reqwest_012::Request),
}

/// The same expression for a request of either version.
macro_rules! of_any_version {
    ($built:expr, $request:ident => $of:expr) => {
        match $built {
            Built::New(_, $request) => $of,
            #[cfg(feature = "reqwest-012")]
            Built::Old(_, $request) => $of,
        }
    };
}

impl Built {
    /// Whether [`copy`](Self::copy) makes a copy. A whole copy takes 2,600 instructions.
    pub(super) fn can_be_copied(&self) -> bool {
        of_any_version!(self, request => {
            let body = request.body();
            body.is_none_or(|body| body.as_bytes().is_some())
        })
    }

    /// A copy of the request; `None` if its body is a stream.
    pub(super) fn copy(&self) -> Option<Self> {
        Some(match self {
            Built::New(client, request) => Built::New(client.clone(), request.try_clone()?),
            #[cfg(feature = "reqwest-012")]
            Built::Old(client, request) => Built::Old(client.clone(), request.try_clone()?),
        })
    }

    pub(super) fn method(&self) -> &Method {
        of_any_version!(self, request => request.method())
    }

    pub(super) fn url(&self) -> &Url {
        of_any_version!(self, request => request.url())
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        of_any_version!(self, request => request.headers())
    }

    pub(super) fn headers_mut(&mut self) -> &mut HeaderMap {
        of_any_version!(self, request => request.headers_mut())
    }

    /// The result of a rule of the caller for this request. For version 0.12 the body is copied.
    pub(super) fn judged(&self, rule: fn(&Request) -> bool) -> bool {
        match self {
            Built::New(_, request) => rule(request),
            #[cfg(feature = "reqwest-012")]
            Built::Old(_, request) => rule(&old::shown(request)),
        }
    }

    /// Sends the request, and reads its response.
    pub(super) fn sent<T, F>(
        self,
        limits: Limits,
        read: impl FnOnce(Response) -> F + Send + 'static,
    ) -> Sent<T>
    where
        F: Future<Output = Result<T, ApiError>> + Send + 'static,
    {
        match self {
            Built::New(client, request) => {
                let response = limits.head(client.execute(request));
                Box::pin(async move { read(response.await?).await })
            }
            #[cfg(feature = "reqwest-012")]
            Built::Old(client, request) => {
                let response = limits.head(client.execute(request));
                Box::pin(async move { read(old::newer(response.await?)).await })
            }
        }
    }
}

/// A request that was sent.
pub(super) type Sent<T> = Pin<Box<dyn Future<Output = Result<T, ApiError>> + Send>>;

/// Converts version 0.12 to 0.13. Both use the types of the crates `http` and `url`.
#[cfg(feature = "reqwest-012")]
mod old {
    use reqwest::{Body, Request, Response, ResponseBuilderExt as _};

    /// The request for a rule: the body is copied unless it is a stream.
    pub(super) fn shown(request: &reqwest_012::Request) -> Request {
        let (method, url) = (request.method().clone(), request.url().clone());
        let mut shown = Request::new(method, url);
        request.headers().clone_into(shown.headers_mut());
        let body = request.body().and_then(reqwest_012::Body::as_bytes);
        *shown.body_mut() = body.map(|bytes| bytes.to_vec().into());
        shown
    }

    /// The response. Its body still comes from the same connection.
    pub(super) fn newer(response: reqwest_012::Response) -> Response {
        let newer = http_1::Response::builder().url(response.url().clone());
        let (parts, body) = http_1::Response::from(response).into_parts();
        let newer = newer.status(parts.status).version(parts.version);
        let newer = newer.body(Body::wrap(body));
        let mut newer = newer.expect("the parts are those of a response");
        *newer.headers_mut() = parts.headers;
        newer.into()
    }
}
