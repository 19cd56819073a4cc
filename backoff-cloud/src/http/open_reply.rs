//! The reply to a request that succeeded, before its body is read.

use super::{error::ApiError, headers, limits::Limits};
use reqwest::{Response, header::HeaderMap};
use std::{fmt, mem};

/// The reply to a request that succeeded, whose body is read piece by piece: an answer that a model writes while it
/// thinks, a watch, a long download. Made by [`Sending::open`](super::Sending::open) and [`Limits::open`].
/// [`events`](Self::events) reads server-sent events.
///
/// Nothing is retried any more: the caller may have used a part of the body. After an error of
/// [`chunk`](Self::chunk) or [`Events::next`](super::Events::next) continue behind the last message with [`resuming`](backoff_core::Policy::resuming), as [the
/// guide](crate::guide::polling_pages_streams#a-watch-or-a-stream) shows, or repeat the whole call as
/// [`Limits::open`] shows.
///
/// Dropping the reply closes the stream: with HTTP/1 the connection, with HTTP/2 this stream of the connection.
/// `Debug` shows no header.
///
/// ```no_run
/// use backoff_cloud::{http::SendExt as _, plain_http};
/// use std::io::{self, Write as _};
///
/// # async fn f(client: reqwest::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let mut reply = plain_http::BY_METHOD.send(client.get("http://127.0.0.1:8080/log")).open().await?;
/// println!("{} {:?}", reply.status(), reply.header("content-type"));
/// while let Some(bytes) = reply.chunk().await? {
///     io::stdout().write_all(&bytes)?;
/// }
/// # Ok(()) }
/// ```
pub struct OpenReply {
    response: Response,
    pub(super) limits: Limits,
}

impl Limits {
    /// The open reply, whose body the caller reads piece by piece, if the status is a success; otherwise the error of the
    /// reply. For a function that `#[retry]` repeats as a whole: a send of a policy there would have retries inside
    /// retries.
    ///
    /// ```no_run
    /// use backoff_cloud::{http::{ApiError, Limits}, openai, retry};
    /// # fn question(client: &reqwest::Client) -> reqwest::RequestBuilder { client.post("http://127.0.0.1:8080/") }
    ///
    /// /// Begins anew if the stream breaks, or if an event reports a failure that may pass.
    /// #[retry(policy = openai::REQUEST)]
    /// async fn answer(client: &reqwest::Client) -> Result<String, ApiError> {
    ///     let mut events = Limits::new().open(question(client).send().await?).await?.events();
    ///     let mut answer = String::new();
    ///     while let Some(event) = events.next().await? {
    ///         if let Some(kind) = openai::event_kind(&event) {
    ///             return Err(event.to_error(kind));
    ///         }
    ///         if openai::ends_stream(&event) {
    ///             return Ok(answer);
    ///         }
    ///         answer += event.data();
    ///     }
    ///     Err(ApiError::ended_early())
    /// }
    /// ```
    ///
    /// # Errors
    /// The errors of [`http::check`](super::check).
    ///
    /// # Panics
    /// The panics of [`json`](Self::json).
    pub async fn open(self, mut response: Response) -> Result<OpenReply, ApiError> {
        self.checked(&mut response).await?;
        Ok(OpenReply::of(response, self))
    }
}

impl OpenReply {
    /// Of a success.
    pub(super) fn of(mut response: Response, limits: Limits) -> Self {
        let marked = headers::marked(mem::take(response.headers_mut()));
        *response.headers_mut() = marked;
        OpenReply { response, limits }
    }

    /// The HTTP status, from 200 to 299.
    ///
    /// ```no_run
    /// # use backoff_cloud::{http::{ApiError, SendExt as _}, plain_http};
    /// # async fn f(get: reqwest::RequestBuilder) -> Result<(), ApiError> {
    /// let reply = plain_http::BY_METHOD.send(get).open().await?;
    /// let is_part = reply.status() == 206;
    /// # Ok(()) }
    /// ```
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// All headers. The `Debug` of the map does not show the values of secret headers such as `Set-Cookie`
    /// and `Location`.
    ///
    /// ```no_run
    /// # use backoff_cloud::{http::{ApiError, SendExt as _}, plain_http};
    /// # async fn f(get: reqwest::RequestBuilder) -> Result<(), ApiError> {
    /// let reply = plain_http::BY_METHOD.send(get).open().await?;
    /// println!("{:?}", reply.headers());
    /// # Ok(()) }
    /// ```
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The first value of a header, if it is visible ASCII text. Upper and lower case of the name are the
    /// same.
    ///
    /// ```no_run
    /// # use backoff_cloud::{http::{ApiError, SendExt as _}, plain_http};
    /// # async fn f(get: reqwest::RequestBuilder) -> Result<(), ApiError> {
    /// let reply = plain_http::BY_METHOD.send(get).open().await?;
    /// let is_stream = reply.header("content-type") == Some("text/event-stream");
    /// # Ok(()) }
    /// ```
    pub fn header(&self, name: &str) -> Option<&str> {
        headers::text(self.headers(), name)
    }

