//! Functions of the README that need more code to run. Counts their calls, with the attributes of both
//! crates.

use crate::iam::{Iam, add, members, started};
use crate::server::scaled;
use backoff_cloud::{Policy, http::ApiError, iam, retry, retry_block};
use emulator::{Call, Reply};
use serde_json::Value;
use std::time::Duration;

const READ_MODIFY_WRITE: Policy = scaled(iam::READ_MODIFY_WRITE, 0.001);

#[retry(policy = READ_MODIFY_WRITE)]
async fn grant(iam: &Iam, member: &str) -> Result<Value, ApiError> {
    let mut policy = iam.get().await?;
    add(&mut policy, member);
    iam.set(policy).await
}

async fn grant_all(iam: &Iam, members: &[&str]) -> Result<Value, ApiError> {
    retry_block!(policy = READ_MODIFY_WRITE, async {
        let mut policy = iam.get().await?;
        for member in members {
            add(&mut policy, member);
        }
        iam.set(policy).await
    })
    .await
}

/// The same policy from the core's door; the macro's own keys.
#[backoff_core::retry(base = "1ms", max_backoff = "64s", deadline = "300s", on = [429, 500..=504])]
async fn read(iam: &Iam) -> Result<Value, ApiError> {
    iam.get().await
}

#[tokio::test]
async fn a_whole_read_modify_write_is_repeated() {
    let (emulator, iam) = started();
    let failures = [Reply::status(503), Reply::status(409), Reply::reset()];
    emulator.script(Call::SetIamPolicy, failures);
    let policy = grant(&iam, "user:ann@example.com").await;
    let policy = policy.expect("the fourth attempt");
    assert_eq!(members(&policy), ["user:ann@example.com"]);
    let stats = emulator.stats();
    assert_eq!((stats.reads, stats.writes, stats.calls), (4, 1, 8));
}

#[tokio::test]
async fn a_block_borrows_what_is_around_it() {
    let (emulator, iam) = started();
    emulator.script(Call::GetIamPolicy, [Reply::status(500), Reply::cut()]);
    let policy = grant_all(&iam, &["user:a@example.com", "user:b@example.com"]).await;
    assert_eq!(members(&policy.expect("the third attempt")).len(), 2);
    assert_eq!(emulator.stats().calls, 4);
}

/// As a task of its own, too.
#[tokio::test]
async fn both_doors_lead_to_the_same_room() {
    let (emulator, iam) = started();
    let busy = [Reply::status(429), Reply::status(503)];
    emulator.script(Call::GetIamPolicy, busy);
    let task = {
        let iam = iam.clone();
        tokio::spawn(async move { read(&iam).await })
    };
    task.await.expect("no panic").expect("the third attempt");
    assert_eq!(emulator.stats().calls, 3);

    emulator.script(Call::GetIamPolicy, [Reply::status(403)]);
    let error = read(&iam).await.expect_err("403 is not listed");
    assert_eq!((error.status(), emulator.stats().calls), (Some(403), 4));
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
    let began = std::time::Instant::now();
    assert_eq!(work(&calls), Ok(3));
    assert!(began.elapsed() >= Duration::from_millis(6));
}
