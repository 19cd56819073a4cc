//! A request that a policy sends.

use super::{
    copies::{Copies, Source},
    error::ApiError,
    limits::Limits,
    outgoing::Outgoing,
    repeat::Rule,
    reply::Reply,
};
use backoff_core::{
    __private::{IDEMPOTENCY_KEY, has_key, without_conflicts},
    Attempt, Policy, Retrying,
    drive::{ByCodes, Owning, WithAttempt},
};
use reqwest::{Request, Url, header::HeaderValue};
use serde::de::DeserializeOwned;
use std::{
    future::{Future, IntoFuture},
    pin::Pin,
};

/// Sends a request of reqwest by a policy.
///
/// ```no_run
/// use backoff_cloud::{http::{self, SendExt as _}, storage};
///
/// # async fn f() -> Result<(), http::ApiError> {
/// let client = reqwest::Client::new();
/// let object = storage::REQUEST.send(client.get("http://127.0.0.1:8080/a")).bytes().await?;
/// # Ok(()) }
/// ```
pub trait SendExt {
    /// The request, to be sent until it succeeds or the policy ends it. Nothing is sent before the
    /// [`Sending`] is awaited.
    ///
    /// The request is a `RequestBuilder` of reqwest 0.13, and with the feature `reqwest-012` one of
    /// reqwest 0.12 too.
    fn send(&self, request: impl Into<Outgoing>) -> Sending;

    /// A request that `build` makes for each attempt: for a body that is a stream or a multipart form, of which
    /// there are no copies, and for a token or a signature that may expire during the call.
    ///
    /// The first request is built when the [`Sending`] is awaited or asked for a form of the reply, and each other
    /// one just before its attempt. What [may be repeated](Sending#what-may-be-repeated) follows from the first
    /// one, so let them all have the same method and the same headers of this kind. `build` is a
    /// blocking function that waits for nothing, since an async attempt calls it. Where a request can be
    /// made by async code alone, or making it can fail, use [`Policy::retry`] and
    /// [`http::success`](super::success).
    ///
    /// ```no_run
    /// use backoff_cloud::{http::{ApiError, SendExt as _}, plain_http};
    /// use reqwest::{Body, Client};
    /// # fn opened() -> Body { Body::from("") }
    ///
    /// # async fn f(client: Client) -> Result<(), ApiError> {
    /// plain_http::IDEMPOTENT
    ///     // The stream is opened for each attempt.
    ///     .send_with(move || client.put("http://127.0.0.1:8080/a").body(opened()))
    ///     .await?;
    /// # Ok(()) }
    /// ```
    fn send_with<B, R>(&self, build: B) -> Sending
    where
        B: FnMut() -> R + Send + 'static,
        R: Into<Outgoing>;
}

impl SendExt for Policy {
    fn send(&self, request: impl Into<Outgoing>) -> Sending {
        Sending::new(*self, Source::Request(Box::new(request.into())))
    }

    fn send_with<B, R>(&self, mut build: B) -> Sending
    where
        B: FnMut() -> R + Send + 'static,
        R: Into<Outgoing>,
    {
        Sending::new(*self, Source::Build(Box::new(move || build().into())))
    }
}

