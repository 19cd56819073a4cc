//! Any Google service that has allow policies, over plain HTTP/JSON.

use super::allow::POLICY_VERSION;
use super::plain::PlainPolicy;
use super::store::PolicyStore;
use super::url::url;
use crate::http::{ApiError, Limits};
use backoff_core::{__private::Loggable, Fault};
use reqwest::{Client, Method, RequestBuilder, Response, Url, header::CONTENT_TYPE};
use serde_json::{Value, json};
use std::{fmt, future::Future, pin::Pin, sync::Arc};

type Token = Pin<Box<dyn Future<Output = Result<String, ApiError>> + Send>>;

/// A Google service with allow policies over HTTP/JSON, with a client of reqwest.
///
/// A reply with a success status and an error in its body is an error. The reply to a write is an error too
/// if it has no etag, if its body is not JSON, or if its body is too long: such a reply does not show
/// whether the policy was written, so a change reads it again.
///
/// Write the name of a resource unencoded, such as `projects/p`: special characters of a URL are encoded
/// here, `%` too. A name is refused if it is empty, begins or ends with a slash, or has an empty segment,
/// `.` or `..`, a control character, or one of IAM's verbs (`:getIamPolicy`): such a name would lead to
/// another resource or another method. Then nothing is sent, and the error is permanent.
///
/// Unknown fields of a policy are kept. Use a client that does not retry by itself:
/// `reqwest::Client::builder().retry(reqwest::retry::never())`.
///
/// Most services want a token. This program keeps a token until a minute before it expires:
///
/// ```no_run
/// use backoff_cloud::{http::{self, ApiError}, iam::{self, Rest}};
/// use serde::Deserialize;
/// use std::{sync::Arc, time::{Duration, Instant}};
/// use tokio::sync::Mutex;
///
/// #[derive(Deserialize)]
/// struct Token { access_token: String, expires_in: u64 }
///
/// /// Tokens of the metadata server, which each machine in Google Cloud has.
/// struct Tokens { client: reqwest::Client, kept: Mutex<Option<(String, Instant)>> }
///
/// impl Tokens {
///     async fn token(&self) -> Result<String, ApiError> {
///         let mut kept = self.kept.lock().await; // one request for all who wait
///         if let Some((token, end)) = &*kept && Instant::now() < *end {
///             return Ok(token.clone());
///         }
///         let url = "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token";
///         let request = self.client.get(url).header("metadata-flavor", "Google");
///         let reply = request.timeout(Duration::from_secs(10)).send().await?;
///         let Token { access_token, expires_in } = http::json(reply).await?;
///         let end = Instant::now() + Duration::from_secs(expires_in.saturating_sub(60));
///         *kept = Some((access_token.clone(), end));
///         Ok(access_token)
///     }
/// }
///
/// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
/// let client = reqwest::Client::builder().retry(reqwest::retry::never()).build()?;
/// let tokens = Arc::new(Tokens { client: client.clone(), kept: Mutex::default() });
/// let token = move || {
///     let tokens = tokens.clone();
///     async move { tokens.token().await }
/// };
/// let projects = Rest::new(client.clone(), "https://cloudresourcemanager.googleapis.com/v3")
///     .token(token.clone());
/// iam::add(&projects, "projects/p", "roles/viewer", "user:ann@example.com").await?;
///
/// // These services read a policy with GET.
/// let secrets = Rest::new(client, "https://secretmanager.googleapis.com/v1")
///     .read_by_get()
///     .token(token);
/// iam::remove(&secrets, "projects/p/secrets/s", "roles/viewer", "user:ann@example.com").await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Rest {
    client: Client,
    base: String,
    by_get: bool,
    limits: Limits,
    token: Option<Arc<dyn Fn() -> Token + Send + Sync>>,
}

impl Rest {
    /// Makes a store for the service at this URL, with the version and without a query. It sends no token
    /// and reads policies by POST; [`token`](Self::token) and [`read_by_get`](Self::read_by_get) change
    /// this.
    pub fn new(client: Client, base: impl Into<String>) -> Self {
        let mut base = base.into();
        base.truncate(base.trim_end_matches('/').len());
        Rest {
            client,
            base,
            by_get: false,
            limits: Limits::new(),
            token: None,
        }
    }

