//! Sends a request by a policy.

use super::{
    copies::{Copies, Source},
    error::{ApiError, as_sent},
    limits::Limits,
    open_reply::OpenReply,
    outgoing::{self, IntoOutgoing},
    repeat::Rule,
    reply::Reply,
};
use backoff_core::{
    __private::{
        IDEMPOTENCY_KEY, OTHER_METHOD as OTHER, has_key, is_idempotent_policy, makes_one_attempt,
        name_of, retrying,
    },
    Clock, Policy, Report, Retrying, Verdict,
    call::{
        AnyOperation, By, ByCodes, CallInfo, CallOf, Failed, Judge, JudgedFailure, Memory,
        Operation, Remembered, RunsTwice, When,
    },
};
use reqwest::{Request, Url, header::HeaderValue};
use serde::de::DeserializeOwned;
use std::{
    borrow::Borrow,
    fmt,
    future::{Future as _, IntoFuture},
    mem,
    pin::Pin,
    task::{Context, Poll},
};

/// Sends a request of reqwest by a policy. Implemented for [`Policy`].
///
/// ```no_run
/// use backoff_cloud::{http::{self, SendExt as _}, storage};
///
/// # async fn f() -> Result<(), http::ApiError> {
/// let client = reqwest::Client::new();
/// let object = storage::REQUEST.send(client.get("http://127.0.0.1:8080/a")).bytes().await?;
/// # Ok(()) }
/// ```
pub trait SendExt: Borrow<Policy> {
    /// Sends the request until it succeeds or the policy ends the call. Nothing is sent before the
    /// [`Sending`] is awaited.
    ///
    /// The request is a `RequestBuilder` of reqwest 0.13, or with the feature `reqwest-012` of reqwest
    /// 0.12.
    fn send(&self, request: impl IntoOutgoing) -> Sending {
        Sending::new(*self.borrow(), Source::Request(request.into_outgoing()))
    }

    /// A request that `build` makes for each attempt: for a body that is a stream or a multipart form, of which
    /// there are no copies, and for a token or a signature that may expire during the call.
    ///
    /// The first request is built when the [`Sending`] is awaited or asked for a form of the reply, and each other
    /// one just before its attempt. What [may be repeated](Sending#which-requests-are-repeated) follows from the first
    /// one, so let them all have the same method and the same headers of this kind. If AWS calls the signature too old or
    /// too young (`RequestTimeTooSkewed`, `InvalidSignatureException`), the request is signed and sent once more. `build` is a
    /// blocking function that waits for nothing, since an async attempt calls it. If a request can only be
    /// made by async code, or if making it can fail, use [`Policy::retry`] and
    /// [`http::success`](super::success).
    ///
    /// ```no_run
    /// use backoff_cloud::{http::{ApiError, SendExt as _}, plain_http};
    /// use reqwest::{Body, Client};
    /// # fn opened() -> Body { Body::from("") }
    ///
    /// # async fn f(client: Client) -> Result<(), ApiError> {
    /// plain_http::BY_METHOD
    ///     // The stream is opened for each attempt.
    ///     .send_with(move || client.put("http://127.0.0.1:8080/a").body(opened()))
    ///     .await?;
    /// # Ok(()) }
    /// ```
    fn send_with<B, R>(&self, mut build: B) -> Sending
    where
        B: FnMut() -> R + Send + 'static,
        R: IntoOutgoing,
    {
        let build = move || build().into_outgoing();
        Sending::new(*self.borrow(), Source::Build(Box::new(build)))
    }
}

impl SendExt for Policy {}

