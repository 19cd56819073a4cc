//! Google Cloud Identity and Access Management: requests, and changes of allow policies.
//!
//! # Presets
//!
//! | request | policy |
//! |---|---|
//! | a read, a write that carries an etag | [`REQUEST`] |
//! | a request that must not be applied twice, such as a new service account key | [`NOT_IDEMPOTENT`] |
//! | read an allow policy, change it, write it back | [`READ_MODIFY_WRITE`], or [`add`] and [`remove`], or [`Members`] |
//! | the first request that needs a role granted a moment ago | [`AFTER_GRANT`] |
//!
#![doc = page_of!(iam::READ_MODIFY_WRITE)]
//!
//! # What is retried
//!
//! - 500, 502, 503, 504 and failures of the connection. The page allows 404 too, because reads are
//!   eventually consistent and a new resource may be missing for a while: where you expect that, write
//!   `iam::REQUEST.also_on(codes![404])`.
//! - A 409 whose body says `"status": "ABORTED"` is a conflict with another writer. The write alone would fail
//!   each time, so only [`READ_MODIFY_WRITE`] retries a conflict, and reads the policy again. Your own error type
//!   must know this code: [`Fault::grpc_code`](crate::Fault::grpc_code). A 409 that says `ALREADY_EXISTS` is
//!   not retried.
//! - Old replies of IAM are a 409 without a code. [`add`], [`remove`] and [`Members`] count them as conflicts,
//!   because they create nothing that could exist already. In a function of yours that creates nothing either,
//!   write `also_on = [409]`.
//!
//! # Example
//!
//! ```
//! use backoff_cloud::{iam, retry};
//! # use backoff_cloud::TimedOut as ApiError;
//! # #[derive(Default)] struct IamPolicy;
//! # impl IamPolicy { fn add(&mut self, _: &str, _: &str) {} }
//! # struct Client;
//! # impl Client {
//! #     async fn get_iam_policy(&self, _: &str) -> Result<IamPolicy, ApiError> { Ok(IamPolicy) }
//! #     async fn set_iam_policy(&self, _: &str, p: IamPolicy) -> Result<IamPolicy, ApiError> { Ok(p) }
//! # }
//!
//! #[retry(policy = iam::READ_MODIFY_WRITE)]
//! async fn grant(client: &Client, resource: &str, member: &str) -> Result<IamPolicy, ApiError> {
//!     let mut policy = client.get_iam_policy(resource).await?;
//!     policy.add("roles/viewer", member);
//!     client.set_iam_policy(resource, policy).await
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() { grant(&Client, "projects/p", "user:ann@example.com").await.unwrap(); }
//! ```
//!
//! # Members of roles
//!
//! The most frequent change of an allow policy gives a role to a member or takes it away. [`add`] and
//! [`remove`] do this as a whole read-modify-write. They work with Google's own clients, with plain REST
//! (`Rest`, feature `http`), and with any client of yours that is a [`PolicyStore`].
//! They need the feature `tokio`. If many tasks of one process change the members of one resource,
//! [`Members`] makes one read-modify-write of the changes that wait at the same time.
//!
#![cfg_attr(feature = "google-cloud-secretmanager-v1", doc = "```no_run")]
#![cfg_attr(not(feature = "google-cloud-secretmanager-v1"), doc = "```ignore")]
//! use backoff_cloud::iam;
//! use google_cloud_secretmanager_v1::client::SecretManagerService;
//!
//! # async fn f() -> Result<(), Box<dyn std::error::Error>> {
//! let client = SecretManagerService::builder().build().await?;
//! iam::add(&client, "projects/p/secrets/s", "roles/viewer", "user:ann@example.com").await?;
//! # Ok(()) }
//! ```
//!
//! # An account that was just made
//!
//! For some seconds, up to a minute, not every server of IAM knows a new service account. Two replies say so:
//!
//! - a grant to the account gets 400 with the text `Service account new@p.iam.gserviceaccount.com does not exist.`;
//! - a request that uses the account, or is made by it, gets 403 with a text that ends in
//!   `(or it may not exist)`.
//!
//! An account that never exists gets the same replies, so no preset repeats them. Where you have just made the
//! account, repeat them for a limited time. [`Change::when`] adds the rule, and [`Policy::judge`] keeps
//! the other rules:
//!
#![cfg_attr(feature = "http", doc = "```no_run")]
#![cfg_attr(not(feature = "http"), doc = "```ignore")]
//! use backoff_cloud::{Policy, http::ApiError, iam::{self, Failure, Rest}};
//! use std::time::Duration;
//!
//! /// Long enough for a new account. An account that does not exist fails after this time.
//! const NEW_ACCOUNT: Policy = iam::READ_MODIFY_WRITE.deadline(Duration::from_secs(90));
//!
//! fn is_unknown_account(error: &ApiError) -> bool {
//!     let text = error.to_string();
//!     match error.status() {
//!         Some(400) => text.contains("Service account") && text.contains("does not exist"),
//!         Some(403) => text.contains("(or it may not exist)"),
//!         _ => false,
//!     }
//! }
//!
//! # async fn f(client: Rest) -> Result<(), Box<dyn std::error::Error>> {
//! let account = "serviceAccount:new@p.iam.gserviceaccount.com";
//! iam::add(&client, "projects/p", "roles/viewer", account)
//!     .policy(NEW_ACCOUNT)
//!     .when(|failure| match failure {
//!         Failure::Client(error) if is_unknown_account(error) => true.into(),
//!         failure => NEW_ACCOUNT.judge(failure),
//!     })
//!     .await?;
//! # Ok(()) }
//! ```
//!
//! [`Members`] has the rule among its [settings](MembersSettings::when). There the whole group waits for the new account, so make
//! this grant with [`add`].

