//! Google's own Secret Manager client on a bad day: policies inside the client, a member added by
//! one call, and a read-modify-write of one's own with the attribute. `contest` sets the second
//! beside the loop that Google's guide has by hand.

mod client;
mod contest;
mod guide;

use std::error::Error as StdError;
use std::time::Duration;

use backoff_cloud::emulator::{Call, Emulator, Reply};
use backoff_cloud::gax::WithPolicy as _;
use backoff_cloud::{Policy, Updated, iam, retry};
use clap::{Parser, Subcommand};
use examples::terminal::say;
use google_cloud_gax_1 as gax;
use google_cloud_iam_v1::model::{Binding, Policy as IamPolicy};
use google_cloud_secretmanager_v1::client::SecretManagerService;
use serde_json::json;

type Error = Box<dyn StdError + Send + Sync>;

const SECRET: &str = "projects/demo/secrets/key";
const ROLE: &str = "roles/secretmanager.secretAccessor";

/// A hundredth of every time, so that the demonstration is over in a second.
const READ_MODIFY_WRITE: Policy = iam::READ_MODIFY_WRITE.scaled(0.01);
const REQUEST: Policy = Policy::exponential().scaled(0.01);

/// Google's own Secret Manager client, retrying by our policies, against an emulator.
#[derive(Debug, Parser)]
#[command(name = "official_client")]
struct Options {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Many writers change one policy: `iam::add` beside the loop of Google's guide
    Contest(contest::Options),
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    match Options::parse().what {
        Some(What::Contest(options)) => contest::run(&options).await,
        None => demonstrate().await,
    }
}

async fn demonstrate() -> Result<(), Error> {
    let emulator = Emulator::start()?;
    let client = client::connect(&emulator, |builder| builder.with_policy(REQUEST)).await?;

    // 1. The policy is inside the client: the call is written as always.
    let page = Reply::status(502).html();
    emulator.script(
        Call::GetIamPolicy,
        [Reply::status(503), page, Reply::reset()],
    );
    client.get_iam_policy().set_resource(SECRET).send().await?;
    say(&format!(
        "one read, made again by the client itself after 503, a proxy's 502 and a reset: {} calls\n",
        emulator.stats().calls
    ))?;

    // 2. A member is added: one call, which begins with the read again when it has to.
    let lost = Reply::status(503).applied();
    emulator.script(Call::SetIamPolicy, [Reply::status(409), lost]);
    let (updated, report) = iam::add(&client, SECRET, ROLE, "user:ann@example.com")
        .policy(READ_MODIFY_WRITE)
        .reported()
        .await?;
    say(&format!(
        "one member, after a conflict and a write whose reply was lost: {report}\n  {}\n",
        match updated {
            Updated::Written(_) => "written",
            Updated::Unchanged(_) =>
                "found to be there: the write had arrived, and was not made twice",
        }
    ))?;

    // 3. A change of one's own: the whole function is repeated.
    emulator.script(Call::SetIamPolicy, [Reply::status(409)]);
    rename(&client, "user:ann@example.com", "user:ann@example.org").await?;
    say(&format!(
        "a change of one's own, after a conflict:\n  {}\n",
        emulator.policy(SECRET)["bindings"]
    ))?;

    // 4. What nobody would want written is not.
    let hint = Reply::status(429).retry_after("3600");
    emulator.script(Call::GetIamPolicy, [hint]);
    emulator.set_policy(SECRET, json!({"bindings": []}));
    let gave_up = iam::add(&client, SECRET, ROLE, "user:bob@example.com")
        .policy(READ_MODIFY_WRITE)
        .await;
    if let Err(error) = gave_up {
        say(&format!("a server that asks for an hour: {error}\n"))?;
    }
    Ok(())
}

/// Gives all that one member has to another.
#[retry(policy = READ_MODIFY_WRITE, deadline = "10s")]
async fn rename(client: &SecretManagerService, from: &str, to: &str) -> gax::Result<IamPolicy> {
    let options = google_cloud_iam_v1::model::GetPolicyOptions::new();
    let mut policy = client
        .get_iam_policy()
        .set_resource(SECRET)
        .set_options(options.set_requested_policy_version(3))
        .send()
        .await?;
    let members = |binding: &mut Binding| std::mem::take(&mut binding.members);
    for binding in &mut policy.bindings {
        let renamed = members(binding).into_iter();
        let renamed = renamed.map(|it| if it == from { to.to_owned() } else { it });
        binding.members = renamed.collect();
    }
    // The client must not repeat the write by itself: the function does, from the read on.
    client::once(
        client
            .set_iam_policy()
            .set_resource(SECRET)
            .set_policy(policy),
    )
    .send()
    .await
}

/// By how much the waits of IAM are shortened where a call takes 5 ms and not, as in the
/// documentation's world, some 250.
const SCALE: f64 = 0.02;
/// How long the emulator thinks about a call.
const LATENCY: Duration = Duration::from_millis(5);
