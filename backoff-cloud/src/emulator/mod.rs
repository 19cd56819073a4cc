//! A loopback service with the paths, JSON and errors of Google Cloud IAM and Memorystore, which
//! conflicts, throttles and fails on command.
//!
//! Code that reads a policy, changes it and writes it back is right only if it survives what
//! happens on a bad day: another writer in between, a 503 after the write went through, a
//! connection that dies. So is code that creates an instance and awaits it. This makes a bad day,
//! as often as a test asks for one.
//!
//! ```
//! use backoff_cloud::emulator::{Call, Emulator, Reply};
//! use serde_json::{Value, json};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let _ = rustls::crypto::ring::default_provider().install_default();
//! let emulator = Emulator::start()?;
//! emulator.script(Call::SetIamPolicy, [Reply::status(503).retry_after("1")]);
//!
//! let client = reqwest::Client::builder().retry(reqwest::retry::never()).build()?;
//! let policy = format!("{}/v1/projects/p/secrets/s", emulator.url());
//! let read = client.get(format!("{policy}:getIamPolicy")).send().await?.text().await?;
//! let mut read: Value = serde_json::from_str(&read)?;
//! read["bindings"] = json!([{"role": "roles/viewer", "members": ["user:ann@example.com"]}]);
//!
//! let body = json!({"policy": read}).to_string();
//! let write = || client.post(format!("{policy}:setIamPolicy")).body(body.clone()).send();
//! let first = write().await?;
//! assert_eq!((first.status().as_u16(), &first.headers()["retry-after"]), (503, &"1".parse()?));
//! assert_eq!(write().await?.status(), 200);
//! // The etag in `body` is stale by now.
//! assert_eq!(write().await?.status(), 409);
//!
//! let stats = emulator.stats();
//! assert_eq!((stats.writes, stats.conflicts, stats.faults.statuses), (1, 1, 1));
//! assert_eq!(emulator.policy("projects/p/secrets/s")["bindings"], read["bindings"]);
//! # Ok(())
//! # }
//! ```
//!
//! Google's own clients talk to it as they are, with anonymous credentials and
//! [`url`](Emulator::url) for their endpoint.
//!
//! # Allow policies
//!
//! - `GET` and `POST /v1/{resource}:getIamPolicy`, `POST /v1/{resource}:setIamPolicy` and
//!   `POST /v1/{resource}:testIamPermissions`; `v2` and `v3` are the same. A secret's policy is read by GET alone, as the Secret Manager has it: a POST gets 404.
//! - Every resource exists from the start, with a policy that has nothing but an etag.
//! - A role is `roles/…`, `projects/*/roles/…` or `organizations/*/roles/…`, a member one of the
//!   [documented identifiers][members]; anything else gets 400 `INVALID_ARGUMENT`. Members are kept
//!   in lower case where case means nothing, and a binding without members is dropped.
//! - `testIamPermissions` grants everything to everybody. Where reads see writes late, it grants
//!   everything while the policy that a read would show has a binding, and nothing while that policy
//!   has none.
//! - Reads may see a write [only after a while](Builder::visible_after), and then [now and then at
//!   first](Builder::flaps_for), by real time. Whoever reads an old policy reads its old etag.
//! - A write with a stale etag gets 409 `ABORTED`. A write with none replaces whatever is there,
//!   as in the real service, and is counted as blind.
//! - An `updateMask` limits a write to the top-level fields it names. Without one it is the
//!   [documented default][mask], the bindings. Fields this module does not know are kept.
//! - [Versions][versions]: a read shows conditions only if it asks for version 3. To any other
//!   reader a conditional binding has no condition, and a role that ends in `_withcond_` and a
//!   hash; a write of such a role gets 400. So does one with conditions that does not say
//!   `"version": 3`, and one of another version that would replace bindings with conditions, unless
//!   it carries no etag: then they are lost, as in the real service. A policy without conditions is
//!   of version 1, whatever it was written with.
//!
//! [members]: https://cloud.google.com/iam/docs/principal-identifiers
//! [mask]: https://cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts/setIamPolicy
//! [versions]: https://cloud.google.com/iam/docs/allow-policies#versions
//!
//! # Memorystore
//!
//! - `/v1/projects/*/locations/*/instances`: list, create with `?instanceId=`, get and delete;
//!   `…/operations`: list, get, cancel and delete. In the words of Memorystore for Valkey or for
//!   Redis: see [`Memorystore`]. Lists come in pages; `filter` and `orderBy` are refused. A location
//!   `-` stands for all.
//! - A create and a delete answer with a [long-running operation](https://google.aip.dev/151) that
//!   is done [after a while](Builder::operations_take), by real time. Meanwhile the instance is
//!   `CREATING` or `DELETING`.
//! - A new instance may be [missing from reads for a while](Builder::appears_after): 404.
//! - A create of what is there gets 409 `ALREADY_EXISTS`, a delete of what is not there 404
//!   `NOT_FOUND`, a delete of what is not ready 400 `FAILED_PRECONDITION`.
//! - A create or delete with a [`requestId`](https://google.aip.dev/155) that it has seen answers
//!   with the operation that the first one started.
//! - An operation fails where a script [says so](Reply::failed_operation).
//! - An instance has the fields it was created with, checked by nobody, and a name, a state, the
//!   time of its creation, and an address at which nobody listens.
//!
//! # What is neither
//!
//! Anything else gets 400 `INVALID_ARGUMENT` or 404 `NOT_FOUND` in Google's JSON, at once: a
//! malformed request uses up no scripted reply and no token of the rate limit. Paths are not
//! percent-decoded.
//!
//! It checks no credentials, nor whether a role or a member exists or may be given there; it merges
//! neither bindings nor members that are there twice; any resource but a secret is read by GET and
//! by POST, though most services have one of the two. It keeps everything in memory.
//!
//! # How a call is decided about
//!
//! A reply scripted for it comes first, whatever the rate limit and the rates say. Then the rate
//! limit may refuse it. Then one number is drawn from the seed and held against the
//! [`Faults`]' rates. The same seed and the same order of unscripted calls give the same faults.

mod builder;
mod demand;
mod fault;
mod handle;
mod iam;
mod instances;
mod refusal;
mod reply;
mod request;
mod route;
mod server;
mod stats;
mod wire;
mod world;

pub use self::builder::Builder;
pub use self::fault::{Call, Faults};
pub use self::handle::Emulator;
pub use self::instances::product::Memorystore;
pub use self::reply::Reply;
pub use self::stats::{FaultCounts, Stats};
