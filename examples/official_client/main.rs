//! Uses Google's own Secret Manager client while the service conflicts and fails: with a policy inside the
//! client, with one call that adds a member (`iam::add`), and with a read-modify-write under the attribute.

mod client;

use std::error::Error as StdError;
use std::time::Duration;

use backoff_cloud::gax::WithPolicy as _;
use backoff_cloud::{Policy, Updated, iam, retry};
use emulator::{Call, Emulator, Reply};
use examples::terminal::say;
use google_cloud_gax_1 as gax;
use google_cloud_iam_v1::model::{Binding, Policy as IamPolicy};
use google_cloud_secretmanager_v1::client::SecretManagerService;
use serde_json::json;

type Error = Box<dyn StdError + Send + Sync>;

const SECRET: &str = "projects/demo/secrets/key";
const ROLE: &str = "roles/secretmanager.secretAccessor";

/// All waits are a hundred times shorter, so that the demonstration takes a second. The deadline is not, so
/// that it succeeds on a slow machine too.
const READ_MODIFY_WRITE: Policy = iam::READ_MODIFY_WRITE
    .scaled(0.01)
    .deadline(Duration::from_secs(300));
const REQUEST: Policy = Policy::exponential().scaled(0.01);

#[tokio::main]
async fn main() -> Result<(), Error> {
    let emulator = Emulator::start()?;
    let client = client::connect(&emulator, |builder| builder.with_policy(REQUEST)).await?;

    // 1. The policy is inside the client: the code of the call does not change.
    let page = Reply::status(502).html();
    emulator.script(
        Call::GetIamPolicy,
        [Reply::status(503), page, Reply::reset()],
    );
    client.get_iam_policy().set_resource(SECRET).send().await?;
    say(&format!(
        "one read, which the client retried after a 503, a proxy's 502 and a reset: {} calls\n",
        emulator.stats().calls
    ))?;

    // 2. One call adds a member. The call goes back to the read after a conflict or a failure.
    let lost = Reply::status(503).applied();
    emulator.script(Call::SetIamPolicy, [Reply::status(409), lost]);
    let (updated, report) = iam::add(&client, SECRET, ROLE, "user:ann@example.com")
        .policy(READ_MODIFY_WRITE)
        .reported()
        .await?;
    say(&format!(
        "one member added, after a conflict and a write whose reply was lost: {report}\n  {}\n",
        match updated {
            Updated::Written(_) => "written",
            Updated::Unchanged(_) =>
                "the read found the member: the write had arrived, and no second write was made",
        }
    ))?;

    // 3. A change that the user writes: the attribute repeats the whole function.
    emulator.script(Call::SetIamPolicy, [Reply::status(409)]);
    rename(&client, "user:ann@example.com", "user:ann@example.org").await?;
    say(&format!(
        "a change written by the user, after a conflict:\n  {}\n",
        emulator.policy(SECRET)["bindings"]
    ))?;

    // 4. The server asks for a wait that is longer than the deadline: the call gives up at once.
    let hint = Reply::status(429).retry_after("3600");
    emulator.script(Call::GetIamPolicy, [hint]);
    emulator.set_policy(SECRET, json!({"bindings": []}));
    let gave_up = iam::add(&client, SECRET, ROLE, "user:bob@example.com")
        .policy(READ_MODIFY_WRITE)
        .await;
    if let Err(error) = gave_up {
        say(&format!("a server asks for a wait of an hour: {error}\n"))?;
    }
    Ok(())
}

/// Replaces one member by another in all roles.
#[retry(policy = READ_MODIFY_WRITE, deadline = "60s")]
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
    // The client must not repeat the write by itself: the attribute repeats the function from the read on.
    client::once(
        client
            .set_iam_policy()
            .set_resource(SECRET)
            .set_policy(policy),
    )
    .send()
    .await
}