/// A request and its policy. Made by [`SendExt::send`] and [`SendExt::send_with`].
///
/// First call the methods for the request: [`idempotent`](Self::idempotent),
/// [`idempotent_if`](Self::idempotent_if), [`idempotency_key`](Self::idempotency_key),
/// [`limits`](Self::limits), [`when`](Self::when). Then choose the form of the reply: [`json`](Self::json),
/// [`bytes`](Self::bytes), [`text`](Self::text) or [`reply`](Self::reply), or [`open`](Self::open) for a body that is
/// read piece by piece; an `.await` alone means `reply`. These methods return a [`Retrying`], with the methods for the call: `attempt_timeout`, `timeout`,
/// `notify`, `operation`, `budget`, `until`, `reported`.
///
/// Log events and metrics call the operation by the method of the request, such as `GET`, unless
/// [`operation`](Retrying::operation) gives another name. Log events also name the host, in the field
/// `host`.
///
/// ```no_run
/// use backoff_cloud::{http::{self, Limits, SendExt as _}, plain_http};
/// use std::time::Duration;
///
/// # async fn f() -> Result<(), http::ApiError> {
/// let client = reqwest::Client::new();
/// let page = plain_http::BY_METHOD
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
/// # Which requests are repeated
///
/// The first row that applies decides.
///
/// | | may be made twice |
/// |---|---|
/// | [`.idempotent(..)`](Self::idempotent), [`.idempotent_if(..)`](Self::idempotent_if) | as the setting says, whatever the policy says |
/// | [`.idempotency_key()`](Self::idempotency_key) | yes, whatever the policy says |
/// | a policy with [`idempotent(false)`](Policy::idempotent), but not [`idempotent_by_method`](Policy::idempotent_by_method) | `GET`, `HEAD`, `OPTIONS`, `TRACE`, `QUERY`, which change nothing |
/// | a method of [`plain_http::for_method`](crate::plain_http::for_method): `GET`, `HEAD`, `OPTIONS`, `TRACE`, `QUERY`, `PUT`, `DELETE` | yes ([RFC 9110](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2), section 9.2.2) |
/// | the header `Idempotency-Key`, if it is not empty | yes |
/// | a precondition that no longer holds once the write was applied: `If-Match` with an etag, `If-None-Match: *` | yes |
/// | everything else | no |
///
/// A request that must not be made twice is repeated only after a failure that shows that the server did
/// nothing, as with [`idempotent(false)`](Policy::idempotent): a refused connection, 429, a throttled
/// request of AWS. After a 503 or a lost reply the call ends.
///
/// Other preconditions do not count: `If-Match: *` and `If-Unmodified-Since` can still hold after the
/// write. Only [`storage::send`](crate::storage::send) reads Google's preconditions (`ifGenerationMatch`,
/// `x-goog-if-generation-match`), with the rule [`storage::is_idempotent`](crate::storage::is_idempotent),
/// because not every operation of Cloud Storage obeys each of them.
///
/// Some services break the rules of HTTP's methods. [`azure::send`](crate::azure::send) knows a `PUT` that appends
/// (`comp=appendblock`) or makes something new each time (`comp=snapshot`). Write `.idempotent(false)` for a `GET`
/// that writes (AWS' Query API, `?Action=SendMessage`).
///
/// # The reply to a repeated request
///
/// The first attempt may have been applied although its reply was lost. Then the server answers the second
/// one:
///
/// | request | reply to the second attempt |
/// |---|---|
/// | `DELETE` | 404 or 410: the first one has deleted it |
/// | a write with `If-Match` | 412: the first one has changed the etag |
/// | a create with `If-None-Match: *` | 412: the first one has created it |
/// | a `POST` with a key, whose first attempt still runs | 409, from most servers |
///
/// The 409 to a key leads to another attempt, which gets the reply of the first one: if an earlier attempt
/// of this call may have been applied, or if the code of the reply is `idempotency_key_in_use`
/// ([Stripe](https://docs.stripe.com/error-codes#idempotency-key-in-use), [draft of the
/// header](https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/)). A first attempt may
/// meet the request of another delivery of the same message, if the key comes from the message: for a
/// service that answers 409 without this code, write `plain_http::BY_METHOD.also_on(codes![409])`.
///
/// No other reply of the table leads to another attempt. Each of them may be the effect of this call or of
/// another client, so read the resource. The `WARN` of such a call, its [`Report`](backoff_core::Report) and its
/// [`RetryError`](backoff_core::RetryError) say whether an earlier attempt may have been applied, and so does
/// [`Attempt::maybe_applied`](backoff_core::Attempt::maybe_applied) in the closure of [`Policy::retry_with`].
///
/// A policy with [`retry_conflicts`](Policy::retry_conflicts), such as
/// [`storage::READ_MODIFY_WRITE`](crate::storage::READ_MODIFY_WRITE), is for a whole read-modify-write. The
/// same request would fail each time, so such a policy does not repeat a single request after a conflict:
/// 409, 412, `ABORTED`, `FAILED_PRECONDITION`, or a [code](ApiError::service_code) of this kind. Use
/// [`update`](Policy::update), which reads again.
///
/// # Copies of the request
///
/// Each attempt sends a copy of the request. A body that cannot be copied (a stream or a multipart form) is
/// refused before the request is sent, unless the policy makes one attempt only. Use
/// [`send_with`](SendExt::send_with) for such a body: it builds the request for each attempt. If reqwest
/// refused to build the request (because of a URL or a header), the call ends with that error, and nothing
/// is sent.
///
/// All copies have the same headers. If a token or a signature may expire during the call, build the request
/// in each attempt by `send_with`. If the token is awaited, write `policy.retry(async ||
/// http::json(client.get(url).bearer_auth(token().await?).send().await?).await)`.
///
/// An attempt waits for 10 minutes at most until the head of its reply arrives. [`Limits::head_timeout`]
/// changes this time; `.attempt_timeout(..)` after `.json()` limits a whole attempt.
///
/// # What counts as an error
///
/// Every status that is not 2xx is an error. A `GET` with `If-None-Match` that finds nothing new ends with
/// an [`ApiError`] with the [status](ApiError::status) 304.
///
/// Two kinds of errors are found inside a 200:
///
/// - An `error` in JSON is found by [`json`](Self::json), as by [`http::json`](super::json); if you need no value, write
///   `.json::<()>()`. After a `POST` by [`openai::send`](crate::openai::send) or
///   [`anthropic::send`](crate::anthropic::send) it is found in a body that can be read as the value, too.
///   [`Reply::json`] finds the same errors, but after the last attempt.
/// - An XML document whose root is `Error` with a `Code` is found by every form of the whole reply, after a `PUT` or a
///   `POST`: S3 sends it for a copy that was [not made](crate::s3#what-is-retried). Such an error has the status 500, or
///   503 where its code says throttling.
///
/// The client's settings decide whether a redirect is followed. A redirect that is not followed is an
/// [`ApiError`] with its headers; so is a 308 without `Location`.
///
/// **After a redirect the error does not show whether the first request was applied.** If a server applies
/// a `POST` and answers 301, 302 or 303, reqwest sends a `GET` to another URL. If that `GET` gets a 429,
/// the 429 says nothing about the `POST`. So an error from another URL than the URL of the request counts
/// as [`MaybeSent`](crate::Delivery::MaybeSent), and a request that must not be made twice is not repeated.
/// The library cannot recognise a connection that fails after the redirect, nor a redirect to the same URL.
/// For a request that must not be made twice, build the client with `redirect::Policy::none()`.
///
/// # Panics
///
/// If a wait is needed and no tokio runtime with a timer (`enable_time` of tokio's `Builder`) is running:
/// before another attempt, or for a reply that has not yet arrived.
#[must_use = "nothing is sent until it is awaited"]
pub struct Sending<J = ByCodes> {
    policy: Policy,
    judge: J,
    source: Source,
    limits: Limits,
    rule: Rule,
    adds_key: bool,
    finds_errors: bool,
}