/// A request and its policy. Made by [`SendExt::send`] and [`SendExt::send_with`].
///
/// First come the methods that say more of the request: [`idempotent`](Self::idempotent),
/// [`idempotent_if`](Self::idempotent_if), [`idempotency_key`](Self::idempotency_key),
/// [`limits`](Self::limits). Then comes what is wanted of the reply: [`json`](Self::json),
/// [`bytes`](Self::bytes), [`text`](Self::text) or [`reply`](Self::reply), which is what an `.await` alone
/// means. That gives a [`Retrying`], whose methods say more of the call: `attempt_timeout`, `timeout`,
/// `notify`, `budget`, `until`, `reported`.
///
/// ```no_run
/// use backoff_cloud::{http::{self, Limits, SendExt as _}, plain_http};
/// use std::time::Duration;
///
/// # async fn f() -> Result<(), http::ApiError> {
/// let client = reqwest::Client::new();
/// let page = plain_http::IDEMPOTENT
///     .send(client.get("http://127.0.0.1:8080/list"))
///     .limits(Limits::new().body(1 << 20))
///     .text()
///     .attempt_timeout(Duration::from_secs(10))
///     .timeout(Duration::from_secs(60))
///     .notify(|event| println!("{event}"))
///     .await?;
/// # Ok(()) }
/// ```
///
/// # What may be repeated
///
/// The first line that applies decides.
///
/// | | may be made twice |
/// |---|---|
/// | [`.idempotent(..)`](Self::idempotent), [`.idempotent_if(..)`](Self::idempotent_if) | as said, whatever the policy says |
/// | [`.idempotency_key()`](Self::idempotency_key) | yes, whatever the policy says |
/// | a policy with [`idempotent(false)`](Policy::idempotent) | `GET`, `HEAD`, `OPTIONS`, `TRACE`, `QUERY`, which change nothing |
/// | a method of [`plain_http::for_method`](crate::plain_http::for_method): `GET`, `HEAD`, `OPTIONS`, `TRACE`, `QUERY`, `PUT`, `DELETE` | yes ([RFC 9110](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2), section 9.2.2) |
/// | the header `Idempotency-Key`, if it is not empty | yes |
/// | a precondition that no longer holds once the write was applied: `If-Match` with an etag, `If-None-Match: *` | yes |
/// | everything else | no |
///
/// What may not be made twice is repeated only after a failure that surely did nothing, as a policy with
/// [`idempotent(false)`](Policy::idempotent) has it: a connection that was refused, 429, a throttled
/// request of AWS. After a 503 or a lost reply the call ends.
///
/// Other preconditions do not count: `If-Match: *` and `If-Unmodified-Since` can still hold after the write.
/// Google's (`ifGenerationMatch`, `x-goog-if-generation-match`) are read by [`storage::send`](crate::storage::send)
/// alone, by the rule [`storage::is_idempotent`](crate::storage::is_idempotent), because not every operation
/// of Cloud Storage obeys each of them.
///
/// Some services have methods that are less than they say. Write `.idempotent(false)` for a `PUT` that appends
/// (Azure's `comp=appendblock`) or makes something new each time (`comp=snapshot`), and for a `GET` that
/// writes (AWS' Query API, `?Action=SendMessage`).
///
/// # What the reply to a repeated request says
///
/// The first attempt may have been applied, and its reply lost. Then the server answers the second one:
///
/// | request | reply to the second attempt |
/// |---|---|
/// | `DELETE` | 404 or 410: the first one has deleted it |
/// | a write with `If-Match` | 412: the first one has changed the etag |
/// | a create with `If-None-Match: *` | 412: the first one has created it |
/// | a `POST` with a key, whose first attempt still runs | 409, from most servers |
///
/// None of them is repeated. Each of them may be the work of somebody else, or that of this call: read what
/// the server has now. In the closure of [`Policy::retry_with`], [`Attempt::maybe_applied`] says whether an
/// earlier attempt can have done it at all.
///
/// A policy with [`retry_conflicts`](Policy::retry_conflicts), such as
/// [`storage::READ_MODIFY_WRITE`](crate::storage::READ_MODIFY_WRITE), is for a whole read-modify-write. The same
/// request would fail for ever, so here such a policy does not repeat a conflict: 409, 412, `ABORTED`,
/// `FAILED_PRECONDITION`, and what its [code](ApiError::service_code) calls one. Use
/// [`update`](Policy::update), which reads again.
///
/// # What is sent
///
/// Each attempt sends a copy of the request. A body that cannot be copied, a stream or a multipart form, is
/// refused before anything is sent, unless the policy makes one attempt only: with
/// [`send_with`](SendExt::send_with) the request is built for each attempt, and has such a body each time. What
/// reqwest refused while a request was built (a URL, a header) is the error too, and nothing is sent.
///
/// All copies have the same headers. A token or a signature that expires during the call needs a request
/// of its own in each attempt, by `send_with`, or where one must wait for the token, by
/// `policy.retry(async || http::json(client.get(url).bearer_auth(token().await?).send().await?).await)`.
///
/// reqwest waits without a limit for a server that takes a request and does not answer. Say how long one
/// attempt may take, by `.attempt_timeout(..)` after `.json()` or by `.timeout(..)` on the request or its client.
///
/// # What counts as an error
///
/// Every status that is not 2xx. A `GET` with `If-None-Match` that finds nothing new ends as an [`ApiError`]
/// with the [status](ApiError::status) 304. An error inside a 200 is found by [`json`](Self::json) alone; where
/// there is nothing to read, write `.json::<()>()`.
///
/// A response that redirects is followed as the client has it; one that is not followed is an
/// [`ApiError`] with its headers, as a 308 without `Location` is.
///
/// **After a redirect nobody can tell what became of the first request.** A `POST` that is applied and answered
/// with 301, 302 or 303 is followed by a `GET` of another URL. If that one is answered with 429, this says
/// nothing of the `POST`. So an error from another URL than that of the request counts as
/// [`MaybeSent`](crate::Delivery::MaybeSent), and a request that must not be made twice is not repeated. A
/// connection that fails after the redirect, and a redirect to the same URL, cannot be told apart from failures
/// of the request itself. For a request that must not be made twice, build the client with
/// `redirect::Policy::none()`.
///
/// # Panics
///
/// When a wait is needed and no tokio runtime with a timer (`enable_time` of tokio's `Builder`) is running: before
/// another attempt, or for a body that has not yet arrived.
#[must_use = "nothing is sent until it is awaited"]
pub struct Sending {
    policy: Policy,
    source: Source,
    limits: Limits,
    rule: Rule,
    adds_key: bool,
}

