//! A [`Policy`] inside Google's own clients.
//!
//! The client's own retry loop asks the policy: for all requests of a client, or for one request. Or put the
//! retry around the call, by an attribute or a closure: the errors of these clients are
//! [`Fault`](trait@crate::Fault)s.
//!
//! ```no_run
//! use backoff_cloud::{Policy, gax::WithPolicy, memorystore};
//! use google_cloud_secretmanager_v1::client::SecretManagerService;
//!
//! // Repeats only idempotent requests; see below.
//! const POLICY: Policy = memorystore::REQUEST.idempotent(false);
//!
//! # async fn f() -> Result<(), Box<dyn std::error::Error>> {
//! let client = SecretManagerService::builder().with_policy(POLICY).build().await?;
//! let get = client.get_secret().set_name("projects/p/secrets/s");
//! let secret = get.with_policy(POLICY.max_attempts(3)).send().await?;
//! # drop(secret); Ok(()) }
//! ```
//!
//! # What differs from the client's own rules
//!
//! - The policy's codes decide. Of all replies, Google's default retries only a 503, and not even this one after a
//!   request by POST: it repeats neither `setIamPolicy` nor the reads that IAM makes by POST.
//! - A wait is at least as long as `Retry-After` or `google.rpc.RetryInfo` asks. gax reads neither.
//! - A call that fails returns the service's error, without an "exhausted" around it.
//! - When the retry budget is empty, the call ends at once, before the wait, with the last error: the policy's
//!   [`Budget`](crate::Budget) decides. With the client's own throttler, the call would go on waiting without
//!   making attempts, until its policy gives up.
//!
//! The same state machine as in the rest of this library decides: [`RetryState`]. The deadline also limits
//! each attempt. But gax gives the attempt after a wait at least as much time as the wait took. So if the wait
//! takes more than half of the remaining time, the last attempt may end after the deadline, by less than the
//! length of that wait.
//!
//! # What logs and metrics show
//!
//! gax tells a policy only which attempts failed. So logs and metrics get failures, waits, and the ends of
//! calls that fail. [`telemetry`](crate::telemetry) lists the events and the metrics:
//!
//! | | log | metrics |
//! |---|---|---|
//! | a failed attempt, and the wait after it | as everywhere | `retry.attempt.duration` of the first attempt |
//! | a call that fails | as everywhere | `retry.call.duration` and `retry.call.retries` |
//! | **a call that succeeds, at once or after retries** | **nothing** | **nothing** |
//! | a call that is dropped | nothing | nothing |
//!
//! So if the last event of a call is a wait, the call succeeded or was dropped.
//!
//! `elapsed` and `retry.call.duration` count from the start of the call. `retry.call.delay` and the
//! duration of later attempts are missing, because gax does not say how long it waited. So the metrics
//! show neither the share of calls that fail nor the share of retried calls that succeed. If you need these
//! numbers, put the retry [outside](#one-retry-not-two): this library's loop reports everything. The
//! telemetry of Google's clients (`with_tracing()` of a client's builder) has a span for each request.
//!
//! The name of the operation is the type of the request's builder, such as
//! `google_cloud_secretmanager_v1::builder::secret_manager_service::GetSecret`. If the policy is set on the
//! client, the name is the module of these builders, because gax does not tell the policy the request.
//! [`Adapted::operation`] sets another name.
//!
//! # What a budget gets
//!
//! A retry costs the same as everywhere. gax tells a throttler that an attempt succeeded, but not which call.
//! So for each success the budget gets what it gets for a success at the first attempt. For
//! [`Budget::grpc`](crate::Budget::grpc) and [`Budget::ratio`](crate::Budget::ratio) this is the full amount.
//! With [`Budget::aws`](crate::Budget::aws) and [`Budget::costs`](crate::Budget::costs) a success after a retry
//! gives back 1 token, and not the cost of the retry, so such a budget is empty sooner. If a call is dropped
//! during a wait, the budget does not get back the tokens for this wait.
//!
//! gax calls a throttler under a lock that all calls of the client share. Under this lock, metrics get the level
//! of a budget that has a name, after a success; and logs and metrics get the end of a call that a limit
//! [around](adapt) the policy ends. A slow recorder or subscriber then delays the other calls. One that makes a
//! request with the same client and waits for it never returns. Their panics are caught.
//!
//! # Idempotent requests
//!
//! gax knows for each request whether it is idempotent: GET, PUT and DELETE are, POST and PATCH are
//! not, and `with_idempotency` overrides this. If the policy is [idempotent](crate::Policy::idempotent), as
//! it is by default, gax's answer does not count: every request is repeated. With `.idempotent(false)` gax's
//! answer counts: an idempotent request is repeated, and another one only if it surely was not applied. So
//! give a policy with `.idempotent(false)` to a client that creates things.
//!
//! # When not to use it
//!
//! - For conflicts (409, 412, `ABORTED`, `FAILED_PRECONDITION`, or any error that is a
//!   [`FaultKind::Conflict`](crate::FaultKind) for the policy). This loop never repeats them, whatever the policy
//!   says: the same write would conflict again. The read before it must be repeated too, as [`Policy::update`] and
//!   [`iam::add`](crate::iam::add) do. So [`iam::READ_MODIFY_WRITE`](crate::iam::READ_MODIFY_WRITE) inside a
//!   client retries transient failures, and leaves conflicts to the retry around it.
//! - For the polling of a long-running operation (`with_polling_backoff_policy`).
//!   [`Retrying::until`](crate::Retrying::until) polls by a policy.
//!
//! # One retry, not two
//!
//! A retry around a client that retries by itself multiplies the calls: three levels of five attempts
//! make 125. A `deadline` outside does not end the loop inside either: `deadline = "3s"` around a
//! client of Google's with its default policy ran 56 s. So retry at one level:
//!
//! - inside, by [`with_policy`](WithPolicy::with_policy), and call the client without a retry around it; or
//! - outside, around a client or a request that makes one attempt: [`try_once`](WithPolicy::try_once).
//!
//! [`iam::add`](crate::iam::add) and [`iam::remove`](crate::iam::remove) make each request once, whatever the
//! client's policy is.
//!
//! If gax's own loop ends a call because of its time limit, the error says "exhausted". For a policy outside
//! this error is permanent, as [`RetryError`](crate::RetryError) is. If gax's limit of attempts or a policy of this
//! library inside the client ends the call, the error is the service's own. Then a policy outside cannot know
//! that the call was retried already, and repeats the whole call.
//!
//! Google's crates need Rust 1.91.
//!
//! [`Policy`]: crate::Policy
//! [`Policy::update`]: crate::Policy::update
//! [`RetryState`]: crate::RetryState