/// A request that is sent with retries: a future of the value that was asked for. Before it is awaited, the
/// methods of [`Retrying`] change the call. It owns a copy of its policy and is `Send`, so it can be
/// stored, spawned and joined.
///
/// ```no_run
/// use backoff_cloud::{http::{ApiError, SendExt as _, Sent}, plain_http};
///
/// fn page(client: &reqwest::Client, url: &str) -> Sent<String> {
///     plain_http::BY_METHOD.send(client.get(url)).text()
/// }
///
/// # async fn f() -> Result<(), ApiError> {
/// let client = reqwest::Client::new();
/// let page = tokio::spawn(page(&client, "http://127.0.0.1:8080/")).await.unwrap()?;
/// # Ok(()) }
/// ```
pub type Sent<T, J = ByCodes> = Retrying<Policy, Requests<T>, By<J>>;

/// The requests of a [`Sent`], one for each attempt.
pub struct Requests<T> {
    copies: Copies,
    /// The method of the first request, for logs and metrics.
    method: &'static str,
    /// The host of the last request, for logs.
    host: Option<Box<str>>,
    limits: Limits,
    adds_key: bool,
    /// The id of the call and its earlier attempts, if its requests have a key.
    info: Option<CallInfo>,
    /// Whether the call may repeat a request whose signature is refused: once, because a clock that stays wrong
    /// makes each signature wrong.
    may_sign_anew: bool,
    /// Whether an error beside a value counts.
    finds_errors: bool,
    /// Whether the policy depends on what the server has done with a request.
    is_careful: bool,
    read: ReadAs<T>,
}

/// How a value is made of a response.
#[derive(Clone, Copy)]
enum Read<W, O> {
    Whole(W),
    Open(O),
}

type ReadAs<T> = Read<fn(Reply) -> Result<T, ApiError>, fn(OpenReply) -> T>;

