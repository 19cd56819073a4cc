//! After this page you can change a value that others change at the same time, and no change is lost.
//!
//! # The rule
//!
//! A value has a *version*: an etag, a generation, a row's counter. Read the value with its version,
//! change it, and write it back on the condition that the version is still the same. If somebody else was
//! faster, the service refuses the write. That is a *conflict*: 409 `ABORTED`, 412, a failed condition.
//!
//! To send the refused write again is useless: its version stays old. The whole of read, change and write
//! has to be repeated. The library has three ways to say that.
//!
//! | way | use it where |
//! |---|---|
//! | [a function](#a-function) or a block | the steps belong together in your code already |
//! | [`update`](#update) | you can give read, change and write one by one: the safest way |
//! | [`iam::add` and its relatives](#members-of-a-role) | a role of Google Cloud IAM is given or taken |
//!
//! # A function
//!
//! Annotate the function that contains the read *and* the write, with a policy that retries conflicts:
//! [`iam::READ_MODIFY_WRITE`](crate::iam::READ_MODIFY_WRITE),
//! [`storage::READ_MODIFY_WRITE`](crate::storage::READ_MODIFY_WRITE),
//! [`dynamodb::READ_MODIFY_WRITE`](crate::dynamodb::READ_MODIFY_WRITE),
//! [`azure::READ_MODIFY_WRITE`](crate::azure::READ_MODIFY_WRITE),
//! [`s3::READ_MODIFY_WRITE`](crate::s3::READ_MODIFY_WRITE), [`kubernetes::UPDATE`](crate::kubernetes::UPDATE). Here
//! [the emulator](super::testing#a-service-that-fails-on-command) says that somebody else was faster, once:
//!
//! ```rust,ignore
//! use backoff_cloud::{http::{self, ApiError}, iam, retry};
//! use emulator::{Call, Emulator, Reply};
//! use serde_json::{Value, json};
//!
//! // `scaled` makes the waits shorter, for this demonstration only, and the deadline too, unless you set one.
//! #[retry(policy = iam::READ_MODIFY_WRITE.scaled(0.01), deadline = "60s")]
//! async fn grant(client: &reqwest::Client, project: &str, member: &str) -> Result<Value, ApiError> {
//!     let options = r#"{"options": {"requestedPolicyVersion": 3}}"#;
//!     let read = client.post(format!("{project}:getIamPolicy")).body(options);
//!     let mut policy: Value = http::json(read.send().await?).await?;
//!
//!     let mut bindings = policy["bindings"].as_array().cloned().unwrap_or_default();
//!     bindings.push(json!({"role": "roles/viewer", "members": [member]}));
//!     policy["bindings"] = bindings.into();
//!
//!     let body = json!({"policy": policy}).to_string(); // with the etag that was read
//!     let write = client.post(format!("{project}:setIamPolicy")).body(body);
//!     http::json(write.send().await?).await
//! }
//!
//! let emulator = Emulator::start()?;
//! emulator.script(Call::SetIamPolicy, [Reply::status(409)]);
//! let project = format!("{}/v3/projects/p", emulator.url());
//!
//! grant(&reqwest::Client::new(), &project, "user:ann@example.com").await?;
//! assert_eq!(emulator.stats().calls, 4); // two reads, two writes
//! ```
//!
//! In the middle of a function, `retry_block!(policy = POLICY, async { .. })` does the same with the variables around
//! it; `?` and `return` leave the attempt, not the function.
//!
//! Both forms have one weakness. If the reply to a write is lost, the body runs again and makes the change a
//! second time. That does no harm to a set of members. It does harm to a counter.
//!
//! # `update`
//!
//! [`update`](crate::Policy::update) takes the three steps one by one. Then the library knows which step
//! failed:
//!
//! - A conflict is retried whatever the policy says of conflicts, and always from the read. (A 409 without
//!   a gRPC code is retried only where the policy names 409, because it may also mean that something exists.
//!   `iam::add`, `iam::remove` and `iam::Members` create nothing, so they retry it.)
//! - The write gets the value that was read, and nothing else, so it cannot write blindly.
//! - A change that returns `false` writes nothing, and the result is
//!   [`Updated::Unchanged`](crate::Updated::Unchanged).
//! - After a write that may have been applied, nothing is applied twice. How that works depends on what
//!   the change returns:
//!
//! | the change | returns | after a lost reply |
//! |---|---|---|
//! | recognises its own effect: "the member is there already" | `bool` | read again; `false` means that the write arrived |
//! | cannot recognise its effect: a counter | nothing | the update ends with [`MaybeApplied`](crate::StopReason::MaybeApplied) |
//! | the same, and the value has a version | nothing, with `.version(..)` | read again; with the same version write again, with another one end with `MaybeApplied`, also if only the own write made it |
//!
//! A weak etag (`W/"1"`) in `If-Match` never holds ([RFC
//! 9110](https://www.rfc-editor.org/rfc/rfc9110#section-13.1.1)): each write gets a 412. Some servers make the etag of
//! a compressed reply weak: read without compression (`.no_gzip()` of reqwest's client).
//!
//! A counter with a version:
//!
//! ```
//! use backoff_cloud::{Fault, Policy, Updated};
//! use std::cell::RefCell;
//!
//! #[derive(Debug, Fault)]
//! #[fault(conflict)]
//! struct Stale; // for `?` in a function that returns `Box<dyn Error>`, implement `std::error::Error` too
//!
//! #[derive(Clone, Default)]
//! struct Row { count: u32, version: u64 }
//! #[derive(Default)]
//! struct Table(RefCell<Row>);
//! impl Table {
//!     async fn read(&self) -> Result<Row, Stale> { Ok(self.0.borrow().clone()) }
//!     async fn write(&self, row: Row) -> Result<(), Stale> {
//!         let mut stored = self.0.borrow_mut();
//!         if row.version != stored.version { return Err(Stale); }
//!         *stored = Row { version: row.version + 1, ..row };
//!         Ok(())
//!     }
//! }
//!
//! const POLICY: Policy = Policy::exponential().deadline(std::time::Duration::from_secs(60));
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let table = Table::default();
//! let add_one = || POLICY
//!     .update(|| table.read(), |row| row.count += 1, |row| table.write(row))
//!     .version(|row| row.version);
//!
//! let (first, second) = tokio::join!(add_one(), add_one());
//! assert!(matches!((first, second), (Ok(Updated::Written(())), Ok(Updated::Written(())))));
//! assert_eq!(table.0.borrow().count, 2);
//! # Ok(()) }
//! ```
//!
//! `.version(..)` does a second thing: after a conflict the wait follows from how long an attempt takes:
//! [a pace](super::many_writers#what-a-pace-is).
//!
//! Some stores report a conflict as a value: etcd's `succeeded`, an `EXEC` of Redis that returns nothing.
//! Name such a reply by [`conflict_if`](crate::Retrying::conflict_if). DynamoDB, Spanner, Firestore and
//! PostgreSQL have errors for it, and [Databases](super::databases) shows whole transactions.
//!
//! # Members of a role
//!
//! [`iam::add`](crate::iam::add) and [`iam::remove`](crate::iam::remove) are an update that is written already: the
//! etag, the conditions, the spelling of members and a minute for each attempt are taken care of. The client is one of
//! Google's own, plain REST, or a [store](crate::iam::PolicyStore) of yours:
//! `iam::add(&client, "projects/p", "roles/viewer", "user:ann@example.com").await?`.
//!
//! The first request that needs a new role has [`iam::AFTER_GRANT`](crate::iam::AFTER_GRANT).
//!
//! Previous: [Idempotency](super::idempotency) · next: [Many writers](super::many_writers)
