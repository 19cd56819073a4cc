//! How much of a reply is read, and for how long.

use super::{
    body::BodyFacts,
    error::{ApiError, Cut, ERROR_BODY, Head},
    headers,
    own::Own,
    reply::Reply,
};
use reqwest::{
    Response, Version,
    header::{CONTENT_LENGTH, TRANSFER_ENCODING},
};
use serde::de::DeserializeOwned;
use std::{
    future::{Future, poll_fn},
    ops::Deref,
    pin::pin,
    task::Poll,
    time::{Duration, SystemTime},
};
use tokio::time::timeout;

/// The capacity for the first bytes of a body of unknown length.
const FIRST: usize = 64 << 10;

/// What is too long, for an error.
const BODY: &str = "the body of the reply";

/// How much of a reply is read, and for how long. The limits protect clients from a server that would fill
/// their memory or keep them waiting. They count bytes after decompression.
///
/// | limit | setter | default |
/// |---|---|---|
/// | time from the beginning of an attempt to the head of its reply | [`head_timeout`](Self::head_timeout) | 10 min |
/// | bytes of the body of an error | [`error_body`](Self::error_body) | 64 KiB |
/// | time for the body of an error | [`error_body_time`](Self::error_body_time) | 5 s |
/// | bytes of the whole body of a success, or of one [event](super::Events) of a stream | [`body`](Self::body) | 64 MiB |
/// | time between two chunks of the body of a success | [`read_timeout`](Self::read_timeout) | 30 s |
///
/// An error whose body passes a limit keeps its status and the hints of its headers, and shows the beginning
/// of the body. A success whose body is too long is a permanent error. A reply that does not begin in time,
/// or pauses too long, is a failure of the transport, and the request may have been applied. The bytes of a
/// body take at most one and a half times the limit in memory; a value that is made from them may take more.
///
/// `head_timeout` counts where this library sends the request: in [`send`](super::SendExt::send), and in the
/// requests of `iam::Rest`. The other limits begin when the head of the reply has arrived. A server that
/// sends its body very slowly does not reach `read_timeout`, neither here nor in reqwest. The keys
/// `attempt_timeout` and `timeout` of `#[retry]`, and the [methods](backoff_core::Retrying::timeout) of these
/// names, limit the time of one attempt and of the whole call.
///
/// ```no_run
/// use backoff_cloud::{http, memorystore};
/// use std::time::Duration;
///
/// const LIMITS: http::Limits = http::Limits::new()
///     .body(1 << 30)
///     .error_body_time(Duration::from_secs(1));
///
/// # async fn f() -> Result<(), http::ApiError> {
/// let client = reqwest::Client::new();
/// let list: serde_json::Value = memorystore::REQUEST
///     .retry(async || LIMITS.json(client.get("http://127.0.0.1:8080/v1/x").send().await?).await)
///     .await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "limits do nothing until their `check`, `json`, `open`, `reply` or `success` is called"]
pub struct Limits {
    head_timeout: Duration,
    error_body: usize,
    error_body_time: Duration,
    pub(super) body: usize,
    read_timeout: Duration,
}

impl Limits {
    /// The defaults: 10 minutes for the head of a reply, 64 KiB and 5 s for the body of an error, 64 MiB and a
    /// pause of 30 s for the body of a success.
    pub const fn new() -> Self {
        Limits {
            head_timeout: Duration::from_secs(600),
            error_body: ERROR_BODY,
            error_body_time: Duration::from_secs(5),
            body: 64 << 20,
            read_timeout: Duration::from_secs(30),
        }
    }

    /// How long to wait for the head of a reply, from the beginning of the attempt. The default is 10
    /// minutes, longer than the slowest request of a service that works. Without this limit a server that accepts
    /// the connection and says nothing would hold the call for ever, because reqwest has no limit of its
    /// own and a deadline does not cut an attempt. A reply that is too late is a failure of the transport
    /// with [`Delivery::MaybeSent`](crate::Delivery::MaybeSent).
    ///
    /// The timer is made only if the reply is not there at once. A paused clock of tokio jumps to the end of
    /// this time while a real server works on the request; `backoff_core::testing` has a clock for tests
    /// that does not.
    ///
    /// ```no_run
    /// # use backoff_cloud::{http::{ApiError, Limits, SendExt as _}, plain_http};
    /// # use std::time::Duration;
    /// # async fn f(client: reqwest::Client, url: &str) -> Result<(), ApiError> {
    /// let quick = Limits::new().head_timeout(Duration::from_secs(10));
    /// let page = plain_http::IDEMPOTENT.send(client.get(url)).limits(quick).text().await?;
    /// # Ok(()) }
    /// ```
    pub const fn head_timeout(mut self, time: Duration) -> Self {
        self.head_timeout = time;
        self
    }

