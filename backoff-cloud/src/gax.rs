//! A [`Policy`] inside Google's own clients.
//!
//! Their errors are [`Fault`](trait@crate::Fault)s, so that any retry around a call works. Here
//! the retry is inside the call: the client's own loop asks the policy, on a whole client or for
//! one request.
//!
#![cfg_attr(feature = "google-cloud-secretmanager-v1", doc = "```no_run")]
#![cfg_attr(not(feature = "google-cloud-secretmanager-v1"), doc = "```ignore")]
//! use backoff_cloud::{Policy, gax::WithPolicy, memorystore};
//! use google_cloud_secretmanager_v1::client::SecretManagerService;
//!
//! // What may be made twice is; see below.
//! const POLICY: Policy = memorystore::REQUEST.idempotent(false);
//!
//! # async fn f() -> Result<(), Box<dyn std::error::Error>> {
//! let client = SecretManagerService::builder().with_policy(POLICY).build().await?;
//! let get = client.get_secret().set_name("projects/p/secrets/s");
//! let secret = get.with_policy(POLICY.max_attempts(3)).send().await?;
//! # drop(secret); Ok(()) }
//! ```
//!
//! # What it does that the client's own rules do not
//!
//! - The policy's codes decide. Google's default repeats of all replies 503 alone, and after a
//!   request made by POST not even that: no `setIamPolicy`, nor the reads that IAM makes by POST.
//! - `Retry-After` and `google.rpc.RetryInfo` are waited for; gax reads neither.
//! - The error that comes back is the service's, not one that says "exhausted" around it.
//! - It never goes silent. The client's throttler, when it is drained, skips attempts and lets time
//!   pass until the policy gives up; here the policy's [`Budget`](crate::Budget) decides, before
//!   the wait, and the last error is handed back at once.
//!
//! The loop is gax's, but all is decided by the state machine that decides everywhere else,
//! [`RetryState`]. The deadline also bounds each attempt; but gax gives an attempt after a wait no less
//! time than the wait was, so where the wait took more than half of what was left, the last attempt
//! may run over the deadline, by less than that wait.
//!
//! # What logs and metrics show
//!
//! gax tells a policy of each attempt that failed, and of nothing else that belongs to a call. So logs
//! and metrics get the failures, the waits and the ends of calls that fail, as
//! [`telemetry`](crate::telemetry) lists them:
//!
//! | | log | metrics |
//! |---|---|---|
//! | a failed attempt, and the wait after it | as everywhere | `retry.attempt.duration` of the first attempt |
//! | a call that fails | as everywhere | `retry.call.duration` and `retry.call.retries` |
//! | **a call that succeeds, at once or after retries** | **nothing** | **nothing** |
//! | a call that is dropped | nothing | nothing |
//!
//! So a call whose last event is a wait has succeeded, or was dropped.
//!
//! `elapsed` and `retry.call.duration` count from the start of the call. `retry.call.delay` and the
//! duration of later attempts are missing, because gax does not say how long it waited. So the metrics
//! cannot tell which share of the calls fails, or how many of those that are retried succeed. If you need
//! these numbers, put the retry [outside](#one-retry-not-two): then the loop is this library's and tells
//! everything. The telemetry of Google's clients (`with_tracing()` of a client's builder) has a span for
//! each request.
//!
//! The operation is named by the type of the request's builder, as
//! `google_cloud_secretmanager_v1::builder::secret_manager_service::GetSecret`; where the policy is the
//! client's, by the module of these builders, because gax does not tell a policy which request it is
//! asked about. [`Adapted::operation`] gives it another name.
//!
//! # What a budget gets
//!
//! A retry costs what it costs everywhere. gax tells that an attempt has succeeded, but not of which call.
//! So each success gives the budget what a success at the first attempt gives. That is all for
//! [`Budget::grpc`](crate::Budget::grpc) and [`Budget::ratio`](crate::Budget::ratio). With
//! [`Budget::aws`](crate::Budget::aws) and [`Budget::costs`](crate::Budget::costs) a success after a retry
//! gives 1 token, where elsewhere it gives back what the retry has cost; so such a budget is sooner empty.
//! What a call has paid for a wait in which it is dropped is not given back.
//!
//! gax calls a throttler under a lock that all calls of the client share. Two things are told there: the
//! level of a budget that has a name, after a success, and the end of a call by a limit [around](adapt) the
//! policy. A recorder or a subscriber that is slow then delays the other calls, and one that makes a request
//! of the same client and waits for it never returns. A panic of theirs ends there.
//!
//! # What may be made twice
//!
//! gax knows of each request whether it is idempotent: GET, PUT and DELETE are, POST and PATCH are
//! not, and `with_idempotency` says otherwise. A policy that is [idempotent](crate::Policy::idempotent),
//! as they are unless they say `.idempotent(false)`, outranks that: everything is repeated, because
//! you said so. With `.idempotent(false)` each request is asked: one that is idempotent is
//! repeated, any other only if it surely was not applied. So put a policy with
//! `.idempotent(false)` on a client that creates things.
//!
//! # What it is not for
//!
//! A conflict (409, 412, `ABORTED`, `FAILED_PRECONDITION`, or any error that the policy takes for
//! [`FaultKind::Conflict`](crate::FaultKind)) is not repeated in this loop, whatever the policy says.
//! The same write would conflict again; what is to be repeated is the read before it:
//! [`Policy::update`], [`iam::add`](crate::iam::add). So
//! [`iam::READ_MODIFY_WRITE`](crate::iam::READ_MODIFY_WRITE) inside a client repeats what passes, and
//! leaves conflicts to the retry around it.
//! Nor does it say how often a long-running operation is polled (`with_polling_backoff_policy`);
//! [`Retrying::until`](crate::Retrying::until) polls by a policy.
//!
//! # One retry, not two
//!
//! A retry around a client that retries by itself multiplies the calls: three levels of five attempts
//! make 125. A `deadline` outside does not cut the loop inside either: `deadline = "3s"` around a
//! client of Google's with its default policy ran 56 s. So retry at one level:
//!
//! - inside, by [`with_policy`](WithPolicy::with_policy), and call the client plainly; or
//! - outside, around a client or a request that tries once: [`try_once`](WithPolicy::try_once).
//!
//! [`iam::add`](crate::iam::add) and [`iam::remove`](crate::iam::remove) make each request once by
//! themselves, whatever the client's policy is.
//!
//! What gax's own loop gave up because of its time limit comes as an error that says "exhausted", and
//! such an error is permanent to a policy outside, as [`RetryError`](crate::RetryError) is. gax's limit
//! of attempts, and a policy of this library inside the client, hand back the service's own error
//! without a mark. A policy outside cannot tell that the call was repeated already, and repeats the
//! whole call.
//!
//! Google's crates need Rust 1.91.
//!
//! [`Policy`]: crate::Policy
//! [`Policy::update`]: crate::Policy::update
//! [`RetryState`]: crate::RetryState

