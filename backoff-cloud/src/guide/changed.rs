//! After this page you know what to write in place of each name that was removed, and which names are used in another way
//! now.
//!
//! The tables are for programs that were written with the repository as it was until 26 November 2026. Names stand
//! without their crate, because `backoff_cloud` has all names of `backoff_core`. A test compares the tables with the
//! lists of public items, so no removed name is missing. CHANGELOG.md says what else changed.
//!
//! # Removed names
//!
//! | removed from calls | write |
//! |---|---|
//! | `Policy::retry_mut`, `drive::Judged::retry_mut` | `retry_block!` or `#[retry]`: [see below](#retry_mut) |
//! | `max_wait`: the method and the key | [`max_queue_time`](crate::Retrying::max_queue_time) |
//! | `drive` | the module [`call`](crate::call), which has all names that are not in this table |
//! | `drive::Funded`, `drive::Rated`, `drive::Named` | [`call::With`](crate::call::With) |
//! | `drive::Awaits`, `drive::Blocks`, `drive::Plain`, `drive::WithAttempt`, `drive::Settings`, `drive::Limited`, `drive::MaxWait`, `drive::ConflictIf`, `drive::Until`, `drive::Responses`, `drive::Notify`, `drive::Measured`, `drive::Spans`, `drive::StoppedBy`, `drive::Unstopped`, `drive::Versioned` | nothing: the parts of a call have no public names. Return `impl Future<Output = Result<T, E>>`, or store `Box::pin(call.owned())` as a `Pin<Box<dyn Future<Output = Result<T, E>>>>` |
//! | `delay::Passed`, `drive::Version::passed` | nothing: a [`Version`](crate::call::Version) has only `is_same` |
//! | `Policy::queue_settings` | the settings by hand, by the table in [Beyond one process](super::jobs#queues-that-repeat-by-themselves) |
//! | `tower::Outgoing::said` | [`tower::Outgoing::idempotent`](crate::tower::Outgoing::idempotent) |
//!
//! | removed from combined changes and IAM | write |
//! |---|---|
//! | `many` | the module [`combine`](crate::combine), with the feature `combine`, which is on by default in `backoff-cloud` |
//! | `many::Combining::attempt_timeout`, `many::Combining::conflict_if`, `many::Combining::operation`, `many::Combining::runtime`, `many::Combining::version` | the update of a group by yourself, with these settings: the page of [`Combining`](crate::combine::Combining) has one |
//! | `many::Updating` | [`combine::Changing`](crate::combine::Changing), without limits of its own: its page says what to write for a deadline and for a signal. Attempts belong to all callers of a group |
//! | `many::UpdatingReported` | nothing: the log and the metrics count the attempts of a group |
//! | `many::CombineError::OutOfTime`, `many::CombineError::Stopped` | [`CombineError::Left`](crate::combine::CombineError::Left) |
//! | `delay::Pace::combines` | nothing: a pace counts conflicts only |
//! | `iam::Members::at_most`, `iam::Members::attempt_timeout`, `iam::Members::operation` | the same method of [`MembersSettings`](crate::iam::MembersSettings): `members.set(\|it\| it.at_most(1_000))` |
//! | `iam::MemberChange` | [`combine::Changing`](crate::combine::Changing), the future that `Members::add` returns; `into_future()` is not needed |
//! | `iam::MemberChange::when` | [`Members::change`](crate::iam::Members::change) with a [`Grant`](crate::iam::Grant): `members.change(resource, Grant::add(role, member).condition(condition))` |
//! | `iam::ReportedChange` | `Pin<Box<dyn Future<..> + Send>>`, which `.reported()` returns |
//! | `iam::store`, `iam::StoreFns` | a type of your own that implements [`iam::PolicyStore`](crate::iam::PolicyStore); its page has one |
//!
//! | removed from tests and the guide | write |
//! |---|---|
//! | `emulator`: the module and the feature; `emulator::Emulator`, `emulator::Builder`, `emulator::Call`, `emulator::Faults`, `emulator::Reply`, `emulator::Stats` | the same names of the package `emulator` in the repository's folder `tests/emulator`. In `[dev-dependencies]`: `emulator = { git = ".." }` |
//! | `guide::traps` | the page `guide::right_and_wrong` |
//!
//! # Names that are used in another way
//!
//! | before | now |
//! |---|---|
//! | `iam::add(..).when(condition)`, and `remove` | [`iam::change`](crate::iam::change)`(&client, resource, Grant::add(role, member).condition(condition))`. `when` takes a function that judges errors |
//! | `.blocking(..).reported()` | `.blocking(..).reported().call()` |
//! | [`Resuming<'p>`](crate::Resuming), and `let mut resuming = POLICY.resuming();` | `Resuming<'p, E>`, where `E` is the error; the `let` stays, because `failed(error)` tells the compiler `E` |
//! | `Retrying<&Policy, Plain<Awaits<F>>>` and other types of calls, written out | let the compiler infer them. `Resuming` and [`http::Sent`](crate::http::Sent) name a call without settings; `call::Reported` has the parameters of its call |
//! | a blocking call that is cloned, copied or printed | make the call again |
//! | `http::Sending`, `http::Sent<T>`, `iam::Change<'a, S>`, `tower::RetryLayer`, `tower::Retry`, `tower::Reply` | the same, with one more parameter, which has a default |
//! | [`.rate(&rate)`](crate::Retrying::rate) and the key `rate` around any error | the error has `From<TimedOut>` |
//! | `hint::in_headers(&headers, now)` | [`hint::in_headers`](crate::hint::in_headers)`(status, &headers, now)` |
//! | `hint::retry_after_ms(text)` | [`hint::retry_after_ms`](crate::hint::retry_after_ms)`(text, now)` |
//! | `pace.read(now, Passed::Same)`, `Passed::Changed`, `Passed::Writes(n)` | [`pace.read`](crate::delay::Pace::read)`(now, true)`, and `false` for the others |
//! | a `PolicyStore` that is not `Sync`, or whose policy or error is not `Send + Sync + 'static` or `Clone` | all of them are: [`iam::PolicyStore`](crate::iam::PolicyStore) |
//! | `CombineError::Interrupted` | [`CombineError::Interrupted`](crate::combine::CombineError::Interrupted)` { may_be_applied }` |
//! | `combine::Combining<K, V, W, E, R>` | the same without the runtime `R`. A runtime of your own gives a closure to [`Combining::on`](crate::combine::Combining::on) |
//! | a `base` that is longer than `max_backoff` or the `deadline`, a `throttled_base` longer than `max_backoff`, a `deadline` of zero | do not compile, and are refused in a configuration |
//!
//! # retry_mut
//!
//! ```ignore
//! // before
//! let value = POLICY.retry_mut(async || client.get().await).await?;
//! ```
//!
//! ```
//! // after, with each setting of a call as a key
//! use backoff_cloud::{Policy, TimedOut, retry, retry_block};
//!
//! const POLICY: Policy = Policy::exponential();
//!
//! struct Client(u32);
//! impl Client {
//!     async fn get(&mut self) -> Result<u32, TimedOut> { self.0 += 1; Ok(self.0) }
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), TimedOut> {
//! let mut client = Client(0);
//! let value = retry_block!(policy = POLICY, async { client.get().await }).await?;
//!
//! // Or as a function:
//! #[retry(policy = POLICY)]
//! async fn get(client: &mut Client) -> Result<u32, TimedOut> {
//!     client.get().await
//! }
//! # assert_eq!((value, get(&mut client).await?), (1, 2));
//! # Ok(()) }
//! ```