    /// How many bytes of the body of an error are read. The default is 64 KiB: an error of a service has a
    /// few hundred bytes, and the page of a proxy some thousand.
    pub const fn error_body(mut self, bytes: usize) -> Self {
        self.error_body = bytes;
        self
    }

    /// For how long the body of an error is read. The default is 5 s: normally the body follows its status
    /// at once. The status decides about the next attempt even without a body, and the deadline does not
    /// end the call while the body is read. So the time is much shorter than a deadline, but long enough
    /// for a lost packet to be sent again.
    pub const fn error_body_time(mut self, time: Duration) -> Self {
        self.error_body_time = time;
        self
    }

    /// How many bytes the body of a success may have. The default is 64 MiB. An [open reply](super::OpenReply) has no such
    /// limit, because its caller keeps what it wants of the body. Of its [events](super::Events), each may have so many
    /// bytes.
    pub const fn body(mut self, bytes: usize) -> Self {
        self.body = bytes;
        self
    }

    /// How long to wait for the next chunk of the body of a success. The default is 30 s. A chunk is the
    /// data that arrives at one time, so a long body may take any time while it keeps arriving. A body that
    /// pauses longer is a failure of the transport with
    /// [`Delivery::MaybeSent`](crate::Delivery::MaybeSent), because the server has said that the request
    /// succeeded.
    ///
    /// reqwest's `read_timeout` on a client or a request does the same, and begins with the head of the
    /// reply; the shorter one of the two counts. Neither of them limits the whole call. The key and the
    /// [method](backoff_core::Retrying::timeout) `timeout` do.
    pub const fn read_timeout(mut self, time: Duration) -> Self {
        self.read_timeout = time;
        self
    }

    /// The same as [`http::json`](super::json), within these limits.
    ///
    /// # Errors
    /// The errors of [`http::json`](super::json).
    ///
    /// # Panics
    /// If the body does not arrive at once and the runtime has no timer (`enable_time` of tokio's
    /// `Builder`).
    pub async fn json<T: DeserializeOwned>(self, response: Response) -> Result<T, ApiError> {
        self.reply(response).await?.json()
    }

    /// The same as [`success`](Self::success), with the status and the headers of the reply.
    ///
    /// ```no_run
    /// use backoff_cloud::http::{ApiError, Limits};
    ///
    /// # async fn f() -> Result<(), ApiError> {
    /// let response = reqwest::get("http://127.0.0.1:8080/v1/x").await?;
    /// let reply = Limits::new().body(1 << 20).reply(response).await?;
    /// println!("{} {:?}", reply.status(), reply.header("etag"));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The errors of [`http::success`](super::success).
    ///
    /// # Panics
    /// The panics of [`json`](Self::json).
    pub async fn reply(self, mut response: Response) -> Result<Reply, ApiError> {
        self.checked(&mut response).await?;
        Ok(Reply {
            status: response.status().as_u16(),
            says_end: says_where_it_ends(&response),
            headers: headers::marked(std::mem::take(response.headers_mut())),
            body: self.whole(&mut response).await?,
            error_body: self.error_body,
            finds_errors: false,
        })
    }

    /// The same as [`http::success`](super::success), within these limits.
    ///
    /// # Errors
    /// The errors of [`http::success`](super::success).
    ///
    /// # Panics
    /// The panics of [`json`](Self::json).
    pub async fn success(self, mut response: Response) -> Result<Vec<u8>, ApiError> {
        self.checked(&mut response).await?;
        self.whole(&mut response).await
    }

