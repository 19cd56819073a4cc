//! Where the numbers of the presets come from, and what this library chose where a source names none.
//!
//! [`presets`](super) has the numbers, and the page of each module says what is retried.
//!
//! # aip194
//!
//! The retried code is the AIP's. The AIP names no waits and no end. The waits and the end are those of
//! Google's own Rust client, google-cloud-gax, whose strict policy is named after the AIP
//! (<https://docs.rs/google-cloud-gax>).
//!
//! Our choices:
//!
//! - The policies wait as long as `Retry-After` and `google.rpc.RetryInfo` ask. google-cloud-gax does not.
//! - The AIP never retries a request that must not be made twice. [`NOT_IDEMPOTENT`](crate::aip194::NOT_IDEMPOTENT)
//!   retries such a
//!   request where it was not sent, because a request that was not sent changes nothing.
//!
//! Sources read on 2026-11-21.
//!
//! # anthropic
//!
//! - Statuses, waits and attempts: Anthropic's client for Python, version 2.12
//!   (<https://github.com/anthropics/anthropic-sdk-python/blob/main/src/anthropic/_base_client.py>). Before retry `n`
//!   the client waits `min(2ⁿ · 0.5 s, 8 s)`, up to a quarter shorter.
//! - 529 and the other errors: "Errors" (<https://platform.claude.com/docs/en/api/errors>). The reset headers: "Rate
//!   limits" (<https://platform.claude.com/docs/en/api/rate-limits>).
//!
//! Our choices:
//!
//! - A hint of more than five minutes ends the call, as with every policy of this library. Anthropic's client obeys
//!   hints of any length. The hint is in [`last_retry_after`](crate::RetryError::last_retry_after).
//! - A hint is the least wait: where the policy's own wait is longer, the call waits longer.
//! - The interval of [`BATCH`](crate::anthropic::BATCH) is that of [`openai::BATCH`](crate::openai::BATCH). The
//!   example of Anthropic's page asks once a minute.
//!
//! Sources read on 2026-11-23.
//!
//! # aws
//!
//! - The page "Retry behavior" of the SDKs' reference guide
//!   (<https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html>): the attempts, the waits,
//!   full jitter, and a quota of 500 tokens, of which a retry takes 14, or 5 after throttling.
//! - The announcement of 2026
//!   (<https://aws.amazon.com/blogs/developer/announcing-updated-retry-behavior-for-aws-sdks-and-tools/>) says
//!   what is new in this revision. It is the default since 10 November 2026 in the SDKs for Python (botocore 1.44),
//!   JavaScript (3.1166), Go (1.48), C++ (1.11.926), and in the CLI (2.40). The SDK for Rust (aws-config 1.13.0, with
//!   `BehaviorVersion::v2026_01_12()` as its newest) has it with the environment variable `AWS_NEW_RETRIES_2026=true`.
//!   The SDKs for Java and Kotlin do not have it yet.
//! - The codes: see [`kind`](crate::aws::kind).
//!
//! | | revision 2.1, [`STANDARD`](crate::aws::STANDARD) | before |
//! |---|---|---|
//! | base of the waits | 50 ms, after throttling 1 s | 1 s (JavaScript 100 ms; Java 100 and 500 ms) |
//! | a wait | between zero and min(base · 2ⁿ, 20 s) | the same |
//! | attempts | 3 | 3 (Java 4, C++ 11) |
//! | a retry takes, of 500 tokens | 14, after throttling 5 | 5, after a timeout 10 |
//! | a success gives back | the tokens of the last retry, or 1 | the same |
//! | `x-amz-retry-after` | obeyed, at most 5 s longer than the own wait | not read |
//! | DynamoDB | base 25 ms, 4 attempts | the same as others (.NET 10 attempts) |
//! | a long poll, and no tokens are left | waits, and then returns the error: [`long_poll`](crate::aws::long_poll) | returns the error at once |
//!
//! Our choices:
//!
//! - 429 is retried, as throttling. Most SDKs do not have this status in their lists, because they always know the code
//!   of the error; botocore repeats a 429 without a known code. An error of yours may know only the status.
//! - There is no adaptive mode, which slows down the first attempts too. The page does not recommend it.
//!
//! Sources read on 2026-11-23.
//!
//! # azure
//!
//! The general guidance ("Transient fault handling",
//! <https://learn.microsoft.com/azure/architecture/best-practices/transient-faults>) asks for exponential
//! backoff with some randomness, for a limit, and for respect for `Retry-After`. It leaves the numbers to the
//! SDKs, which differ by language. We took two of them:
//!
//! - [`REQUEST`](crate::azure::REQUEST): `Azure.Core` for .NET, which the clients of all services share. Its page
//!   (<https://learn.microsoft.com/dotnet/api/azure.core.retryoptions>) has no numbers, so they are from its
//!   sources (<https://github.com/Azure/azure-sdk-for-net/tree/main/sdk/core/Azure.Core/src>): the times and
//!   the retries from `RetryOptions.cs`, the jitter of 20 % from `DelayStrategy.cs`, the statuses from
//!   `ResponseClassifier.cs`.
//! - [`STORAGE`](crate::azure::STORAGE): the storage clients for JavaScript
//!   (<https://learn.microsoft.com/javascript/api/@azure/storage-blob/storageretryoptions>: `retryDelayInMs`,
//!   `maxRetryDelayInMs`, `maxTries`).
//! - [`READ_MODIFY_WRITE`](crate::azure::READ_MODIFY_WRITE): 412 and `If-Match` are in
//!   <https://learn.microsoft.com/azure/storage/blobs/concurrency-manage>.
//!
//! Our choices:
//!
//! - [`STORAGE`](crate::azure::STORAGE) has the statuses of [`REQUEST`](crate::azure::REQUEST), as the client for .NET
//!   has, and full jitter, because a
//!   storage account throttles all its clients at once. The page names neither.
//! - [`READ_MODIFY_WRITE`](crate::azure::READ_MODIFY_WRITE) has full jitter, because such retries compete with each
//!   other, and 10 attempts.
//!   The documentation names neither.
//! - The policies wait for the longer one of the server's hint and the backoff. Azure's own clients wait
//!   for the hint alone. If the hint is longer, [`READ_MODIFY_WRITE`](crate::azure::READ_MODIFY_WRITE) adds the
//!   backoff to it, so that writers
//!   who are told the same time do not come back together.
//!
//! Sources read on 2026-11-21.
//!
//! # dynamodb
//!
//! - [`REQUEST`](crate::dynamodb::REQUEST) is [`aws::STANDARD`](crate::aws::STANDARD) with the numbers that the SDKs
//!   have for DynamoDB
//!   (<https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html>): a base of 25 ms, because
//!   DynamoDB answers fast, and 4 attempts, so that the last wait is about as long as for other services.
//! - [`READ_MODIFY_WRITE`](crate::dynamodb::READ_MODIFY_WRITE): a conditional write whose condition does not hold is a
//!   conflict
//!   (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/BestPractices_OptimisticLocking.html>).
//!   The SDKs do not retry it.
//!
//! Our choices:
//!
//! [`READ_MODIFY_WRITE`](crate::dynamodb::READ_MODIFY_WRITE) has 10 attempts, because 4 are few when many writers
//! change one item. The waits of
//! 9 conflicts take up to 12.8 s together. The documentation names no number. Conflicts take no tokens
//! from the budget. A hint and the backoff are added, so that writers who are told the same time do not come
//! back together; the SDKs wait for the longer one of both.
//!
//! Sources read on 2026-11-21.
//!
//! # firestore
//!
//! - A transaction fails with `ABORTED` when another client has changed what it read, or when it waited
//!   too long for a lock. The client then repeats the whole transaction, with its reads: "Transaction
//!   failure" on <https://cloud.google.com/firestore/docs/manage-data/transactions>.
//! - The documentation names no waits. It says that the client libraries try "a finite number of times".
//!   The waits and the five attempts are those of the client for Python
//!   (<https://github.com/googleapis/python-firestore/blob/main/google/cloud/firestore_v1/base_transaction.py>).
//!   The other clients document five attempts as well
//!   (<https://firebase.google.com/docs/reference/js/firestore_.transactionoptions>).
//!
//! Our choices:
//!
//! We do not follow the client for Node.js. It does not wait after `ABORTED`, so transactions that
//! collided collide again. It also repeats a transaction after nearly every other failure, even after a
//! failed commit, which may have been applied (<https://github.com/googleapis/nodejs-firestore/pull/953>).
//!
//! Where many clients change the same documents, five attempts are few. Write
//! `firestore::TRANSACTION.max_attempts(20)`.
//!
//! Sources read on 2026-11-21.
//!
//! # github
//!
//! - The limits: "Rate limits for the REST API"
//!   (<https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api>) and "Troubleshooting the REST
//!   API" (<https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api>). After a secondary limit
//!   without a header: at least a minute, growing, and a finite number of attempts.
//! - Three retries: Octokit's plugin (<https://github.com/octokit/plugin-retry.js>).
//!
//! Our choices:
//!
//! - After throttling the policy waits as long as the reply asks, as Octokit does
//!   (<https://github.com/octokit/plugin-throttling.js>), and at least 1 s and up to 1 s more: a time that is over
//!   already means no retry at once. If the reply names no time, it waits a minute, then two, then four.
//! - After another failure the policy waits 1 s, 2 s and 4 s, and up to 1 s more.
//!
//! Sources read on 2026-11-23.
//!
//! # iam
//!
//! - "Retry strategy" (<https://cloud.google.com/iam/docs/retry-strategy>) asks for truncated exponential
//!   backoff with jitter: before retry *n*, counted from 0, the client waits
//!   `min(2ⁿ s + random fraction of a second, maximum backoff)`, and it stops after a deadline. The page
//!   names 32 and 64 s as maximums, and 300 s as an example of a deadline.
//! - "Access change propagation" (<https://cloud.google.com/iam/docs/access-change-propagation>): a change of
//!   an allow policy takes effect typically after 2 minutes, and potentially after 7 minutes or longer.
//!
//! Our choices:
//!
//! - [`READ_MODIFY_WRITE`](crate::iam::READ_MODIFY_WRITE) has full jitter. The documented fraction of a second is
//!   added before the maximum
//!   applies, so clients that have reached the maximum all wait for the same time. And the fraction is small
//!   beside a long wait. Many writers of one policy then meet again and again: simulated with 250 ms for each
//!   message, a base of 1 s, a maximum of 64 s and a deadline of 300 s, 22 % of 50 writers give up, and 50 % of
//!   100 writers. With full jitter no writer gives up
//!   (`cargo run --release -p examples --example simulation -- iam`, 1,000 seeds).
//!   [`DOCUMENTED_JITTER`](crate::iam::DOCUMENTED_JITTER) restores the documented formula:
//!   `iam::READ_MODIFY_WRITE.jitter(iam::DOCUMENTED_JITTER)`.
//! - [`READ_MODIFY_WRITE`](crate::iam::READ_MODIFY_WRITE) retries 429 and `RESOURCE_EXHAUSTED`, which the page does
//!   not list. Many writers of
//!   one policy use up a quota by their own retries, and the page warns of that. Measured with 32 writers of
//!   one policy and a quota of two calls a second, eight at once: with the documented codes alone 1 of 32
//!   members arrives, with 429 all do.
//! - [`AFTER_GRANT`](crate::iam::AFTER_GRANT) ends after 8 minutes, one more than the 7 minutes of the documentation.
//!   It has the
//!   smaller one of the two documented maximums, so that a request notices a grant at most 32 s late.
//! - [`READ_MODIFY_WRITE`](crate::iam::READ_MODIFY_WRITE) adds the backoff to a wait that the service asks for
//!   ([`spread_retry_after`](crate::Policy::spread_retry_after)). Else all writers who are told `Retry-After: 1` come
//!   back together, and use up the quota together again.
//! - After a conflict, [`add`](crate::iam::add), [`remove`](crate::iam::remove) and [`Members`](crate::iam::Members)
//!   wait at a [`Pace`](crate::delay::Pace), which
//!   follows from the number of conflicts and from the duration of an attempt. After every other failure
//!   they wait as [`READ_MODIFY_WRITE`](crate::iam::READ_MODIFY_WRITE) does, and count three sorts of failures
//!   separately: throttled ones,
//!   other failed reads since the last answered read, and other failed writes.
//!
#![doc = include_str!("../../doc/iam-contention.svg")]
//!
//! Sources read on 2026-11-21.
//!
//! # kubernetes
//!
//! - [`UPDATE`](crate::kubernetes::UPDATE) and [`UPDATE_MANAGED`](crate::kubernetes::UPDATE_MANAGED): `DefaultRetry`
//!   and `DefaultBackoff` of client-go
//!   (<https://github.com/kubernetes/client-go/blob/master/util/retry/util.go>): 5 attempts 10 ms apart, and 4 attempts
//!   after 10, 50 and 250 ms; each wait up to 10 % longer.
//! - [`REQUEST`](crate::kubernetes::REQUEST): the ten retries of client-go's REST client
//!   (<https://github.com/kubernetes/client-go/blob/master/rest/with_retry.go>). The API server asks for 1 to 32 s in
//!   the
//!   `Retry-After` of a 429.
//!
//! Our choices:
//!
//! - client-go repeats a 429 or a 5xx only if the reply has `Retry-After`. [`REQUEST`](crate::kubernetes::REQUEST)
//!   also repeats 500, 502, 503 and
//!   504 without it, with waits of its own: from 1 s to 32 s with full jitter.
//! - client-go repeats a conflict in one place and a 429 or a 5xx in another. [`UPDATE`](crate::kubernetes::UPDATE)
//!   repeats all of them, and the
//!   failures of the connection: the `resourceVersion` protects the second write. A hint and the backoff are added, so
//!   that writers who are told the same time do not come back together.
//!
//! Sources read on 2026-11-23.
//!
//! # memorystore
//!
//! - For [`REQUEST`](crate::memorystore::REQUEST):
//!   <https://cloud.google.com/memorystore/docs/redis/exponential-backoff>. The wait before
//!   retry *n*, counted from 0, is `min(2ⁿ s + up to 1000 ms, maximum backoff)`; 429 and every 5xx are
//!   retried. The document names 32 s and 64 s as usual maximums.
//! - For [`OPERATION`](crate::memorystore::OPERATION): [AIP-151](https://google.aip.dev/151) describes operations and
//!   leaves the pauses to the
//!   client. Google's client libraries wait
//!   [5 s before the second poll, 1.5 times as long before each further one, and at most 45
//!   s](https://github.com/googleapis/googleapis/blob/master/google/api/client.proto)
//!   unless the service configures something else. Google's configuration for Memorystore for Redis has a
//!   deadline of
//!   [7,200 s for a creation or a
//!   change](https://github.com/googleapis/googleapis/blob/master/google/cloud/redis/v1/redis_v1.yaml).
//! - For [`DATA`](crate::memorystore::DATA):
//!   <https://cloud.google.com/memorystore/docs/redis/high-availability-for-memorystore-for-redis>
//!   and <https://cloud.google.com/memorystore/docs/redis/general-best-practices>. A failover closes the
//!   connections to the primary, the instance is unavailable for a few seconds, and then the same address
//!   leads to the new primary. Scaling, upgrades and maintenance do the same. The documents ask for "retry
//!   logic with exponential backoff" and name no numbers for commands.
//!
//! Our choices:
//!
//! - [`REQUEST`](crate::memorystore::REQUEST) has a maximum of 64 s and 10 attempts, because the document names no
//!   number of retries.
//!   The waits of 9 retries take 255 to 262 s together. For the other maximum write
//!   `memorystore::REQUEST.max_backoff(Duration::from_secs(32))`. For a phone, which may need more retries and
//!   longer waits, write `memorystore::REQUEST.scaled(2.0).max_attempts(12)`.
//! - [`OPERATION`](crate::memorystore::OPERATION) does not use the pauses of the service's configuration, which begins
//!   with 60 s and goes
//!   up to 360 s. With at most 45 s the caller notices the end sooner, at the price of about 160 polls in
//!   two hours. As in [`REQUEST`](crate::memorystore::REQUEST), up to 1000 ms is added to each wait.
//! - All numbers of [`DATA`](crate::memorystore::DATA) are ours. The first wait is up to 20 ms, because a command
//!   takes about a
//!   millisecond and many failures are as short. The jitter is full, because a failover breaks the
//!   connections of all clients in the same moment. No wait is longer than 1 s, so a client notices the end
//!   of a failover soon. The deadline of 60 s is much longer than the few seconds of a failover.
//!
//! Sources read on 2026-11-21.
//!
//! # mysql
//!
//! MySQL's manual says what is retried: "InnoDB Error Handling"
//! (<https://dev.mysql.com/doc/refman/8.4/en/innodb-error-handling.html>) and "Deadlocks in InnoDB"
//! (<https://dev.mysql.com/doc/refman/8.4/en/innodb-deadlocks.html>): after a deadlock the transaction is rolled back,
//! and the program repeats it. The manual names no waits and no end. The numbers are in the lists of MySQL
//! (<https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html>) and of MariaDB
//! (<https://mariadb.com/docs/server/reference/error-codes>).
//!
//! Our choices:
//!
//! All numbers are those of [`postgres::TRANSACTION`](crate::postgres::TRANSACTION): see [its section](#postgres).
//!
//! Sources read on 2026-11-26.
//!
//! # openai
//!
//! - Statuses, waits and attempts: OpenAI's client for Python, version 3.54
//!   (<https://github.com/openai/openai-python/blob/main/src/openai/_base_client.py>). Before retry `n` the client
//!   waits `min(2ⁿ · 0.5 s, 8 s)`, up to a quarter shorter.
//! - The header `x-should-retry` and the hints: the same file. The reset headers: "Rate limits"
//!   (<https://platform.openai.com/docs/guides/rate-limits>).
//! - The codes of [`kind`](crate::openai::kind): "Error codes"
//!   (<https://platform.openai.com/docs/guides/error-codes>), and a copy of
//!   that list in <https://learn.microsoft.com/microsoft-cloud/dev/dev-proxy/>.
//!
//! Our choices:
//!
//! - A hint of more than five minutes ends the call, as with every policy of this library. OpenAI's client obeys
//!   hints of up to 120 s and gives up after a longer one. Write `.max_retry_after(Duration::from_secs(120))` for
//!   the same.
//! - A hint is the least wait: where the policy's own wait is longer, the call waits longer.
//! - A quota that is used up is final. OpenAI's client repeats such a request, unless the server says
//!   `x-should-retry: false`.
//! - The interval of [`BATCH`](crate::openai::BATCH): a batch takes up to 24 hours, and nobody documents how often to
//!   ask.
//!
//! Sources read on 2026-11-23.
//!
//! # plain_http
//!
//! - The methods: "Idempotent Methods", RFC 9110, section 9.2.2
//!   (<https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2>). A request with such a method has the same
//!   effect whether it is made once or twice. `QUERY` only reads
//!   (<https://datatracker.ietf.org/doc/draft-ietf-httpbis-safe-method-w-body/>).
//! - The statuses: see the table below.
//!
//! Our choices:
//!
//! No RFC names waits or an end. We take the defaults of [`Policy::exponential`](crate::Policy::exponential).
//!
//! Sources read on 2026-11-21.
//!
//! # postgres
//!
//! PostgreSQL's manual says what is retried
//! (<https://www.postgresql.org/docs/current/mvcc-serialization-failure-handling.html>): after a serialization
//! failure or a deadlock the client repeats the whole transaction, with the logic that decides what to
//! write. Under much contention this may take many attempts. The manual names no waits and no end.
//!
//! Our choices:
//!
//! All numbers are ours.
//!
//! We chose the base by a measurement: sixteen writers made 20 serializable transactions each on four rows
//! (mean of four runs; PostgreSQL 15 and the writers shared two cores).
//!
//! | base | conflicts | time |
//! |---|---|---|
//! | 1 ms | 342 | 2.6 s |
//! | 5 ms | 235 | 1.9 s |
//! | 10 ms | 158 | 1.4 s |
//! | 20 ms | 126 | 1.8 s |
//! | 50 ms | 95 | 1.7 s |
//! | 100 ms | 70 | 1.5 s |
//!
//! A base of 10 ms causes half the conflicts of 1 ms. With a longer base the writers are not done sooner,
//! and a single conflict waits longer. These transactions took some milliseconds each. If yours take longer,
//! use their duration as the base.
//!
//! - Full jitter separates the transactions that collided.
//! - No wait is longer than 1 s, so a client notices the end of a failover soon.
//! - If the server has no free connection, the first wait is up to 100 ms.
//! - The deadline of 30 s is longer than a restart of the server.
//!
//! Sources read on 2026-11-22.
//!
//! # pubsub
//!
//! The codes, the waits and the deadlines are those of the newest client that Google generates, the one
//! for Python (`google-cloud-pubsub` 2.44.0): `transports/base.py` of the
//! [publisher](https://github.com/googleapis/google-cloud-python/blob/main/packages/google-cloud-pubsub/google/pubsub_v1/services/publisher/transports/base.py)
//! and of the
//! [subscriber](https://github.com/googleapis/google-cloud-python/blob/main/packages/google-cloud-pubsub/google/pubsub_v1/services/subscriber/transports/base.py).
//! Google's clients draw each wait from zero up to the backoff, and so do these policies.
//!
//! Two other sources differ:
//!
//! - The service configuration that is published with the API
//!   (<https://github.com/googleapis/googleapis/blob/master/google/pubsub/v1/pubsub_grpc_service_config.json>)
//!   has the same codes, but for `INTERNAL` of a pull. It has a factor of 1.3 for all calls, and five
//!   attempts instead of a deadline.
//! - The page "Publish with retry settings"
//!   (<https://cloud.google.com/pubsub/docs/samples/pubsub-publisher-retry-settings>) has a factor of 4 for
//!   Node.js too. Its example in C++ gives up after 60 s; for that write
//!   `pubsub::PUBLISH.deadline(Duration::from_secs(60))`.
//!
//! Our choices:
//!
//! The sources name gRPC codes only. The policies also know the HTTP statuses that stand for these codes
//! in the JSON API. A status without a gRPC code, as a proxy sends it, is retried if all codes that it
//! can stand for are retried.
//!
//! Sources read on 2026-11-21.
//!
//! # s3
//!
//! - The waits, the attempts and the quota: as in [`aws`](crate::aws).
//! - Conditional writes: "Add preconditions to S3 operations"
//!   (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-requests.html>).
//! - `SlowDown`, and the error inside a 200: "Error responses"
//!   (<https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html>), `CopyObject`, `CompleteMultipartUpload`;
//!   and botocore's handlers (<https://github.com/boto/botocore/blob/develop/botocore/handlers.py>), which make such an
//!   error a 500.
//!
//! Our choices:
//!
//! - 409 `ConditionalRequestConflict` and `OperationAborted` are retried, as S3's page says. The lists of AWS' SDKs do
//!   not have these codes.
//! - The ten attempts of [`READ_MODIFY_WRITE`](crate::s3::READ_MODIFY_WRITE), and the sum of a hint and the backoff,
//!   so that writers who are
//!   told the same time do not come back together.
//!
//! Sources read on 2026-11-23.
//!
//! # spanner
//!
//! - Spanner may abort any read-write transaction, because of a lock or for internal reasons. The client
//!   then repeats the whole transaction: <https://cloud.google.com/spanner/docs/transactions>.
//! - The reply usually says in `google.rpc.RetryInfo` how long to wait. If it does not, Google's clients wait
//!   as after a failed call: 250 ms, factor 1.3, at most 32 s
//!   (<https://github.com/googleapis/googleapis/blob/master/google/spanner/v1/spanner_grpc_service_config.json>).
//! - The reference advises to limit the time and not the attempts, because one transaction can be aborted
//!   many times within a short while ("Retrying Aborted Transactions",
//!   <https://cloud.google.com/java/docs/reference/google-cloud-spanner/latest/com.google.cloud.spanner.TransactionContext>).
//!
//! Our choices:
//!
//! - Full jitter. The source names none, but transactions that were aborted together would meet again.
//! - A deadline of 300 s. The reference names no time. Users found the Java client's 30 s too short
//!   (<https://github.com/googleapis/java-spanner/issues/1008>).
//!
//! Sources read on 2026-11-21.
//!
//! # sqlite
//!
//! SQLite's pages say what is retried: "Result and Error Codes" (<https://www.sqlite.org/rescode.html>), of
//! `SQLITE_BUSY`,
//! `SQLITE_BUSY_SNAPSHOT` and `SQLITE_LOCKED`. The pages name no waits and no end.
//!
//! Our choices:
//!
//! All numbers are those of [`postgres::TRANSACTION`](crate::postgres::TRANSACTION): see [its section](#postgres).
//!
//! Sources read on 2026-11-23.
//!
//! # storage
//!
//! - What is retried: "Retry strategy" (<https://cloud.google.com/storage/docs/retry-strategy>).
//! - The waits: "Truncated exponential backoff" (<https://cloud.google.com/storage/docs/exponential-backoff>),
//!   `min(2ⁿ s + up to 1000 ms, maximum backoff)`, with a maximum of 32 or 64 s.
//! - The read-modify-write: "Request preconditions"
//!   (<https://cloud.google.com/storage/docs/request-preconditions>).
//!
//! Our choices:
//!
//! - The deadline of 300 s. The page asks for an end of the retries and names none; 300 s is the example
//!   in IAM's documentation.
//! - The full jitter of [`READ_MODIFY_WRITE`](crate::storage::READ_MODIFY_WRITE), and the sum of a hint and the
//!   backoff, because such retries
//!   compete with each other: [`iam`](#iam) has the figures.
//! - [`NOT_IDEMPOTENT`](crate::storage::NOT_IDEMPOTENT) retries a request that the service did not apply. Google's own
//!   clients never retry
//!   such a request unless the caller asks for it.
//!
//! Sources read on 2026-11-21.