mod allow;
#[cfg(feature = "tokio")]
mod change;
mod condition;
#[cfg(feature = "tokio")]
mod grant;
#[cfg(all(test, feature = "tokio"))]
mod kept;
#[cfg(feature = "tokio")]
mod member;
#[cfg(feature = "combine")]
mod members;
#[cfg(feature = "google-cloud-iam-v1")]
mod official;
mod plain;
#[cfg(any(feature = "http", feature = "google-cloud-iam-v1"))]
mod resource;
#[cfg(feature = "http")]
mod rest;
#[cfg(feature = "tokio")]
mod step;
mod store;
#[cfg(feature = "http")]
mod url;

pub use allow::{AllowPolicy, Binding, POLICY_VERSION};
#[cfg(feature = "tokio")]
pub use change::{Change, add, change, remove};
pub use condition::Condition;
#[cfg(feature = "tokio")]
pub use grant::Grant;
#[cfg(feature = "combine")]
pub use members::{Members, MembersSettings};
pub use plain::{PlainBinding, PlainPolicy};
#[cfg(feature = "http")]
pub use rest::Rest;
pub use store::{Error, Failure, PolicyStore};

use backoff_core::{Codes, Jitter, Policy, codes};
use std::time::Duration;

/// The jitter of the documented formula: up to one second is added before the maximum applies.
pub const DOCUMENTED_JITTER: Jitter = Jitter::Additive(Duration::from_secs(1));

/// One request to IAM that may be made twice: a read, or a write that carries an etag. The policy is the
/// documented formula; 500, 502, 503, 504 and failures of the connection are retried.
///
/// **In an attribute or a closure the policy assumes that everything inside may run twice.** For any
/// other write, such as a new service account key, use [`NOT_IDEMPOTENT`]. 429 is not in the documented
/// list, and a conflict is not retried: see [`READ_MODIFY_WRITE`]. Where a new resource may be missing for a
/// while, add 404:
///
/// ```
/// use backoff_cloud::{codes, iam, Policy};
///
/// const JUST_CREATED: Policy = iam::REQUEST.also_on(codes![404]);
/// ```
///
/// Source: <https://cloud.google.com/iam/docs/retry-strategy>.
pub const REQUEST: Policy = Policy::exponential()
    .base(Duration::from_secs(1))
    .factor(2.0)
    .max_backoff(Duration::from_secs(64))
    .jitter(DOCUMENTED_JITTER)
    .deadline(Duration::from_secs(300))
    .on(codes![500, 502..=504])
    .name("iam::REQUEST");

