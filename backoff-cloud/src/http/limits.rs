//! How much of a reply is read, and for how long.

use super::{
    body::{Said, error_of_success, without_mark},
    error::{ApiError, Cut, ERROR_BODY},
};
use backoff_core::hint;
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

/// For the first bytes of a body of unknown length.
const FIRST: usize = 64 << 10;

/// How much of a reply is read, and for how long, so that no server can fill the memory of its
/// clients or keep them waiting. The limits count bytes after decompression.
///
/// | limit | setter | default |
/// |---|---|---|
/// | bytes of the body of an error | [`error_body`](Self::error_body) | 64 KiB |
/// | time for the body of an error | [`error_body_time`](Self::error_body_time) | 5 s |
/// | bytes of the body of a success | [`body`](Self::body) | 64 MiB |
///
/// An error whose body passes a limit keeps its status and the hints of its headers, and what its body
/// said until then. A success whose body passes the limit is a permanent error. The bytes of a body
/// take memory of at most one and a half times its limit; a value that is made of them may take more.
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
#[must_use = "limits hold where their `json` or `success` is called"]
pub struct Limits {
    error_body: usize,
    error_body_time: Duration,
    body: usize,
}

impl Limits {
    /// The defaults: 64 KiB and 5 s for the body of an error, 64 MiB for the body of a success.
    pub const fn new() -> Self {
        Limits {
            error_body: ERROR_BODY,
            error_body_time: Duration::from_secs(5),
            body: 64 << 20,
        }
    }

    /// How many bytes of the body of an error are read. 64 KiB, unless this is called: what a service
    /// says of an error has a few hundred bytes, and the page of a proxy some thousand.
    pub const fn error_body(mut self, bytes: usize) -> Self {
        self.error_body = bytes;
        self
    }

    /// For how long the body of an error is read. 5 s, unless this is called: the body follows its
    /// status at once where nothing is wrong. The status decides about the next attempt without a
    /// body too, and until then no deadline can end the call. So the time is much shorter than a
    /// deadline, and longer than a lost packet takes to be sent again.
    pub const fn error_body_time(mut self, time: Duration) -> Self {
        self.error_body_time = time;
        self
    }

    /// How many bytes the body of a success may have. 64 MiB, unless this is called.
    pub const fn body(mut self, bytes: usize) -> Self {
        self.body = bytes;
        self
    }

    /// As [`http::json`](super::json), within these limits.
    ///
    /// # Errors
    /// As [`http::json`](super::json).
    ///
    /// # Panics
    /// If the runtime has no timer (`enable_time` of tokio's `Builder`), and the body of an error is
    /// not there at once.
    pub async fn json<T: DeserializeOwned>(self, response: Response) -> Result<T, ApiError> {
        let status = response.status().as_u16();
        let retry_after = hint::in_headers(response.headers(), SystemTime::now());
        let is_whole = says_where_it_ends(&response);
        let body = self.success(response).await?;
        if let Some(said) = error_of_success(&body, self.error_body) {
            let status = said.status().unwrap_or(status);
            return Err(ApiError::reply(status, retry_after, said, None));
        }
        serde_json::from_slice(without_mark(&body))
            .map_err(|error| ApiError::not_json(error, &body, is_whole))
    }

    /// As [`http::success`](super::success), within these limits.
    ///
    /// # Errors
    /// As [`http::success`](super::success).
    ///
    /// # Panics
    /// As [`json`](Self::json).
    pub async fn success(self, mut response: Response) -> Result<Vec<u8>, ApiError> {
        let status = response.status();
        if status.is_success() {
            return self.whole(response).await;
        }
        let retry_after = hint::in_headers(response.headers(), SystemTime::now());
        let mut body = Vec::new();
        let reading = within(
            self.error_body_time,
            beginning(&mut response, self.error_body, &mut body),
        );
        let cut = match reading.await {
            None => Some(Cut::Stalled(self.error_body_time)),
            Some(cut) => cut,
        };
        // A body that was not read to its end closes its connection.
        drop(response);
        let said = Said::read(&body);
        Err(ApiError::reply(status.as_u16(), retry_after, said, cut))
    }

    /// The whole body.
    async fn whole(self, mut response: Response) -> Result<Vec<u8>, ApiError> {
        let limit = self.body;
        let told = response.content_length().unwrap_or(0);
        let told = usize::try_from(told).unwrap_or(usize::MAX);
        if told > limit {
            return Err(ApiError::too_long(limit));
        }
        // A length is easily told: memory is taken as the bytes come.
        let mut body = Vec::with_capacity(told.min(FIRST));
        while let Some(chunk) = chunk(&mut response).await? {
            if chunk.len() > limit - body.len() {
                return Err(ApiError::too_long(limit));
            }
            let needed = body.len() + chunk.len();
            if needed > body.capacity() {
                // Doubled, but not beyond the limit.
                let capacity = body.capacity().saturating_mul(2).min(limit).max(needed);
                body.reserve_exact(capacity - body.len());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::new()
    }
}

/// Reads at most `limit` bytes; why it stopped before the end.
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

/// The next bytes of the body. An error names the URL, as other errors of reqwest do.
async fn chunk(
    response: &mut Response,
) -> Result<Option<impl Deref<Target = [u8]> + use<>>, reqwest::Error> {
    let chunk = response.chunk().await;
    chunk.map_err(|error| error.with_url(response.url().clone()))
}

/// The output of a future that is ready in time. No timer is made for one that is ready at once.
async fn within<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    match poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await {
        Poll::Ready(output) => Some(output),
        Poll::Pending => timeout(limit, future).await.ok(),
    }
}

/// Whether a body that ends too early would have been noticed. Only in HTTP/1 there are bodies that
/// end where the connection ends.
fn says_where_it_ends(response: &Response) -> bool {
    let headers = response.headers();
    response.version() > Version::HTTP_11
        || response.status() == 204
        || headers.contains_key(CONTENT_LENGTH)
        || headers.contains_key(TRANSFER_ENCODING)
}