    /// The next bytes of the body, or `None` at its end. A chunk is the data that arrived at one time, after
    /// decompression: a message may come in several chunks, and a chunk may end inside a character.
    ///
    /// The bytes are a `Vec<u8>`, as in [`Reply`](super::Reply): reqwest's `Bytes` is a type of another crate, which
    /// reqwest does not export. The copy costs little beside the network.
    ///
    /// A future that is dropped loses no bytes, so `chunk` can stand in `tokio::select!`. The body may have any number
    /// of bytes: [`Limits::body`] does not count here.
    ///
    /// ```no_run
    /// # use backoff_cloud::{http::{ApiError, SendExt as _}, plain_http};
    /// # async fn f(get: reqwest::RequestBuilder) -> Result<(), ApiError> {
    /// let mut reply = plain_http::BY_METHOD.send(get).open().await?;
    /// let mut bytes = 0;
    /// while let Some(chunk) = reply.chunk().await? {
    ///     bytes += chunk.len();
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Both errors are transient, with [`Delivery::MaybeSent`](crate::Delivery::MaybeSent):
    ///
    /// - The stream paused for longer than [`Limits::read_timeout`], 30 s by default. Comments and pings of the server
    ///   count as data. The time between two calls of `chunk` does not count.
    /// - The body ended too early: the connection broke, or ended before the announced length or before the
    ///   last chunk of HTTP. HTTP/1 without `Content-Length` and `Transfer-Encoding` does not say where a body
    ///   ends. There, and for a server that closes in order, look for your protocol's last message, and make
    ///   [`ApiError::ended_early`] of its absence.
    ///
    /// Bytes that cannot be decompressed count as a body that did not arrive. After an error drop the reply.
    ///
    /// # Panics
    /// The panics of [`Limits::json`].
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, ApiError> {
        let chunk = self.limits.chunk(&mut self.response).await?;
        Ok(chunk.map(|chunk| chunk.to_vec()))
    }
}

impl fmt::Debug for OpenReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenReply(HTTP {})", self.status())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backoff_core::{Delivery, Fault as _, FaultKind};
    use http_body_util::BodyExt as _;
    use std::{error::Error, io};

    #[test]
    fn an_open_reply_shows_no_header() {
        let reply = http_1::Response::builder().status(201);
        let reply = reply.header("set-cookie", "SECRET").body("SECRET");
        let reply = OpenReply::of(reply.unwrap().into(), Limits::new());
        assert_eq!(format!("{reply:?}"), "OpenReply(HTTP 201)");
        assert!(!format!("{:?}", reply.headers()).contains("SECRET"));
        assert_eq!(reply.header("Set-Cookie"), Some("SECRET"));
        assert_eq!((reply.status(), reply.headers().len()), (201, 1));
    }

    /// An error of the transport, and one of the program's own layer around the client.
    #[tokio::test]
    async fn only_the_transport_loses_a_body() {
        async fn failed<E: Error + Send + Sync + 'static>(error: fn() -> E) -> ApiError {
            let body = http_body_util::Empty::<&'static [u8]>::new();
            let body = body.map_err(|never| match never {});
            let failing = body.with_trailers(async move { Some(Err(error())) });
            let response = http_1::Response::new(reqwest::Body::wrap(failing));
            let mut reply = OpenReply::of(response.into(), Limits::new());
            reply.chunk().await.expect_err("it fails")
        }
        let lost = failed(|| io::Error::other("reset")).await;
        assert_eq!(
            (lost.delivery(), lost.kind()),
            (Some(Delivery::MaybeSent), None)
        );
        let own = failed(|| fmt::Error).await;
        assert_eq!(
            (own.delivery(), own.kind()),
            (None, Some(FaultKind::Permanent))
        );
    }
}