    /// Reads policies by GET. Secret Manager, Pub/Sub and Cloud Functions need this. The Resource Manager,
    /// IAM and most other services need POST.
    #[must_use]
    pub fn read_by_get(mut self) -> Self {
        self.by_get = true;
        self
    }

    /// Reads replies within these limits. Without this call the limits are [`Limits::new`].
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Calls this function for an access token before each request, and sends the token as a bearer. So keep a token
    /// until it expires, as in [the example](Self). An [`ApiError`] of the function counts as an error of the request.
    /// `?` makes an `ApiError` of a `reqwest::Error`. Of the error of another library, make one with
    /// [`ApiError::new`]: with the status 503 the policies repeat the attempt, with 401 they do not.
    #[must_use]
    pub fn token<F, Fut>(mut self, token: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, ApiError>> + Send + 'static,
    {
        self.token = Some(Arc::new(move || Box::pin(token())));
        self
    }

    fn url(&self, resource: &str, verb: &str) -> Result<Url, ApiError> {
        url(&self.base, resource, verb).map_err(ApiError::not_sent)
    }

    fn post(&self, url: Url, body: &Value) -> RequestBuilder {
        let request = self.client.request(Method::POST, url);
        let request = request.header(CONTENT_TYPE, "application/json");
        request.body(body.to_string())
    }

    async fn send(&self, mut request: RequestBuilder) -> Result<Response, ApiError> {
        if let Some(token) = &self.token {
            request = request.bearer_auth(token().await?);
        }
        self.limits.head(request.send()).await
    }

    /// The policy in a reply. A success with an error in its body is that error, with the status that the error
    /// names.
    async fn read(&self, response: Response) -> Result<PlainPolicy, ApiError> {
        let reply = self.limits.reply(response).await?;
        let policy: PlainPolicy = reply.json()?;
        match policy.rest.get("error") {
            Some(error) if !error.is_null() => Err(reply.error_in_body()),
            _ => Ok(policy),
        }
    }
}

/// Whether the error of a success names no failure: an unknown error in its body, a web page instead of JSON, or a body
/// that is too long.
fn says_nothing(error: &ApiError) -> bool {
    // An error that names a code has another status or that code.
    let names_no_code = error.status().is_some_and(|status| status < 300);
    let is_unknown = error.grpc_code().is_none() && Fault::kind(error).is_none();
    error.is_unreadable() || names_no_code && is_unknown
}

impl PolicyStore for Rest {
    type Policy = PlainPolicy;
    type Error = ApiError;

    async fn get(&self, resource: &str) -> Result<PlainPolicy, ApiError> {
        let mut url = self.url(resource, "getIamPolicy")?;
        let request = if self.by_get {
            let options = format!("options.requestedPolicyVersion={POLICY_VERSION}");
            url.set_query(Some(&options));
            self.client.request(Method::GET, url)
        } else {
            let options = json!({ "requestedPolicyVersion": POLICY_VERSION });
            self.post(url, &json!({ "options": options }))
        };
        self.read(self.send(request).await?).await
    }

    /// If the reply is a success that shows no policy and names no failure, this is an empty policy without an etag.
    async fn set(&self, resource: &str, policy: PlainPolicy) -> Result<PlainPolicy, ApiError> {
        let url = self.url(resource, "setIamPolicy")?;
        let request = self.post(url, &json!({ "policy": policy }));
        let response = self.send(request).await?;
        let is_success = response.status().is_success();
        match self.read(response).await {
            Err(error) if is_success && says_nothing(&error) => Ok(PlainPolicy::default()),
            written => written,
        }
    }
}

/// Shows the base URL without its password.
impl fmt::Debug for Rest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rest")
            .field("base", &Loggable(&self.base).to_string())
            .field("by_get", &self.by_get)
            .field("limits", &self.limits)
            .field("has_token", &self.token.is_some())
            .finish_non_exhaustive()
    }
}