/// A request that is being sent, and sent again: a future of the value that was asked for. Before it is
/// awaited, the methods of [`Retrying`] say more of the call. It has a name, holds a copy of its policy and
/// is `Send`, so it can be stored, spawned and joined.
///
/// ```no_run
/// use backoff_cloud::{http::{ApiError, SendExt as _, Sent}, plain_http};
///
/// fn page(client: &reqwest::Client, url: &str) -> Sent<String> {
///     plain_http::IDEMPOTENT.send(client.get(url)).text()
/// }
///
/// # async fn f() -> Result<(), ApiError> {
/// let client = reqwest::Client::new();
/// let page = tokio::spawn(page(&client, "http://127.0.0.1:8080/")).await.unwrap()?;
/// # Ok(()) }
/// ```
pub type Sent<T> = Retrying<'static, WithAttempt<Attempts<T>>, Owning<ByCodes>>;

/// Sends one attempt of a [`Sent`] request each time that it is called.
pub type Attempts<T> =
    Box<dyn FnMut(Attempt) -> Pin<Box<dyn Future<Output = Result<T, ApiError>> + Send>> + Send>;

impl Sending {
    fn new(policy: Policy, source: Source) -> Self {
        Sending {
            policy,
            source,
            limits: Limits::new(),
            rule: Rule::ByRequest,
            adds_key: false,
        }
    }

    /// Whether the request may be made twice, in the caller's word: it counts before the policy and before
    /// what the request says. The last one of this and [`idempotent_if`](Self::idempotent_if) holds.
    ///
    /// ```no_run
    /// # use backoff_cloud::{http::{self, SendExt as _}, plain_http};
    /// # async fn f(client: reqwest::Client) -> Result<(), http::ApiError> {
    /// // A search, although it is a `POST`.
    /// let search = client.post("http://127.0.0.1:8080/search").body("{}");
    /// let found: serde_json::Value =
    ///     plain_http::IDEMPOTENT.send(search).idempotent(true).json().await?;
    /// # Ok(()) }
    /// ```
    pub fn idempotent(mut self, idempotent: bool) -> Self {
        self.rule = Rule::Said(idempotent);
        self
    }

    /// Has this function say whether the request may be made twice, such as
    /// [`storage::is_idempotent`](crate::storage::is_idempotent). Its word counts before the policy and
    /// before what the request says.
    ///
    /// ```no_run
    /// # use backoff_cloud::{http::{self, SendExt as _}, storage};
    /// # async fn f(client: reqwest::Client) -> Result<(), http::ApiError> {
    /// let delete = client.delete("https://storage.googleapis.com/storage/v1/b/b/o/o?ifGenerationMatch=7");
    /// storage::REQUEST.send(delete).idempotent_if(storage::is_idempotent).await?;
    /// # Ok(()) }
    /// ```
    pub fn idempotent_if(mut self, rule: fn(&Request) -> bool) -> Self {
        self.rule = Rule::By(rule);
        self
    }

    /// Adds the header `Idempotency-Key` with the [id](Attempt::id) of the call, a random UUID: the same in
    /// all attempts, another one in each call. So the request may be made twice, unless
    /// [`idempotent`](Self::idempotent) or [`idempotent_if`](Self::idempotent_if) says otherwise. A key
    /// that the request has already is left as it is, unless that key is empty.
    ///
    /// The server has to know the header, as Stripe and others do. Google's JSON APIs do not: they take a
    /// `requestId` in the query or in the body ([AIP-155](https://google.aip.dev/155)).
    ///
    /// ```no_run
    /// # use backoff_cloud::{http::{self, SendExt as _}, plain_http};
    /// # async fn f(client: reqwest::Client) -> Result<(), http::ApiError> {
    /// let order = client.post("http://127.0.0.1:8080/orders").body("{}");
    /// plain_http::IDEMPOTENT.send(order).idempotency_key().await?;
    /// # Ok(()) }
    /// ```
    pub fn idempotency_key(mut self) -> Self {
        self.adds_key = true;
        self
    }

