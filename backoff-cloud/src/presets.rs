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
//! | `plain_http::IDEMPOTENT` | 408, 425, 429, 500, 502 to 504 | `UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `INTERNAL`, `UNAVAILABLE` | no | yes |
//! | `plain_http::NOT_IDEMPOTENT` | 408, 425, 429 | `RESOURCE_EXHAUSTED` | no | no |

#[cfg(test)]
mod tests {
    use crate::reply::{Says, life, retries, table};
    use backoff_core::{Decision, Delivery, FaultKind, Policy, RetryState, StopReason};
    use std::{collections::BTreeSet, fs, path::Path, time::Duration};

    const PAGE: &str = include_str!("presets.rs");

    macro_rules! constants {
        ($($module:ident: $($name:ident)+,)+) => {
            [$($((concat!(stringify!($module), "::", stringify!($name)), crate::$module::$name)),+),+]
        };
    }

    fn constants() -> [(&'static str, Policy); 30] {
        constants! {
            aip194: REQUEST NOT_IDEMPOTENT,
            aws: STANDARD,
            azure: REQUEST STORAGE READ_MODIFY_WRITE,
            dynamodb: REQUEST READ_MODIFY_WRITE,
            firestore: TRANSACTION,
            iam: REQUEST NOT_IDEMPOTENT READ_MODIFY_WRITE AFTER_GRANT,
            memorystore: REQUEST OPERATION DATA,
            plain_http: IDEMPOTENT NOT_IDEMPOTENT,
            postgres: TRANSACTION,
            pubsub: PUBLISH STREAMING_PULL TOPIC_READ TOPIC_WRITE PULL SUBSCRIPTION_READ SUBSCRIPTION_WRITE,
            spanner: TRANSACTION,
            storage: REQUEST NOT_IDEMPOTENT READ_MODIFY_WRITE,
        }
    }

    /// The rows of the table with these columns: the name of the preset, and the other cells.
    fn rows(columns: &str) -> Vec<(&'static str, Vec<&'static str>)> {
        let lines = PAGE
            .lines()
            .skip_while(|line| *line != format!("//! {columns}"));
        let rows = lines.skip(2).map_while(|line| line.strip_prefix("//! | "));
        rows.map(|row| {
            let mut cells = row.trim_end_matches(" |").split(" | ");
            let preset = cells.next().and_then(|cell| cell.split('`').nth(1));
            (preset.expect(row), cells.collect())
        })
        .collect()
    }

    fn waits_and_ends() -> Vec<(&'static str, Vec<&'static str>)> {
        rows("| preset | for | waits | jitter | ends after |")
    }

    fn failures() -> Vec<(&'static str, Vec<&'static str>)> {
        rows("| preset | HTTP statuses | gRPC codes | conflict | lost reply |")
    }

    fn policy(name: &str) -> Policy {
        let found = constants().into_iter().find(|(preset, _)| *preset == name);
        found.expect(name).1
    }

    /// All public policies in the sources, as `module::NAME`.
    fn public_policies(folder: &Path, module: Option<&str>, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).expect("the sources") {
            let path = entry.expect("the sources").path();
            let stem = path
                .file_stem()
                .and_then(|stem| stem.to_str())
                .expect("a name");
            let module = module.unwrap_or(stem);
            if path.is_dir() {
                public_policies(&path, Some(module), found);
                continue;
            }
            let source = fs::read_to_string(&path).expect("a source");
            found.extend(source.lines().filter_map(|line| {
                let (name, _) = line.strip_prefix("pub const ")?.split_once(": Policy =")?;
                Some(format!("{module}::{name}"))
            }));
        }
    }

    #[test]
    fn every_public_policy_has_one_row_in_both_tables() {
        let mut public = BTreeSet::new();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        public_policies(&sources, None, &mut public);
        for rows in [waits_and_ends(), failures()] {
            let named: BTreeSet<_> = rows.iter().map(|(name, _)| (*name).to_owned()).collect();
            assert_eq!(named, public);
            assert_eq!(rows.len(), public.len(), "a preset has two rows");
        }
    }

    /// A time such as `1,800 s` or `20 ms`, in seconds.
    fn seconds(text: &str) -> f64 {
        let (number, unit) = text.split_once(' ').expect(text);
        let number: f64 = number.replace(',', "").parse().expect(text);
        match unit {
            "s" => number,
            "ms" => number / 1_000.0,
            _ => panic!("`{text}` has no unit"),
        }
    }

    /// `min(factorⁿ · base, cap)`.
    struct Formula {
        factor: f64,
        base: f64,
        cap: f64,
    }

    impl Formula {
        fn read(text: &str) -> Self {
            let inner = text
                .strip_prefix("min(")
                .and_then(|it| it.strip_suffix(')'));
            let (product, cap) = inner.and_then(|it| it.split_once(", ")).expect(text);
            let (factor, base) = product.split_once("ⁿ · ").expect(text);
            Formula {
                factor: factor.parse().expect(text),
                base: seconds(base),
                cap: seconds(cap),
            }
        }

        /// The wait before retry `n`, for a random number from 0 to 1.
        fn wait(&self, jitter: &str, n: i32, random: f64) -> f64 {
            let grown = self.base * self.factor.powi(n);
            if jitter == "full" {
                return grown.min(self.cap) * random;
            }
            if let Some(most) = jitter.strip_prefix("+ ") {
                return (grown + seconds(most) * random).min(self.cap);
            }
            let share = jitter
                .strip_prefix("± ")
                .and_then(|it| it.strip_suffix(" %"));
            let share: f64 = share.expect(jitter).parse::<f64>().expect(jitter) / 100.0;
            grown.min(self.cap / (1.0 + share)) * (1.0 - share + 2.0 * share * random)
        }
    }

