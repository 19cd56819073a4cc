//! Functions of the README that need more code to run. Counts their calls, with the attributes of both
//! crates.

use backoff_cloud::emulator::{Call, Emulator, Reply};
use backoff_cloud::http::{self, ApiError};
use backoff_cloud::{Policy, iam, retry, retry_block};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const RESOURCE: &str = "projects/p/secrets/s";

struct Client {
    http: reqwest::Client,
    url: String,
}

struct IamPolicy(Value);

impl IamPolicy {
    fn add(&mut self, role: &str, member: &str) {
        let mut members = self.members();
        members.push(member.to_owned());
        self.0["bindings"] = json!([{ "role": role, "members": members }]);
    }

    fn members(&self) -> Vec<String> {
        let members = self.0["bindings"][0]["members"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        members
            .iter()
            .filter_map(|member| Some(member.as_str()?.to_owned()))
            .collect()
    }
}

impl Client {
    fn new(emulator: &Emulator) -> Self {
        let http = reqwest::Client::builder()
            .retry(reqwest::retry::never())
            .build()
            .unwrap();
        Client {
            http,
            url: emulator.url().to_owned(),
        }
    }

    async fn get_iam_policy(&self, resource: &str) -> Result<IamPolicy, ApiError> {
        let url = format!("{}/v1/{resource}:getIamPolicy", self.url);
        Ok(IamPolicy(
            http::json(self.http.get(url).send().await?).await?,
        ))
    }

    async fn set_iam_policy(&self, resource: &str, p: IamPolicy) -> Result<IamPolicy, ApiError> {
        let url = format!("{}/v1/{resource}:setIamPolicy", self.url);
        let body = json!({ "policy": p.0 }).to_string();
        Ok(IamPolicy(
            http::json(self.http.post(url).body(body).send().await?).await?,
        ))
    }
}

/// The preset, a thousand times as fast, with time for a slow machine.
const READ_MODIFY_WRITE: Policy = iam::READ_MODIFY_WRITE
    .scaled(0.001)
    .deadline(Duration::from_secs(600));

#[retry(policy = READ_MODIFY_WRITE)]
async fn grant(client: &Client, resource: &str, member: &str) -> Result<IamPolicy, ApiError> {
    let mut policy = client.get_iam_policy(resource).await?;
    policy.add("roles/viewer", member);
    client.set_iam_policy(resource, policy).await
}

async fn grant_all(client: &Client, members: &[&str]) -> Result<IamPolicy, ApiError> {
    retry_block!(policy = READ_MODIFY_WRITE, async {
        let mut policy = client.get_iam_policy(RESOURCE).await?;
        for member in members {
            policy.add("roles/viewer", member);
        }
        client.set_iam_policy(RESOURCE, policy).await
    })
    .await
}

/// The same policy from the core's door; the macro's own keys.
#[backoff_core::retry(base = "1ms", max_backoff = "64s", deadline = "300s", on = [429, 500..=504])]
async fn read(client: &Client) -> Result<IamPolicy, ApiError> {
    client.get_iam_policy(RESOURCE).await
}

#[tokio::test]
async fn a_whole_read_modify_write_is_repeated() {
    let emulator = Emulator::start().unwrap();
    let client = Client::new(&emulator);
    emulator.script(
        Call::SetIamPolicy,
        [
            Reply::status(503),
            Reply::status(409),
            Reply::reset(),
            Reply::pass(),
        ],
    );
    let policy = grant(&client, RESOURCE, "user:ann@example.com")
        .await
        .unwrap();
    assert_eq!(policy.members(), ["user:ann@example.com"]);
    let stats = emulator.stats();
    assert_eq!((stats.reads, stats.writes, stats.calls), (4, 1, 8));
}

#[tokio::test]
async fn a_block_borrows_what_is_around_it() {
    let emulator = Emulator::start().unwrap();
    let client = Client::new(&emulator);
    emulator.script(Call::GetIamPolicy, [Reply::status(500), Reply::cut()]);
    let policy = grant_all(&client, &["user:a@example.com", "user:b@example.com"])
        .await
        .unwrap();
    assert_eq!(policy.members().len(), 2);
    assert_eq!(emulator.stats().calls, 4);
}

#[tokio::test]
async fn both_doors_lead_to_the_same_room() {
    let emulator = Emulator::start().unwrap();
    let client = Client::new(&emulator);
    emulator.script(Call::GetIamPolicy, [Reply::status(429), Reply::status(503)]);
    assert!(read(&client).await.is_ok());
    assert_eq!(emulator.stats().calls, 3);

    emulator.script(Call::GetIamPolicy, [Reply::status(403)]);
    let Err(error) = read(&client).await else {
        panic!("403 is not listed")
    };
    assert_eq!((error.status(), emulator.stats().calls), (Some(403), 4));
}

#[tokio::test]
async fn an_annotated_function_can_be_spawned() {
    let emulator = Emulator::start().unwrap();
    let client = Client::new(&emulator);
    emulator.script(Call::GetIamPolicy, [Reply::status(503)]);
    let task = tokio::spawn(async move { read(&client).await.map(|policy| policy.members()) });
    assert_eq!(task.await.unwrap().unwrap(), Vec::<String>::new());
}

#[test]
fn a_blocking_function_sleeps_on_its_thread() {
    #[retry(base = "2ms", jitter = none, max_attempts = 3, when = |error: &&str| *error == "busy")]
    fn work(calls: &std::cell::Cell<u32>) -> Result<u32, &'static str> {
        calls.set(calls.get() + 1);
        if calls.get() < 3 {
            Err("busy")
        } else {
            Ok(calls.get())
        }
    }
    let calls = std::cell::Cell::new(0);
    let began = Instant::now();
    assert_eq!(work(&calls), Ok(3));
    assert!(began.elapsed() >= Duration::from_millis(6));
}