    /// Reads replies within these limits. Unless this is called, within [`Limits::new`].
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The JSON body of the reply as a value. An empty body is `None` for an `Option`, and `()` for a unit:
    /// see [`http::json`](super::json).
    ///
    /// ```no_run
    /// # use backoff_cloud::{http::{self, SendExt as _}, memorystore};
    /// # async fn f(client: reqwest::Client) -> Result<(), http::ApiError> {
    /// let url = "http://127.0.0.1:8080/v1/x";
    /// let instance: serde_json::Value = memorystore::REQUEST.send(client.get(url)).json().await?;
    /// memorystore::REQUEST.send(client.delete(url)).json::<()>().await?;
    /// # Ok(()) }
    /// ```
    pub fn json<T: DeserializeOwned + 'static>(self) -> Sent<T> {
        self.read(|reply| reply.json())
    }

    /// The bytes of the reply's body.
    ///
    /// ```no_run
    /// # use backoff_cloud::{http::{self, SendExt as _}, storage};
    /// # async fn f(client: reqwest::Client) -> Result<(), http::ApiError> {
    /// let url = "https://storage.googleapis.com/storage/v1/b/b/o/o?alt=media";
    /// let object: Vec<u8> = storage::REQUEST.send(client.get(url)).bytes().await?;
    /// # Ok(()) }
    /// ```
    pub fn bytes(self) -> Sent<Vec<u8>> {
        self.read(|reply| Ok(reply.into_body()))
    }

    /// The reply's body as a text: see [`Reply::text`].
    pub fn text(self) -> Sent<String> {
        self.read(|reply| Ok(reply.text()))
    }

    /// The whole reply. `.await` alone does the same; this is for more to be said of the call.
    ///
    /// ```no_run
    /// # use backoff_cloud::{http::{self, SendExt as _}, memorystore};
    /// # use std::time::Duration;
    /// # async fn f(client: reqwest::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let delete = client.delete("http://127.0.0.1:8080/v1/x");
    /// let deleting = memorystore::REQUEST.send(delete).reply();
    /// let (reply, report) = deleting.timeout(Duration::from_secs(60)).reported().await?;
    /// println!("{} after {} attempts", reply.status(), report.attempts);
    /// # Ok(()) }
    /// ```
    pub fn reply(self) -> Sent<Reply> {
        self.read(Ok)
    }

    fn read<T: 'static>(self, read: fn(Reply) -> Result<T, ApiError>) -> Sent<T> {
        let (limits, adds_key) = (self.limits, self.adds_key);
        let (policy, mut copies) = self.prepared();
        let is_careful = policy == policy.idempotent(false);
        let attempts: Attempts<T> = Box::new(move |attempt| {
            let next = copies.next();
            Box::pin(async move {
                let mut request = next?;
                if adds_key && !has_key(request.headers()) {
                    let id = attempt.id().to_string();
                    let id = HeaderValue::try_from(id).expect("a UUID is visible ASCII");
                    request.headers_mut().insert(IDEMPOTENCY_KEY, id);
                }
                let asked = is_careful.then(|| request.url().clone());
                let response = request.send().await?;
                let is_elsewhere = asked.is_some_and(|asked| !is_same(asked, response.url()));
                let outcome = limits.reply(response).await.and_then(read);
                outcome.map_err(|error| match is_elsewhere {
                    true => error.elsewhere(),
                    false => error,
                })
            })
        });
        policy.retry_with(attempts).owned()
    }

    /// The policy for this request, and the request, or what is wrong with it.
    fn prepared(self) -> (Policy, Copies) {
        let rule = match self.rule {
            Rule::ByRequest if self.adds_key => Rule::ByKey,
            rule => rule,
        };
        let (request, build) = match self.source.begun() {
            Ok(begun) => begun,
            // The error's text has no secrets of the URL.
            Err(error) => return (self.policy, Copies::Refused(error.to_string())),
        };
        let policy = without_conflicts(rule.policy(self.policy, &request));
        let is_once = policy.schedule().next().is_none();
        (policy, Copies::of(request, build, is_once))
    }
}

/// Whether a response came from the URL that was asked for. Neither the fragment nor the user and the
/// password are sent in a URL.
fn is_same(mut asked: Url, answered: &Url) -> bool {
    let mut answered = answered.clone();
    for url in [&mut asked, &mut answered] {
        url.set_fragment(None);
        // These fail where a URL can have neither.
        let _ = url.set_username("");
        let _ = url.set_password(None);
    }
    asked == answered
}

/// The whole reply, as [`Sending::reply`].
impl IntoFuture for Sending {
    type Output = Result<Reply, ApiError>;
    type IntoFuture = Sent<Reply>;

    fn into_future(self) -> Sent<Reply> {
        self.reply()
    }
}
