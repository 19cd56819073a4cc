//! All policies of this crate in two tables: how long each one waits and when it ends, and which
//! failures it retries.
//!
//! A test compares every cell of both tables with the constants. The page of a module, such as
//! [`iam`](crate::iam), names the sources of its numbers and the day on which they were read.
//!
//! # Waits and ends
//!
//! The column "waits" is the wait before retry `n`, counted from 0, without jitter. The column "jitter"
//! says how chance changes this wait:
//!
//! - `full`: the wait is drawn between zero and the formula.
//! - `+ 1 s`: up to 1 s is added to `2ⁿ s`; the maximum stays the same.
//! - `± 20 %`: the wait is up to 20 % shorter or longer; the maximum stays the same.
//!
//! A policy with a deadline begins no wait that would end after the deadline. The time counts from the
//! first attempt.
//!
//! | preset | for | waits | jitter | ends after |
//! |---|---|---|---|---|
//! | [`iam::REQUEST`](crate::iam::REQUEST) | a read of Google Cloud IAM, or a write with an etag | min(2ⁿ · 1 s, 64 s) | + 1 s | 300 s |
//! | [`iam::NOT_IDEMPOTENT`](crate::iam::NOT_IDEMPOTENT) | any other write to IAM | min(2ⁿ · 1 s, 64 s) | + 1 s | 300 s |
//! | [`iam::READ_MODIFY_WRITE`](crate::iam::READ_MODIFY_WRITE) | a whole read-modify-write of an allow policy | min(2ⁿ · 1 s, 64 s) | full | 300 s |
//! | [`iam::AFTER_GRANT`](crate::iam::AFTER_GRANT) | a request that needs a role granted a moment ago | min(2ⁿ · 1 s, 32 s) | + 1 s | 480 s |
//! | [`memorystore::REQUEST`](crate::memorystore::REQUEST) | a request to the API of Memorystore for Redis | min(2ⁿ · 1 s, 64 s) | + 1 s | 10 attempts |
//! | [`memorystore::OPERATION`](crate::memorystore::OPERATION) | polling an operation of Memorystore until it is done | min(1.5ⁿ · 5 s, 45 s) | + 1 s | 7,200 s |
//! | [`memorystore::DATA`](crate::memorystore::DATA) | a command to the Redis of an instance | min(2ⁿ · 20 ms, 1 s) | full | 60 s |
//! | [`storage::REQUEST`](crate::storage::REQUEST) | a read of Cloud Storage, or a write with a precondition | min(2ⁿ · 1 s, 64 s) | + 1 s | 300 s |
//! | [`storage::NOT_IDEMPOTENT`](crate::storage::NOT_IDEMPOTENT) | any other write to Cloud Storage | min(2ⁿ · 1 s, 64 s) | + 1 s | 300 s |
//! | [`storage::READ_MODIFY_WRITE`](crate::storage::READ_MODIFY_WRITE) | a whole read-modify-write of an object | min(2ⁿ · 1 s, 64 s) | full | 300 s |
//! | [`pubsub::PUBLISH`](crate::pubsub::PUBLISH) | publishing to Pub/Sub | min(4ⁿ · 100 ms, 60 s) | full | 600 s |
//! | [`pubsub::STREAMING_PULL`](crate::pubsub::STREAMING_PULL) | opening a stream of Pub/Sub again | min(4ⁿ · 100 ms, 60 s) | full | 1,800 s |
//! | [`pubsub::TOPIC_READ`](crate::pubsub::TOPIC_READ) | the publisher's reads | min(1.3ⁿ · 100 ms, 60 s) | full | 600 s |
//! | [`pubsub::TOPIC_WRITE`](crate::pubsub::TOPIC_WRITE) | the publisher's other calls | min(1.3ⁿ · 100 ms, 60 s) | full | 600 s |
//! | [`pubsub::PULL`](crate::pubsub::PULL) | pulling messages | min(1.3ⁿ · 100 ms, 60 s) | full | 60 s |
//! | [`pubsub::SUBSCRIPTION_READ`](crate::pubsub::SUBSCRIPTION_READ) | the subscriber's reads, `CreateSubscription`, `Seek` | min(1.3ⁿ · 100 ms, 60 s) | full | 60 s |
//! | [`pubsub::SUBSCRIPTION_WRITE`](crate::pubsub::SUBSCRIPTION_WRITE) | the subscriber's other calls | min(1.3ⁿ · 100 ms, 60 s) | full | 60 s |
//! | [`firestore::TRANSACTION`](crate::firestore::TRANSACTION) | a whole transaction of Firestore | min(2ⁿ · 1 s, 30 s) | full | 5 attempts |
//! | [`spanner::TRANSACTION`](crate::spanner::TRANSACTION) | a whole transaction of Spanner | min(1.3ⁿ · 250 ms, 32 s) | full | 300 s |
//! | [`aip194::REQUEST`](crate::aip194::REQUEST) | an idempotent request to any Google API | min(2ⁿ · 1 s, 60 s) | full | 10 attempts or 60 s |
//! | [`aip194::NOT_IDEMPOTENT`](crate::aip194::NOT_IDEMPOTENT) | any other request to any Google API | min(2ⁿ · 1 s, 60 s) | full | 10 attempts or 60 s |
//! | [`aws::STANDARD`](crate::aws::STANDARD) | a request to an AWS service | min(2ⁿ · 50 ms, 20 s), after throttling min(2ⁿ · 1 s, 20 s) | full | 3 attempts, or when the budget is empty |
//! | [`dynamodb::REQUEST`](crate::dynamodb::REQUEST) | a request to DynamoDB | min(2ⁿ · 25 ms, 20 s), after throttling min(2ⁿ · 1 s, 20 s) | full | 4 attempts, or when the budget is empty |
//! | [`dynamodb::READ_MODIFY_WRITE`](crate::dynamodb::READ_MODIFY_WRITE) | a whole read-modify-write with a condition | min(2ⁿ · 25 ms, 20 s), after throttling min(2ⁿ · 1 s, 20 s) | full | 10 attempts, or when the budget is empty |
//! | [`azure::REQUEST`](crate::azure::REQUEST) | a request to an Azure service | min(2ⁿ · 800 ms, 60 s) | ± 20 % | 4 attempts |
//! | [`azure::STORAGE`](crate::azure::STORAGE) | a request to Azure Storage | min(2ⁿ · 4 s, 120 s) | full | 4 attempts |
//! | [`azure::READ_MODIFY_WRITE`](crate::azure::READ_MODIFY_WRITE) | a whole read-modify-write with `If-Match` | min(2ⁿ · 800 ms, 60 s) | full | 10 attempts |
//! | [`postgres::TRANSACTION`](crate::postgres::TRANSACTION) | a whole transaction of PostgreSQL | min(2ⁿ · 10 ms, 1 s), after throttling min(2ⁿ · 100 ms, 1 s) | full | 30 s |
//! | [`plain_http::BY_METHOD`](crate::plain_http::BY_METHOD) | a request that `send` or the layer of tower sends to any HTTP service | min(2ⁿ · 1 s, 64 s) | full | 5 attempts |
//! | [`plain_http::IDEMPOTENT`](crate::plain_http::IDEMPOTENT) | a `GET`, `PUT` or `DELETE` to any HTTP service | min(2ⁿ · 1 s, 64 s) | full | 5 attempts |
//! | [`plain_http::NOT_IDEMPOTENT`](crate::plain_http::NOT_IDEMPOTENT) | a `POST` or `PATCH` to any HTTP service | min(2ⁿ · 1 s, 64 s) | full | 5 attempts |
//!
//! # Retried failures
//!
//! [`Policy::judge`](crate::Policy::judge) has the order of the rules. A reply that names a gRPC code is
//! judged by this code; only a reply without one is judged by its HTTP status. An error that knows its
//! [kind](crate::Fault::kind) is judged by the kind: the errors of AWS and Azure have one for the service's
//! codes that [`aws::kind`](crate::aws::kind) and [`azure::kind`](crate::azure::kind) know.
//!
//! The column "conflict" says whether the policy retries an error of the kind
//! [`Conflict`](crate::FaultKind::Conflict). The column "lost reply" says whether the policy retries a
//! request that may have been applied, because the connection broke after the request was sent. Every
//! policy retries a request that was not sent.
//!
//! | preset | HTTP statuses | gRPC codes | conflict | lost reply |
//! |---|---|---|---|---|
//! | `iam::REQUEST` | 500, 502 to 504 | `UNKNOWN`, `DEADLINE_EXCEEDED`, `INTERNAL`, `UNAVAILABLE` | no | yes |
//! | `iam::NOT_IDEMPOTENT` | none | none | no | no |
//! | `iam::READ_MODIFY_WRITE` | 429, 500, 502 to 504 | `UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `ABORTED`, `INTERNAL`, `UNAVAILABLE` | yes | yes |
//! | `iam::AFTER_GRANT` | 403, 500, 502 to 504 | `UNKNOWN`, `DEADLINE_EXCEEDED`, `PERMISSION_DENIED`, `INTERNAL`, `UNAVAILABLE` | no | yes |
//! | `memorystore::REQUEST` | 429, 500 to 599 | `UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `UNIMPLEMENTED`, `INTERNAL`, `UNAVAILABLE`, `DATA_LOSS` | no | yes |
//! | `memorystore::OPERATION` | 429, 500 to 599 | `UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `UNIMPLEMENTED`, `INTERNAL`, `UNAVAILABLE`, `DATA_LOSS` | no | yes |
//! | `memorystore::DATA` | 429, 500, 502 to 504 | `UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `INTERNAL`, `UNAVAILABLE` | no | yes |
//! | `storage::REQUEST` | 408, 429, 500 to 599 | `UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `UNIMPLEMENTED`, `INTERNAL`, `UNAVAILABLE` | no | yes |
//! | `storage::NOT_IDEMPOTENT` | 408, 429 | `RESOURCE_EXHAUSTED` | no | no |
//! | `storage::READ_MODIFY_WRITE` | 408, 412, 429, 500 to 599 | `UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `FAILED_PRECONDITION`, `UNIMPLEMENTED`, `INTERNAL`, `UNAVAILABLE` | yes | yes |
//! | `pubsub::PUBLISH` | 429, 499, 500, 502 to 504 | `CANCELLED`, `UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `ABORTED`, `INTERNAL`, `UNAVAILABLE` | no | yes |
//! | `pubsub::STREAMING_PULL` | 429, 502 to 504 | `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `ABORTED`, `INTERNAL`, `UNAVAILABLE` | no | yes |
//! | `pubsub::TOPIC_READ` | 502, 503 | `UNKNOWN`, `ABORTED`, `UNAVAILABLE` | no | yes |
//! | `pubsub::TOPIC_WRITE` | 502, 503 | `UNAVAILABLE` | no | yes |
//! | `pubsub::PULL` | 500, 502, 503 | `UNKNOWN`, `ABORTED`, `INTERNAL`, `UNAVAILABLE` | no | yes |
//! | `pubsub::SUBSCRIPTION_READ` | 502, 503 | `UNKNOWN`, `ABORTED`, `UNAVAILABLE` | no | yes |
//! | `pubsub::SUBSCRIPTION_WRITE` | 502, 503 | `UNAVAILABLE` | no | yes |
//! | `firestore::TRANSACTION` | none | `ABORTED` | yes | no |
//! | `spanner::TRANSACTION` | none | `ABORTED` | yes | no |
//! | `aip194::REQUEST` | 503 | `UNAVAILABLE` | no | yes |
//! | `aip194::NOT_IDEMPOTENT` | none | none | no | no |
//! | `aws::STANDARD` | 429, 500, 502 to 504 | `UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `INTERNAL`, `UNAVAILABLE` | no | yes |
//! | `dynamodb::REQUEST` | 429, 500, 502 to 504 | `UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `INTERNAL`, `UNAVAILABLE` | no | yes |
//! | `dynamodb::READ_MODIFY_WRITE` | 429, 500, 502 to 504 | `UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `INTERNAL`, `UNAVAILABLE` | yes | yes |
//! | `azure::REQUEST` | 408, 429, 500, 502 to 504 | `UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `INTERNAL`, `UNAVAILABLE` | no | yes |
//! | `azure::STORAGE` | 408, 429, 500, 502 to 504 | `UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `INTERNAL`, `UNAVAILABLE` | no | yes |
//! | `azure::READ_MODIFY_WRITE` | 408, 412, 429, 500, 502 to 504 | `UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `FAILED_PRECONDITION`, `INTERNAL`, `UNAVAILABLE` | yes | yes |
//! | `postgres::TRANSACTION` | none | none | yes | no |
//! | `plain_http::BY_METHOD` (not by `send` or a layer) | 408, 425, 429 | `RESOURCE_EXHAUSTED` | no | no |
//! | `plain_http::IDEMPOTENT` | 408, 425, 429, 500, 502 to 504 | `UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `INTERNAL`, `UNAVAILABLE` | no | yes |
//! | `plain_http::NOT_IDEMPOTENT` | 408, 425, 429 | `RESOURCE_EXHAUSTED` | no | no |

#[cfg(test)]
mod rules;
#[cfg(test)]
mod tests;
