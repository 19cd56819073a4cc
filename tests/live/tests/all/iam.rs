//! Many writers change one policy while the service fails. No change may be lost or made twice.

use crate::server::{client, scaled};
use backoff_cloud::{Policy, http, http::ApiError, iam, retry};
use emulator::{Call, Emulator, Faults, Reply};
use reqwest::Client;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::watch;

const RESOURCE: &str = "projects/p";
const WRITERS: usize = 32;

const READ_MODIFY_WRITE: Policy = scaled(iam::READ_MODIFY_WRITE, 0.01);

/// The IAM policy of a resource, read and written as the README has it.
#[derive(Clone)]
pub(crate) struct Iam {
    client: Client,
    url: String,
    /// How many grants have read, and how many of them have to read before the first one writes.
    reads: watch::Sender<usize>,
    first_reads: usize,
}

impl Iam {
    pub(crate) fn new(emulator: &Emulator) -> Self {
        Iam {
            client: client(),
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

    pub(crate) async fn get(&self) -> Result<Value, ApiError> {
        let get = self.client.post(format!("{}:getIamPolicy", self.url));
        http::json(get.send().await?).await
    }

    pub(crate) async fn set(&self, policy: Value) -> Result<Value, ApiError> {
        let body = json!({ "policy": policy }).to_string();
        let url = format!("{}:setIamPolicy", self.url);
        http::json(self.client.post(url).body(body).send().await?).await
    }
}

/// The client of this crate for all policies of the emulator.
pub(crate) fn rest(emulator: &Emulator) -> iam::Rest {
    iam::Rest::new(client(), format!("{}/v3", emulator.url()))
}

pub(crate) fn started() -> (Emulator, Iam) {
    let emulator = Emulator::start().expect("a port on loopback");
    let iam = Iam::new(&emulator);
    (emulator, iam)
}

/// Adds a member, unless it is there: so a write whose reply was lost is not made twice.
/// The time of an attempt is far above what it takes, because only what stalls is to be cut.
#[retry(policy = READ_MODIFY_WRITE, attempt_timeout = "5s")]
async fn grant(iam: &Iam, member: &str) -> Result<(), ApiError> {
    let mut policy = iam.get().await?;
    iam.has_read().await;
    if !members(&policy).iter().any(|present| present == member) {
        add(&mut policy, member);
        iam.set(policy).await?;
    }
    Ok(())
}

pub(crate) fn add(policy: &mut Value, member: &str) {
    let mut members = members(policy);
    members.push(member.to_owned());
    policy["bindings"] = json!([{ "role": "roles/viewer", "members": members }]);
}

pub(crate) fn members(policy: &Value) -> Vec<String> {
    let members = policy["bindings"][0]["members"].as_array();
    let members = members.into_iter().flatten();
    let members = members.filter_map(|member| member.as_str().map(str::to_owned));
    members.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_two_writers_lose_nothing() {
    let busy = Faults::none().status(503, 0.10).applied_then(503, 0.05);
    let broken = Faults::none()
        .with(Reply::reset(), 0.05)
        .with(Reply::reset().applied(), 0.03)
        .with(Reply::cut(), 0.05)
        .with(Reply::delay(Duration::from_millis(2)), 0.05)
        .with(Reply::status(502).html(), 0.05);
    // One lost reply for certain, or a few stalls, instead of a rate: each of them costs the time of an attempt.
    let lost = vec![Reply::status(503).applied()];
    let stalls = vec![Reply::stall(), Reply::stall().applied()];
    // Where all have read the same policy before the first one writes, some first writes conflict for certain.
    for (row, faults, writes, first_reads) in [
        ("a good day", Faults::none(), vec![], WRITERS),
        ("a busy service", busy, lost, WRITERS),
        ("a broken network", broken, stalls, 1),
    ] {
        let emulator = Emulator::builder()
            .seed(2)
            .latency(Duration::from_millis(1))
            .faults(faults)
            .start()
            .expect("a port on loopback");
        emulator.script(Call::SetIamPolicy, writes);
        if first_reads == 1 {
            emulator.script(Call::GetIamPolicy, [Reply::stall()]);
        }
        let mut iam = Iam::new(&emulator);
        iam.first_reads = first_reads;
        let name = |n| format!("user:writer-{n:02}@example.com");
        let names: Vec<_> = (0..WRITERS).map(name).collect();
        let tasks = names.clone().into_iter().map(|name| {
            let iam = iam.clone();
            tokio::spawn(async move { grant(&iam, &name).await })
        });
        let tasks: Vec<_> = tasks.collect();
        for task in tasks {
            let told = task.await.expect("no panic");
            told.expect("every writer is told that it succeeded");
        }
        let mut arrived = members(&emulator.policy(RESOURCE));
        arrived.sort();
        assert_eq!(arrived, names, "{row}: all there, each once");
        let stats = emulator.stats();
        assert_eq!(stats.blind_writes, 0, "{row}");
        assert_eq!(stats.writes as usize, WRITERS, "{row}: one write each");
        assert_eq!(stats.lost_replies == 0, row == "a good day", "{stats:?}");
        if first_reads == WRITERS {
            // All but one of the first writes were stale, or met a fault.
            let refused = stats.conflicts + stats.faults;
            assert!(refused as usize >= WRITERS - 1, "{row}: {stats:?}");
            assert!(stats.conflicts > 0, "{row}: {stats:?}");
        }
    }
}

#[tokio::test]
async fn the_write_alone_would_fail_for_ever() {
    #[retry(policy = READ_MODIFY_WRITE, jitter = none, max_attempts = 4, deadline = "60s")]
    async fn write(iam: &Iam, stale: &Value) -> Result<Value, ApiError> {
        iam.set(stale.clone()).await
    }
    let (emulator, iam) = started();
    let stale = iam.get().await.expect("a policy");
    let other = iam.set(stale.clone()).await;
    other.expect("somebody else writes first");
    let error = write(&iam, &stale).await.expect_err("a conflict");
    assert_eq!(error.status(), Some(409));
    assert_eq!(emulator.stats().conflicts, 4);
}

#[tokio::test]
async fn a_role_that_was_granted_a_moment_ago_is_waited_for() {
    const AFTER_GRANT: Policy = scaled(iam::AFTER_GRANT, 0.001);
    let (emulator, iam) = started();
    // In production the last of these retries comes after four minutes: 1 + 2 + 4 + 8 + 16 + 7 · 32 s.
    emulator.script(Call::GetIamPolicy, vec![Reply::status(403); 12]);
    let read = AFTER_GRANT.retry(|| iam.get()).await;
    read.expect("permitted now");
    assert_eq!(emulator.stats().calls, 13);
    emulator.script(Call::SetIamPolicy, [Reply::status(403)]);
    let careful = AFTER_GRANT.idempotent(false);
    let set = || iam.set(json!({ "etag": "", "bindings": [] }));
    careful.retry(set).await.expect("nothing was done before");
    emulator.script(Call::GetIamPolicy, [Reply::status(403)]);
    let denied = READ_MODIFY_WRITE.retry(|| iam.get()).await;
    assert_eq!(denied.expect_err("permanent").status(), Some(403));
}