mod adapted;
#[cfg(all(test, feature = "metrics", feature = "tracing"))]
mod told;

pub use adapted::{Adapted, adapt};

use google_cloud_gax_1::{
    client_builder::ClientBuilder, options::RequestOptionsBuilder, retry_policy::NeverRetry,
    retry_result::RetryResult, retry_throttler::RetryThrottler,
};
use std::any::type_name;

/// Puts a policy into a client's builder, for all its requests, or into one request. All of both have
/// it; import it as `WithPolicy as _`.
///
/// `Kind` is never named: it tells the two apart for the compiler. Nobody else implements this trait.
pub trait WithPolicy<Kind>: kind::Sealed<Kind> + Sized {
    /// Retries by this policy, and by nothing else: takes the place of the retry policy, of the
    /// backoff policy and of the throttler. [Conflicts](self#what-it-is-not-for) are not retried,
    /// whatever the policy says of them.
    ///
    /// Takes a policy, or what [`adapt`] makes of one, which can have a name for
    /// [logs and metrics](self#what-logs-and-metrics-show):
    ///
    #[cfg_attr(feature = "google-cloud-secretmanager-v1", doc = "```no_run")]
    #[cfg_attr(not(feature = "google-cloud-secretmanager-v1"), doc = "```ignore")]
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

    /// Tries once: the client's own loop repeats nothing, so that a retry around the call is the only
    /// one. The error of a failed call is the one that the attempt gave. The client's throttler, and so its
    /// budget, does not hear of the call.
    ///
    #[cfg_attr(feature = "google-cloud-secretmanager-v1", doc = "```no_run")]
    #[cfg_attr(not(feature = "google-cloud-secretmanager-v1"), doc = "```ignore")]
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

/// What has a policy put into it, and which of the two it is.
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

impl<F, C> WithPolicy<kind::OfClient> for ClientBuilder<F, C> {
    fn with_policy(self, policy: impl Into<Adapted>) -> Self {
        let adapted = policy.into().named(of_client(type_name::<F>()));
        self.with_retry_policy(adapted.clone())
            .with_backoff_policy(adapted.clone())
            .with_retry_throttler(adapted)
    }

    fn try_once(self) -> Self {
        self.with_retry_policy(NeverRetry)
            .with_retry_throttler(Deaf)
    }
}

impl<B: RequestOptionsBuilder> WithPolicy<kind::OfRequest> for B {
    fn with_policy(self, policy: impl Into<Adapted>) -> Self {
        let adapted = policy.into().named(type_name::<B>());
        self.with_retry_policy(adapted.clone())
            .with_backoff_policy(adapted.clone())
            .with_retry_throttler(adapted)
    }

    fn try_once(self) -> Self {
        self.with_retry_policy(NeverRetry)
            .with_retry_throttler(Deaf)
    }
}

/// The throttler of what is not retried. The client's own would add to the budget what the retry around the
/// call adds.
#[derive(Clone, Copy, Debug)]
struct Deaf;

impl RetryThrottler for Deaf {
    fn throttle_retry_attempt(&self) -> bool {
        false
    }

    fn on_retry_failure(&mut self, _flow: &RetryResult) {}

    fn on_success(&mut self) {}
}

/// The module of a client's builders, by the name of what makes the client.
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
