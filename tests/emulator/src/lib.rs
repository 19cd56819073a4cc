//! A local HTTP service for tests with the paths, JSON and errors of Google Cloud IAM and Memorystore. A
//! test can make it answer with conflicts, throttling and failures.
//!
//! Code that changes an allow policy must handle rare failures: another client writes between its read and
//! its write, a 503 arrives although the write was applied, a connection breaks. Code that creates an
//! instance and waits for it must handle such failures too. The emulator makes them as often as a test
//! asks.
//!
//! ```
//! use emulator::{Call, Emulator, Reply};
//! use serde_json::{Value, json};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
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
//! // The etag in `body` is stale now.
//! assert_eq!(write().await?.status(), 409);
//!
//! let stats = emulator.stats();
//! assert_eq!((stats.writes, stats.conflicts, stats.faults), (1, 1, 1));
//! assert_eq!(emulator.policy("projects/p/secrets/s")["bindings"], read["bindings"]);
//! # Ok(())
//! # }
//! ```
//!
//! Google's own clients work with the emulator: give them anonymous credentials, and [`url`](Emulator::url)
//! as the endpoint.
//!
//! # Allow policies
//!
//! - `GET` and `POST /v1/{resource}:getIamPolicy`, and `POST /v1/{resource}:setIamPolicy`; `v2` and `v3` do the same. The policy of a secret is read by GET
//!   only, as in the Secret Manager: a POST gets 404.
//! - Every resource exists from the start. Its first policy has only an etag.
//! - A write with a stale etag gets 409 `ABORTED`. A write without an etag replaces the bindings whatever they
//!   are, as in the real service, and is counted as blind.
//! - A write replaces the bindings and keeps all other fields, as the [documented `updateMask`][mask] says by
//!   default. A write with another mask gets 400. Bindings without members are removed.
//! - [Versions][versions]: a read shows conditions only if it asks for version 3. Any other read shows a
//!   conditional binding without its condition, and with a role that ends in `_withcond_` and a hash. A
//!   write with conditions gets 400 if it does not say `"version": 3`. A write of another version gets 400
//!   if it would replace bindings with conditions; without an etag it is applied and the conditions are
//!   lost, as in the real service. A policy without conditions has version 1, whatever version was written.
//!
//! [mask]: https://cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts/setIamPolicy
//! [versions]: https://cloud.google.com/iam/docs/allow-policies#versions
//!
//! # Memorystore
//!
//! - `/v1/projects/*/locations/*/instances`: list, create with `?instanceId=`, get and delete;
//!   `…/operations`: get. The states and types are those of Memorystore for Valkey. A list has one page.
//! - The reply to a create or a delete is a [long-running operation](https://google.aip.dev/151) that is
//!   done [after a while](Builder::operations_take), by real time. Until then the instance is `CREATING` or
//!   `DELETING`.
//! - Reads may [not find a new instance for a while](Builder::appears_after): 404.
//! - A create of an existing instance gets 409 `ALREADY_EXISTS`, a delete of a missing instance 404
//!   `NOT_FOUND`, a delete of an instance that is not ready 400 `FAILED_PRECONDITION`.
//! - A create or delete with a [`requestId`](https://google.aip.dev/155) that was used before gets the
//!   operation that the first request started.
//! - An operation fails if a script [says so](Reply::failed_operation).
//! - An instance has the fields of the create request, unchecked, a name and a state.
//!
//! # Limits of the emulator
//!
//! Any other request gets 400 `INVALID_ARGUMENT` or 404 `NOT_FOUND` in Google's JSON, at once. A malformed
//! request uses no scripted reply and no token of the rate limit. A request of more than 2 MB gets 413.
//!
//! The emulator checks neither credentials nor the names of roles, members and instances. Any resource but a
//! secret is read by GET and by POST, although most real services have only one of the two. All data is in
//! memory.
//!
//! # How the emulator chooses a reply
//!
//! A scripted reply comes first, whatever the rate limit and the rates are. Then the rate limit may refuse
//! the call. Then the emulator draws one number from the seed and compares it with the rates of the
//! [`Faults`]. The same seed and the same order of unscripted calls give the same faults.

mod builder;
mod fault;
mod half;
mod handle;
mod instances;
mod operation;
mod policies;
mod refusal;
mod reply;
mod request;
mod server;
mod stats;
mod world;

pub use self::builder::Builder;
pub use self::fault::{Call, Faults};
pub use self::handle::Emulator;
pub use self::reply::Reply;
pub use self::stats::Stats;