impl<T> fmt::Debug for Requests<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Requests").finish_non_exhaustive()
    }
}

impl<T: 'static> Memory<ApiError> for Requests<T> {
    fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    fn failed(
        &mut self,
        failure: &JudgedFailure<'_, ApiError>,
        policy: &Policy,
        clock: &dyn Clock,
    ) -> Remembered<'_> {
        self.info.failed(failure, policy, clock)
    }
}

impl<T: 'static> Operation for Requests<T> {
    type Value = T;
    type Error = ApiError;
    type Running = outgoing::Sent<T>;
    type Report = Report;
    // A request takes so long that a reading of the clock does not matter, and logs name the time.
    const TIMED: bool = true;

    fn may_run_twice(&self) -> bool {
        // The second reply to a `DELETE` is a 404.
        matches!(self.method, "GET" | "HEAD" | "OPTIONS" | "TRACE") && self.copies.has_next()
    }

    fn erased(&mut self) -> AnyOperation<'_, ApiError> {
        AnyOperation {
            name: self.method,
            memory: Some(self),
        }
    }

    fn begin(&mut self, call: &impl CallOf<T, ApiError>) -> outgoing::Sent<T> {
        let run = call.run();
        let mut request = match self.copies.next() {
            Ok(request) => request,
            Err(error) => return Box::pin(async { Err(error) }),
        };
        let has_own_key = has_key(request.headers());
        let is_keyed = has_own_key || self.adds_key;
        let attempt = is_keyed.then(|| run.attempt(&mut self.info));
        if let Some(attempt) = attempt.filter(|_| !has_own_key) {
            let id = HeaderValue::try_from(attempt.id().to_string());
            let id = id.expect("a UUID is visible ASCII");
            request.headers_mut().insert(IDEMPOTENCY_KEY, id);
        }
        let may_know_key = attempt.is_some_and(|attempt| attempt.maybe_applied());
        // Only a closure makes another request for each attempt.
        if matches!(self.copies, Copies::Anew(..)) {
            self.host = host_of(request.url());
        }
        let asked = self.is_careful.then(|| request.url().clone());
        let (limits, read) = (self.limits, self.read);
        let may_be_error = matches!(self.method, "PUT" | "POST");
        let finds_errors = self.finds_errors;
        request.sent(limits, move |response| async move {
            let is_redirected = asked.is_some_and(|asked| !is_same(asked, response.url()));
            let outcome = match read {
                Read::Open(read) => limits.open(response).await.map(read),
                Read::Whole(read) => {
                    let mut reply = limits.reply(response).await;
                    if may_be_error {
                        reply = reply.and_then(Reply::without_xml_error);
                    }
                    if let Ok(reply) = &mut reply {
                        reply.finds_errors = finds_errors;
                    }
                    reply.and_then(read)
                }
            };
            outcome.map_err(|error| {
                let is_conflict = error.status() == Some(409) && error.names_no_code();
                match is_redirected {
                    true => error.maybe_sent(),
                    // The server still works on an earlier attempt.
                    false if may_know_key && is_conflict => error.passing(),
                    false => error,
                }
            })
        })
    }

    fn poll(
        &mut self,
        running: Pin<&mut outgoing::Sent<T>>,
        _call: &impl CallOf<T, ApiError>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, Failed<ApiError>>> {
        running.poll(cx).map_err(|error| {
            let is_passing = error.has_stale_signature() && mem::take(&mut self.may_sign_anew);
            Failed::from(if is_passing { error.passing() } else { error })
        })
    }
}

impl Sending {
    fn new(policy: Policy, source: Source) -> Self {
        Sending {
            policy,
            judge: ByCodes,
            source,
            limits: Limits::new(),
            rule: Rule::ByRequest,
            adds_key: false,
            finds_errors: false,
        }
    }

    /// An `error` in the JSON of a success counts, whatever stands beside it, if the request is a `POST`. What another method
    /// reads may be a thing that failed, such as a job, and would be the same after each attempt.
    pub(crate) fn finding_errors(mut self) -> Self {
        self.finds_errors = true;
        self
    }
}

/// Implemented by nothing.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "the form of the reply comes first: write `.reply()`, `.json()`, `.bytes()` or `.text()` before this",
    label = "the limits of the call come after the form of the reply"
)]
pub trait FormComesFirst {}

#[doc(hidden)]
impl<J> Sending<J> {
    pub fn timeout<T: FormComesFirst>(self, _timeout: T) -> Self {
        self
    }