    /// The same as [`http::check`](super::check), within these limits.
    ///
    /// # Errors
    /// The errors of [`http::check`](super::check).
    ///
    /// # Panics
    /// The panics of [`json`](Self::json).
    pub async fn check(self, mut response: Response) -> Result<Response, ApiError> {
        self.checked(&mut response).await?;
        Ok(response)
    }

    /// The response, if its head arrives in time.
    pub(crate) async fn head<R, E>(
        self,
        response: impl Future<Output = Result<R, E>>,
    ) -> Result<R, ApiError>
    where
        ApiError: From<E>,
    {
        let arrived = within(self.head_timeout, response).await;
        Ok(arrived.ok_or_else(|| Own::no_head(self.head_timeout))??)
    }

    /// The error of a response, if its status is not a success.
    pub(super) async fn checked(self, response: &mut Response) -> Result<(), ApiError> {
        #[cfg(feature = "rate")]
        backoff_core::__private::observe_reply(response.headers());
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let head = Head::of(status.as_u16(), response.headers(), SystemTime::now());
        let mut body = Vec::new();
        let reading = beginning(response, self.error_body, &mut body);
        let cut = match within(self.error_body_time, reading).await {
            None => Some(Cut::Stalled(self.error_body_time)),
            Some(cut) => cut,
        };
        let facts = BodyFacts::read(&body);
        Err(ApiError::reply(status.as_u16(), head, facts, cut))
    }

    /// The whole body.
    async fn whole(self, response: &mut Response) -> Result<Vec<u8>, ApiError> {
        let limit = self.body;
        let announced = response.content_length().unwrap_or(0);
        let announced = usize::try_from(announced).unwrap_or(usize::MAX);
        if announced > limit {
            return Err(Own::too_long(BODY, limit).into());
        }
        // A server can claim any length, so memory is allocated as the bytes arrive.
        let mut body = Vec::with_capacity(announced.min(FIRST));
        loop {
            let Some(chunk) = self.chunk(response).await? else {
                return Ok(body);
            };
            if chunk.len() > limit - body.len() {
                return Err(Own::too_long(BODY, limit).into());
            }
            let needed = body.len() + chunk.len();
            if needed > body.capacity() {
                // The capacity doubles, but not beyond the limit.
                let capacity = body.capacity().saturating_mul(2).min(limit).max(needed);
                body.reserve_exact(capacity - body.len());
            }
            body.extend_from_slice(&chunk);
        }
    }

    /// The next bytes of the body of a success.
    pub(super) async fn chunk(
        self,
        response: &mut Response,
    ) -> Result<Option<impl Deref<Target = [u8]> + use<>>, ApiError> {
        let chunk = within(self.read_timeout, chunk(response)).await;
        let chunk = chunk.ok_or_else(|| Own::stalled(self.read_timeout))?;
        chunk.map_err(ApiError::of_body)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::new()
    }
}

/// Reads at most `limit` bytes, and returns why it stopped before the end.
async fn beginning(response: &mut Response, limit: usize, body: &mut Vec<u8>) -> Option<Cut> {
    loop {
        match chunk(response).await {
            Ok(None) => return None,
            Ok(Some(chunk)) => {
                let room = limit - body.len();
                body.extend_from_slice(&chunk[..chunk.len().min(room)]);
                if chunk.len() > room {
                    return Some(Cut::TooLong(limit));
                }
            }
            Err(error) => return Some(error.into()),
        }
    }
}

/// Whether the client would notice a body that ends too early. Only HTTP/1 has bodies that end when the
/// connection ends.
fn says_where_it_ends(response: &Response) -> bool {
    let headers = response.headers();
    response.version() > Version::HTTP_11
        || response.status() == 204
        || headers.contains_key(CONTENT_LENGTH)
        || headers.contains_key(TRANSFER_ENCODING)
}

/// The next bytes of the body. An error names the URL, as reqwest's other errors do.
async fn chunk(
    response: &mut Response,
) -> Result<Option<impl Deref<Target = [u8]> + use<>>, reqwest::Error> {
    let chunk = response.chunk().await;
    chunk.map_err(|error| error.with_url(response.url().clone()))
}

/// The output of a future, if it is ready in time. A future that is ready at once needs no timer.
async fn within<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    match poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await {
        Poll::Ready(output) => Some(output),
        Poll::Pending => timeout(limit, future).await.ok(),
    }
}
