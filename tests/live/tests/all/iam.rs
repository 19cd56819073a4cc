//! Many writers change one policy while the service fails. No change may be lost or made twice.

use backoff_cloud::emulator::{Call, Emulator, Faults, Reply};
use backoff_cloud::{Jitter, Policy, http, http::ApiError, iam, retry};
use reqwest::Client;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::watch;

const RESOURCE: &str = "projects/p";
const WRITERS: usize = 32;

/// A hundred times as fast as in production, with time for a slow machine.
const READ_MODIFY_WRITE: Policy = iam::READ_MODIFY_WRITE
    .scaled(0.01)
    .deadline(Duration::from_secs(600));

#[derive(Clone)]
struct Iam {
    client: Client,
    url: String,
    /// How many grants have read, and how many of them have to read before the first one writes.
    reads: watch::Sender<usize>,
    first_reads: usize,
}

impl Iam {
    fn new(emulator: &Emulator) -> Self {
        let client = Client::builder()
            .retry(reqwest::retry::never())
            .build()
            .expect("a client");
        Iam {
            client,
            url: format!("{}/v1/{RESOURCE}", emulator.url()),
            reads: watch::Sender::new(0),
            first_reads: 1,
        }
    }

    /// A grant has read: waits for the others that have to read before the first write.
    async fn has_read(&self) {
        self.reads.send_modify(|reads| *reads += 1);
        let mut reads = self.reads.subscribe();
        let met = reads.wait_for(|reads| *reads >= self.first_reads).await;
        drop(met.expect("the sender is here"));
    }

    async fn get(&self) -> Result<Value, ApiError> {
        http::json(
            self.client
                .post(format!("{}:getIamPolicy", self.url))
                .send()
                .await?,
        )
        .await
    }

    async fn set(&self, policy: Value) -> Result<Value, ApiError> {
        let body = json!({ "policy": policy }).to_string();
        let url = format!("{}:setIamPolicy", self.url);
        http::json(self.client.post(url).body(body).send().await?).await
    }
}

/// Adds a member, unless it is there: so a write whose reply was lost is not made twice.
/// The time of an attempt is far above what it takes, because only what stalls is to be cut.
#[retry(policy = READ_MODIFY_WRITE, attempt_timeout = "5s")]
async fn grant(iam: &Iam, member: &str) -> Result<(), ApiError> {
    let mut policy = iam.get().await?;
    iam.has_read().await;
    let mut members = members(&policy);
    if members.iter().any(|present| present == member) {
        return Ok(());
    }
    members.push(member.to_owned());
    policy["bindings"] = json!([{ "role": "roles/viewer", "members": members }]);
    iam.set(policy).await?;
    Ok(())
}