    pub fn attempt_timeout<T: FormComesFirst>(self, _timeout: T) -> Self {
        self
    }
}

impl<J> Sending<J> {
    /// Lets a function decide which errors are retried, instead of the policy's codes, as [`Policy::when`] does for a
    /// closure. Nothing else changes: a hint is waited for, `x-should-retry: false` ends the call, a request that
    /// [must not be made twice](Self#which-requests-are-repeated) is not repeated after a failure that may have had an
    /// effect, and the limits of the policy hold. The function returns a `bool` or a [`Verdict`].
    ///
    /// To add a rule to the codes of a policy, let [`Policy::judge`] decide about all other errors. Ask a policy
    /// that is idempotent: the request is protected all the same.
    ///
    /// ```no_run
    /// use backoff_cloud::{http::{self, ApiError, SendExt as _}, memorystore::REQUEST};
    ///
    /// # async fn f(client: reqwest::Client) -> Result<(), ApiError> {
    /// let instance: serde_json::Value = REQUEST
    ///     .send(client.get("http://127.0.0.1:8080/v1/x"))
    ///     .when(|error| match error.status() {
    ///         Some(404) => true.into(), // it was made a moment ago
    ///         _ => REQUEST.judge(error),
    ///     })
    ///     .json()
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn when<F, Answer>(self, judge: F) -> Sending<When<F>>
    where
        F: Fn(&ApiError) -> Answer,
        Answer: Into<Verdict>,
    {
        Sending {
            policy: self.policy,
            judge: When(judge),
            source: self.source,
            limits: self.limits,
            rule: self.rule,
            adds_key: self.adds_key,
            finds_errors: self.finds_errors,
        }
    }

    /// Says whether the request may be made twice. This counts before the policy and before the method and
    /// the headers of the request. The last call of this and of [`idempotent_if`](Self::idempotent_if)
    /// counts.
    ///
    /// ```no_run
    /// # use backoff_cloud::{http::{self, SendExt as _}, plain_http};
    /// # async fn f(client: reqwest::Client) -> Result<(), http::ApiError> {
    /// // A `POST` that only searches.
    /// let search = client.post("http://127.0.0.1:8080/search").body("{}");
    /// let found: serde_json::Value =
    ///     plain_http::BY_METHOD.send(search).idempotent(true).json().await?;
    /// # Ok(()) }
    /// ```
    pub fn idempotent(mut self, idempotent: bool) -> Self {
        self.rule = Rule::Set(idempotent);
        self
    }

    /// Lets this function say whether the request may be made twice, such as
    /// [`storage::is_idempotent`](crate::storage::is_idempotent). This counts before the policy and before
    /// the method and the headers of the request.
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

    /// Adds the header `Idempotency-Key` with the [id](backoff_core::Attempt::id) of the call, a random UUID. All
    /// attempts of a call have the same key, and each call has another one. So the request may be made
    /// twice, unless [`idempotent`](Self::idempotent) or [`idempotent_if`](Self::idempotent_if) says
    /// otherwise. If the request has a key already, that key is kept, unless it is empty.
    ///
    /// The server must know the header, as Stripe and others do. Google's JSON APIs do not know it: they
    /// take a `requestId` in the query or in the body ([AIP-155](https://google.aip.dev/155)).
    ///
    /// ```no_run
    /// # use backoff_cloud::{http::{self, SendExt as _}, plain_http};
    /// # async fn f(client: reqwest::Client) -> Result<(), http::ApiError> {
    /// let order = client.post("http://127.0.0.1:8080/orders").body("{}");
    /// plain_http::BY_METHOD.send(order).idempotency_key().await?;
    /// # Ok(()) }
    /// ```
    pub fn idempotency_key(mut self) -> Self {
        self.adds_key = true;
        self
    }

    /// Reads replies within these limits. Without this call the limits are [`Limits::new`].
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

impl<J: Judge<ApiError>> Sending<J> {
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
    pub fn json<T: DeserializeOwned + 'static>(self) -> Sent<T, J> {
        self.read(Read::Whole(|reply| reply.json()))
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
    pub fn bytes(self) -> Sent<Vec<u8>, J> {
        self.read(Read::Whole(|reply| Ok(reply.into_body())))
    }

    /// The reply's body as a text: see [`Reply::text`].
    pub fn text(self) -> Sent<String, J> {
        self.read(Read::Whole(|reply| Ok(reply.text())))
    }