/// One request to IAM that must not be applied twice, such as the creation of a service account key. It is
/// retried only if it was not sent, because no connection was made.
///
/// None of the documented codes shows that IAM did nothing. So a 503 or a lost reply ends with
/// [`StopReason::MaybeApplied`](backoff_core::StopReason::MaybeApplied). A 429 shows that IAM did nothing,
/// but the documentation does not list it. To retry a 429 too, write
/// `iam::NOT_IDEMPOTENT.also_on(codes![429])`.
///
/// ```
/// use backoff_cloud::{Verdict, iam, TimedOut};
///
/// let lost = TimedOut::new(std::time::Duration::from_secs(10));
/// assert_eq!(iam::NOT_IDEMPOTENT.judge(&lost), Verdict::MaybeApplied);
/// assert_eq!(iam::REQUEST.judge(&lost), Verdict::from(true));
/// ```
///
/// Source: <https://cloud.google.com/iam/docs/retry-strategy>.
pub const NOT_IDEMPOTENT: Policy = REQUEST.idempotent(false).name("iam::NOT_IDEMPOTENT");

/// One request that needs a role granted a moment ago. 403 (`PERMISSION_DENIED`) and 429, a limit that Google also sends
/// with a 403, are retried until the grant takes effect, for up to eight minutes: 19 or 20 attempts, at least one of them after the seventh
/// minute. The failures of [`REQUEST`] are retried too.
///
/// # When not to use it
///
/// - For a permission that may never have been granted. IAM's reply is the same 403, so such a request fails
///   only after eight minutes. Use this policy for the first request after a grant, and another one for all
///   later requests.
/// - After a change of a group's members. Google documents several minutes for it, potentially hours.
/// - After a role was revoked. The old permission may work for as long, and no reply shows it.
///
/// For a request that must not be applied twice use `iam::AFTER_GRANT.idempotent(false)`. It retries a 403,
/// because this reply shows that nothing was done.
///
/// ```
/// use backoff_cloud::{iam, retry};
/// # use backoff_cloud::TimedOut as ApiError;
/// # struct Client;
/// # impl Client { async fn access_secret(&self, _: &str) -> Result<String, ApiError> { Ok("secret".into()) } }
///
/// // The service account of this client was given `roles/secretmanager.secretAccessor` just now.
/// #[retry(policy = iam::AFTER_GRANT)]
/// async fn first_access(client: &Client, name: &str) -> Result<String, ApiError> {
///     client.access_secret(name).await
/// }
/// ```
///
/// # Until every reply shows the grant
///
/// After one request has succeeded, the next one may still fail, because another server answers it that does
/// not know the grant yet. If that matters, ask until several replies in a row show the grant
/// ([`consecutive`](backoff_core::Retrying::consecutive)). The waits between these replies are the policy's
/// first wait, here 1 to 2 s. After a 403 the count begins again.
///
/// ```
/// use backoff_cloud::{NotYet, iam};
///
/// # #[cfg(feature = "tokio")]
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), NotYet> {
/// # let mut replies = [false, true, false, true, true, true].into_iter();
/// # let mut has_permission = || std::future::ready(Ok::<_, NotYet>(replies.next().unwrap()));
/// iam::AFTER_GRANT.retry(|| has_permission()).until(|granted| *granted).consecutive(3).await?;
/// # assert_eq!(replies.next(), None);
/// # Ok(()) }
/// # #[cfg(not(feature = "tokio"))] fn main() {}
/// ```
///
/// Sources: <https://cloud.google.com/iam/docs/access-change-propagation> (2 and 7 minutes),
/// <https://cloud.google.com/iam/docs/retry-strategy> (the waits). The deadline is our choice.
pub const AFTER_GRANT: Policy = REQUEST
    .max_backoff(Duration::from_secs(32))
    .deadline(Duration::from_secs(480))
    .also_on(codes![403, 429])
    .name("iam::AFTER_GRANT");

/// A whole read-modify-write of an allow policy: read it, change it, write it back with its etag. The failures
/// of [`REQUEST`], 429 and conflicts (409 with the code `ABORTED`) are retried.
///
/// The retried function must read the policy before it writes it, as in the example of [the module](self).
///
/// Source: <https://cloud.google.com/iam/docs/retry-strategy>. Full jitter, 429 and the sum of a hint and the
/// backoff are [our choices](crate::presets::sources#iam).
pub const READ_MODIFY_WRITE: Policy = REQUEST
    .jitter(Jitter::Full)
    .also_on(codes![429, Codes::ABORTED])
    .retry_conflicts(true)
    .spread_retry_after(true)
    .name("iam::READ_MODIFY_WRITE");