    #[test]
    fn the_waits_are_those_of_the_policies() {
        const MANY: u32 = 40;
        let of_kind = |kind| Says {
            kind: Some(kind),
            transport: Some(Delivery::NotSent),
            ..Says::default()
        };
        for (name, cells) in waits_and_ends() {
            let [_, waits, jitter, _] = cells[..] else {
                panic!("{name} has {} cells", cells.len());
            };
            let (plain, throttled) = waits
                .split_once(", after throttling ")
                .unwrap_or((waits, waits));
            let policy = policy(name).without_budget();
            let policy = policy.max_attempts(MANY + 1).deadline(Duration::MAX);
            for (kind, formula) in [
                (FaultKind::Transient, Formula::read(plain)),
                (FaultKind::Throttled, Formula::read(throttled)),
            ] {
                for (random, share) in [(0, 0.0), (1 << 63, 0.5), (u64::MAX, 1.0)] {
                    let (waits, _) = life(&policy, &of_kind(kind), random, 99);
                    assert_eq!(waits.len(), MANY as usize, "{name}");
                    for (wait, n) in waits.iter().zip(0..) {
                        let said = formula.wait(jitter, n, share);
                        let is_said = (wait.as_secs_f64() - said).abs() < 1e-6;
                        assert!(
                            is_said,
                            "{name} waits {wait:?} before retry {n}, not {said} s"
                        );
                    }
                }
            }
        }
    }

    /// The decision after so many failures, the last of them at this time.
    fn decision(policy: &Policy, failures: u32, at: Duration) -> Decision {
        let not_sent = Says {
            transport: Some(Delivery::NotSent),
            ..Says::default()
        };
        let mut retry = RetryState::start(policy, || Duration::ZERO);
        for _ in 1..failures {
            let decision = retry.failed(policy, policy.judge(&not_sent), || Duration::ZERO, || 0);
            assert!(matches!(decision, Decision::Wait(_)), "{policy}");
        }
        retry.failed(policy, policy.judge(&not_sent), || at, || 0)
    }

    #[test]
    fn the_ends_are_those_of_the_policies() {
        for (name, cells) in waits_and_ends() {
            let policy = policy(name);
            let said = cells[3];
            let limits = said.strip_suffix(", or when the budget is empty");
            assert_eq!(
                limits.is_some(),
                policy != policy.without_budget(),
                "{name}"
            );
            let policy = policy.without_budget();
            let limits = limits.unwrap_or(said);

            let attempts = limits.split(" attempts").next().filter(|it| *it != limits);
            let attempts: Option<u32> = attempts.map(|it| it.parse().expect(said));
            let last = decision(&policy, attempts.unwrap_or(1_000), Duration::ZERO);
            let ended = matches!(last, Decision::Stop(StopReason::Attempts));
            assert_eq!(ended, attempts.is_some(), "{name}: {last:?}");

            let deadline = limits.rsplit(" or ").next().filter(|it| it.ends_with(" s"));
            let Some(deadline) = deadline.map(|it| Duration::from_secs_f64(seconds(it))) else {
                let late = decision(&policy, 1, Duration::from_secs(1 << 32));
                assert!(matches!(late, Decision::Wait(_)), "{name}: {late:?}");
                continue;
            };
            let last = deadline - policy.backoff(0, Duration::ZERO, 0);
            let fits = decision(&policy, 1, last);
            assert!(matches!(fits, Decision::Wait(_)), "{name}: {fits:?}");
            let late = decision(&policy, 1, last + Duration::from_nanos(1));
            assert!(
                matches!(late, Decision::Stop(StopReason::Deadline)),
                "{name}: {late:?}"
            );
        }
    }

    /// `500, 502 to 504`.
    fn listed(statuses: &[u16]) -> String {
        let runs = statuses.chunk_by(|one, next| one + 1 == *next);
        let shown = runs.flat_map(|run| match run {
            [first, _, .., last] => vec![format!("{first} to {last}")],
            few => few.iter().map(u16::to_string).collect(),
        });
        joined(shown.collect())
    }

    fn joined(parts: Vec<String>) -> String {
        match parts[..] {
            [] => "none".to_owned(),
            _ => parts.join(", "),
        }
    }

    #[test]
    fn the_failures_are_those_of_the_policies() {
        let yes = |is: bool| if is { "yes" } else { "no" };
        for (name, cells) in failures() {
            let policy = policy(name);
            let (statuses, codes) = table(&policy);
            let codes = codes.iter().map(|code| format!("`{}`", code.name()));
            let conflict = Says {
                kind: Some(FaultKind::Conflict),
                ..Says::default()
            };
            let broken = |transport| Says {
                transport: Some(transport),
                ..Says::default()
            };
            let row = [
                &listed(&statuses),
                &joined(codes.collect()),
                yes(retries(&policy, &conflict)),
                yes(retries(&policy, &broken(Delivery::MaybeSent))),
            ];
            assert_eq!(cells, row, "{name}");
            assert!(retries(&policy, &broken(Delivery::NotSent)), "{name}");
        }
    }
}