fn members(policy: &Value) -> Vec<String> {
    let members = policy["bindings"][0]["members"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    members
        .iter()
        .filter_map(|member| member.as_str().map(str::to_owned))
        .collect()
}

async fn all_arrive(emulator: &Emulator, iam: Iam) {
    let names: Vec<_> = (0..WRITERS)
        .map(|n| format!("user:writer-{n:02}@example.com"))
        .collect();
    let tasks: Vec<_> = names
        .iter()
        .cloned()
        .map(|name| {
            let iam = iam.clone();
            tokio::spawn(async move { grant(&iam, &name).await })
        })
        .collect();
    for task in tasks {
        task.await
            .expect("no panic")
            .expect("every writer is told that it succeeded");
    }
    let mut arrived = members(&emulator.policy(RESOURCE));
    arrived.sort();
    assert_eq!(arrived, names, "all there, each once");
    let stats = emulator.stats();
    assert_eq!(stats.blind_writes, 0);
    assert_eq!(
        stats.writes as usize, WRITERS,
        "one write each that was applied"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_two_writers_under_faults() {
    let emulator = Emulator::builder()
        .seed(1)
        .latency(Duration::from_millis(1))
        .faults(Faults::none().status(503, 0.10).applied_then(503, 0.05))
        .start()
        .expect("a port on loopback");
    // One lost reply for certain; the rates bring more.
    emulator.script(Call::SetIamPolicy, [Reply::status(503).applied()]);
    // All have read the same policy before the first one writes, so some first writes conflict for certain.
    let iam = Iam {
        first_reads: WRITERS,
        ..Iam::new(&emulator)
    };
    all_arrive(&emulator, iam).await;
    assert!(emulator.stats().lost_replies > 0 && emulator.stats().conflicts > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_two_writers_under_a_broken_network() {
    let faults = Faults::none()
        .with(Reply::reset(), 0.05)
        .with(Reply::reset().applied(), 0.03)
        .with(Reply::cut(), 0.05)
        .with(Reply::status(502).html(), 0.05);
    let emulator = Emulator::builder()
        .seed(2)
        .latency(Duration::from_millis(1))
        .faults(faults)
        .start()
        .expect("a port on loopback");
    // A few stalls for certain, instead of a rate: each of them costs the time of an attempt.
    let stall = Reply::stall();
    emulator.script(Call::GetIamPolicy, [stall.clone()]);
    emulator.script(Call::SetIamPolicy, [stall.clone(), stall.applied()]);
    all_arrive(&emulator, Iam::new(&emulator)).await;
}

#[tokio::test]
async fn the_write_alone_would_fail_for_ever() {
    #[retry(policy = READ_MODIFY_WRITE, jitter = none, max_attempts = 4, deadline = "60s")]
    async fn write(iam: &Iam, stale: &Value) -> Result<Value, ApiError> {
        iam.set(stale.clone()).await
    }
    let emulator = Emulator::start().expect("a port on loopback");
    let iam = Iam::new(&emulator);
    let stale = iam.get().await.expect("a policy");
    iam.set(stale.clone())
        .await
        .expect("somebody else writes first");
    let error = write(&iam, &stale).await.expect_err("a conflict");
    assert_eq!(error.status(), Some(409));
    assert_eq!(emulator.stats().conflicts, 4);
}

#[tokio::test]
async fn already_exists_is_no_conflict_to_repeat() {
    let emulator = Emulator::start().expect("a port on loopback");
    // The emulator's 409 says ABORTED; one without a body of Google's says nothing.
    emulator.script(Call::SetIamPolicy, [Reply::status(409).html()]);
    let iam = Iam::new(&emulator);
    let error = grant(&iam, "user:a@example.com")
        .await
        .expect_err("permanent");
    assert_eq!((error.status(), error.grpc_code()), (Some(409), None));
    assert_eq!(emulator.stats().calls, 2);
}

#[tokio::test]
async fn a_role_that_was_granted_a_moment_ago_is_waited_for() {
    // A thousand times as fast, with time for a slow machine.
    const AFTER_GRANT: Policy = iam::AFTER_GRANT
        .scaled(0.001)
        .deadline(Duration::from_secs(600));
    let emulator = Emulator::start().expect("a port on loopback");
    let iam = Iam::new(&emulator);
    // In production the last of these retries comes after four minutes: 1 + 2 + 4 + 8 + 16 + 7 · 32 s.
    emulator.script(Call::GetIamPolicy, [(); 12].map(|()| Reply::status(403)));
    AFTER_GRANT
        .retry(|| iam.get())
        .await
        .expect("permitted now");
    assert_eq!(emulator.stats().calls, 13);
    emulator.script(Call::SetIamPolicy, [Reply::status(403)]);
    let careful = AFTER_GRANT.idempotent(false);
    let set = || iam.set(json!({ "etag": "", "bindings": [] }));
    careful.retry(set).await.expect("nothing was done before");
    emulator.script(Call::GetIamPolicy, [Reply::status(403)]);
    let denied = READ_MODIFY_WRITE.retry(|| iam.get()).await;
    assert_eq!(denied.expect_err("permanent").status(), Some(403));
}

#[tokio::test]
async fn the_servers_hint_is_honoured_over_real_http() {
    let emulator = Emulator::start().expect("a port on loopback");
    emulator.script(Call::GetIamPolicy, [Reply::status(503).retry_after("1")]);
    let began = std::time::Instant::now();
    let policy = READ_MODIFY_WRITE.jitter(Jitter::None);
    let iam = Iam::new(&emulator);
    policy.retry(|| iam.get()).await.expect("a policy");
    assert!(
        began.elapsed() >= Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
}