// The examples need this client.
#![cfg(any(not(doctest), feature = "google-cloud-secretmanager-v1"))]

mod adapted;
#[cfg(all(test, feature = "metrics", feature = "tracing"))]
mod telemetry;

pub use adapted::{Adapted, adapt};

use google_cloud_gax_1::{
    client_builder::ClientBuilder, options::RequestOptionsBuilder, retry_policy::NeverRetry,
    retry_result::RetryResult, retry_throttler::RetryThrottler,
};
use std::any::type_name;

/// Sets a policy for all requests of a client, or for one request. All builders of clients and of requests
/// implement this trait; import it as `WithPolicy as _`.
///
/// You never write `Kind`: by it the compiler distinguishes builders of clients and of requests. The trait is
/// sealed.
pub trait WithPolicy<Kind>: kind::Sealed<Kind> + Sized {
    /// Retries by this policy only: it replaces the retry policy, the backoff policy and the throttler.
    /// [Conflicts](self#when-not-to-use-it) are not retried, whatever the policy says.
    ///
    /// Takes a [`Policy`](crate::Policy) or an [`Adapted`], which can have a name for
    /// [logs and metrics](self#what-logs-and-metrics-show):
    ///
    /// ```no_run
    /// use backoff_cloud::{gax::{self, WithPolicy as _}, memorystore};
    /// use google_cloud_secretmanager_v1::client::SecretManagerService;
    ///
    /// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
    /// let named = gax::adapt(memorystore::REQUEST).operation("secrets");
    /// let client = SecretManagerService::builder().with_policy(named).build().await?;
    /// # drop(client); Ok(()) }
    /// ```
    #[must_use]
    fn with_policy(self, policy: impl Into<Adapted>) -> Self;

    /// Makes one attempt: the client's own loop does not retry, so that a retry around the call is the only
    /// one. A failed call returns the error of this attempt. The call changes neither the client's throttler nor
    /// the budget of its policy.
    ///
    /// ```no_run
    /// use backoff_cloud::{gax::WithPolicy as _, iam};
    /// use google_cloud_secretmanager_v1::client::SecretManagerService;
    ///
    /// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
    /// let client = SecretManagerService::builder().try_once().build().await?;
    /// let get = || client.get_secret().set_name("projects/p/secrets/s").send();
    /// let secret = iam::REQUEST.retry(get).await?;
    ///
    /// // Or one request of a client that retries otherwise.
    /// let get = client.get_secret().set_name("projects/p/secrets/s").try_once();
    /// # drop((secret, get)); Ok(()) }
    /// ```
    #[must_use]
    fn try_once(self) -> Self;
}

/// The two kinds of builders.
mod kind {
    use super::{ClientBuilder, RequestOptionsBuilder};

    #[derive(Debug)]
    pub enum OfClient {}

    #[derive(Debug)]
    pub enum OfRequest {}

    pub trait Sealed<Kind> {}

    impl<F, C> Sealed<OfClient> for ClientBuilder<F, C> {}
    impl<B: RequestOptionsBuilder> Sealed<OfRequest> for B {}
}

/// The methods of [`WithPolicy`]. The name is that of the operation, if the policy has none.
macro_rules! by_three_parts {
    ($name:expr) => {
        fn with_policy(self, policy: impl Into<Adapted>) -> Self {
            let adapted = policy.into().named($name);
            self.with_retry_policy(adapted.clone())
                .with_backoff_policy(adapted.clone())
                .with_retry_throttler(adapted)
        }

        fn try_once(self) -> Self {
            self.with_retry_policy(NeverRetry)
                .with_retry_throttler(Unthrottled)
        }
    };
}

impl<F, C> WithPolicy<kind::OfClient> for ClientBuilder<F, C> {
    by_three_parts!(of_client(type_name::<F>()));
}

impl<B: RequestOptionsBuilder> WithPolicy<kind::OfRequest> for B {
    by_three_parts!(type_name::<B>());
}

/// For requests that are never retried. The client's own throttler would give the budget tokens for a success,
/// and the retry around the call gives them too.
#[derive(Clone, Copy, Debug)]
struct Unthrottled;

impl RetryThrottler for Unthrottled {
    fn throttle_retry_attempt(&self) -> bool {
        false
    }

    fn on_retry_failure(&mut self, _flow: &RetryResult) {}

    fn on_success(&mut self) {}
}

/// The module of a client's builders, from the name of the client's factory.
fn of_client(factory: &'static str) -> &'static str {
    factory.strip_suffix("::client::Factory").unwrap_or(factory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_named_by_the_module_of_its_builders() {
        assert_eq!(of_client("a::service::client::Factory"), "a::service");
        assert_eq!(of_client("a::Other"), "a::Other");
    }
}