    /// The whole reply. `.await` alone does the same; use this method to call methods of [`Retrying`].
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
    pub fn reply(self) -> Sent<Reply, J> {
        self.read(Read::Whole(Ok))
    }

    /// The reply once its head has arrived: the caller reads the body piece by piece, with [`OpenReply::chunk`].
    ///
    /// Everything up to the head of a success is retried as in the other forms: a status, the body of an error, a head
    /// that does not come in time. Nothing after it is: the caller may have used a part of the body.
    ///
    /// `attempt_timeout` and `timeout` end with the head too; put `tokio::time::timeout` around the reading to limit the
    /// whole. [`Limits::read_timeout`] limits each pause of the body, 30 s by default. [`Limits::body`] limits each event of
    /// [`events`](OpenReply::events), and not the body. An error inside a 200 is not found, neither
    /// [in JSON or XML](Self#what-counts-as-an-error), of which one needs the whole body, nor in an event of a stream: ask
    /// [`openai::event_kind`](crate::openai::event_kind).
    ///
    /// ```no_run
    /// # use backoff_cloud::{http::{ApiError, Limits}, openai};
    /// # use std::time::Duration;
    /// # async fn f(question: reqwest::RequestBuilder) -> Result<(), ApiError> {
    /// // A model that thinks for some minutes before it goes on.
    /// let patient = Limits::new().read_timeout(Duration::from_secs(300));
    /// let mut reply = openai::send(question).limits(patient).open().await?;
    /// let mut answer = Vec::new();
    /// while let Some(bytes) = reply.chunk().await? {
    ///     answer.extend(bytes);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn open(self) -> Sent<OpenReply, J> {
        self.read(Read::Open(|reply| reply))
    }

    fn read<T: 'static>(self, read: ReadAs<T>) -> Sent<T, J> {
        let rule = match self.rule {
            Rule::ByRequest if self.adds_key => Rule::Set(true),
            rule => rule,
        };
        let (mut policy, mut method, mut host) = (self.policy, OTHER, None);
        let copies = match self.source.begun() {
            Ok((request, build)) => {
                policy = rule.policy(policy, &request).without_conflicts();
                method = name_of(request.method());
                host = host_of(request.url());
                Copies::of(request, build, makes_one_attempt(&policy))
            }
            // The error's text contains no secrets of the URL.
            Err(error) => Copies::Refused(error.to_string()),
        };
        let may_sign_anew = matches!(copies, Copies::Anew(..));
        let requests = Requests {
            copies,
            method,
            host,
            limits: self.limits,
            adds_key: self.adds_key,
            info: None,
            may_sign_anew,
            finds_errors: self.finds_errors && method == "POST",
            is_careful: !is_idempotent_policy(&policy),
            read,
        };
        retrying(policy, self.judge, requests)
    }
}

impl<T: 'static> RunsTwice for Requests<T> {}

/// The host of a request for logs, with its port if that is not the scheme's own.
fn host_of(url: &Url) -> Option<Box<str>> {
    let host = url.host_str().filter(|_| cfg!(feature = "tracing"))?;
    Some(match url.port() {
        Some(port) => format!("{host}:{port}").into(),
        None => host.into(),
    })
}

/// Whether a response came from the URL of the request. What is not sent of a URL is not compared.
fn is_same(mut asked: Url, answered: &Url) -> bool {
    let mut answered = answered.clone();
    as_sent(&mut asked);
    as_sent(&mut answered);
    asked == answered
}

/// The whole reply, for [`Sending::reply`].
impl<J: Judge<ApiError>> IntoFuture for Sending<J> {
    type Output = Result<Reply, ApiError>;
    type IntoFuture = Sent<Reply, J>;

    fn into_future(self) -> Sent<Reply, J> {
        self.reply()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_sent_makes_no_other_url() {
        let same = |asked: &str, answered: &str| {
            is_same(Url::parse(asked).unwrap(), &Url::parse(answered).unwrap())
        };
        for (asked, answered) in [
            ("http://h/a?b=1", "http://h/a?b=1"),
            ("http://h/a#b", "http://h/a"),
            ("http://h/a", "http://h/a#b"),
            ("http://ann@h/a", "http://h/a"),
            ("http://:secret@h/a", "http://h/a"),
        ] {
            assert!(same(asked, answered), "{asked} {answered}");
        }
        for end in ["h/b", "h/a?b", "i/a", "h:1/a"] {
            let answered = format!("http://{end}");
            assert!(!same("http://h/a", &answered), "{answered}");
        }
        assert!(!same("http://h/a", "https://h/a"));
    }
}
