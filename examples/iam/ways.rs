//! Ways to add a member to a policy that others are changing too: six, and two more that only the
//! picture of the crowd shows.
//!
//! `client.pace` shortens the waits for the demonstration; a program leaves it out.

use backoff_cloud::combine::CombineError;
use backoff_cloud::http::ApiError;
use backoff_cloud::iam::{Failure, Members, PlainBinding, PlainPolicy, PolicyStore as _};
use backoff_cloud::{Jitter, Updated, iam, retry};
use backon::{ExponentialBuilder, Retryable as _};
use std::sync::Arc;
use std::time::Duration;

use crate::RESOURCE;
use crate::client::Client;

const ROLE: &str = "roles/viewer";

/// Gives the role to the member. Says whether that changes anything.
fn add(policy: &mut PlainPolicy, member: &str) -> bool {
    let bindings = &mut policy.bindings;
    let of_role = bindings.iter().position(|binding| binding.role == ROLE);
    let of_role = of_role.unwrap_or_else(|| {
        bindings.push(PlainBinding {
            role: ROLE.to_owned(),
            ..PlainBinding::default()
        });
        bindings.len() - 1
    });
    let members = &mut bindings[of_role].members;
    let is_new = !members.iter().any(|one| one == member);
    if is_new {
        members.push(member.to_owned());
    }
    is_new
}

/// 1. Read, change, write, and hope.
pub(crate) async fn no_retry(client: &Client, member: &str) -> Result<PlainPolicy, ApiError> {
    let mut policy = client.get(RESOURCE).await?;
    add(&mut policy, member);
    client.set(RESOURCE, policy).await
}

/// 2. Only the write is retried: once its etag is stale, no repetition can help.
pub(crate) async fn write_alone(client: &Client, member: &str) -> Result<PlainPolicy, ApiError> {
    let mut policy = client.get(RESOURCE).await?;
    add(&mut policy, member);
    write(client, &policy).await
}

#[retry(policy = client.pace.scaled(iam::READ_MODIFY_WRITE))]
async fn write(client: &Client, policy: &PlainPolicy) -> Result<PlainPolicy, ApiError> {
    client.set(RESOURCE, policy.clone()).await
}

/// 3. The whole function is retried, without jitter: all writers wait equally long, and so they meet again.
#[retry(policy = client.pace.scaled(iam::READ_MODIFY_WRITE.jitter(Jitter::None)))]
pub(crate) async fn without_jitter(client: &Client, member: &str) -> Result<PlainPolicy, ApiError> {
    no_retry(client, member).await
}

/// 4. The same with jitter, by another library, and with a condition that a program writes for this library.
pub(crate) async fn with_backon(client: &Client, member: &str) -> Result<PlainPolicy, ApiError> {
    let backoff = ExponentialBuilder::default()
        .with_min_delay(client.pace.time(Duration::from_secs(1)))
        .with_max_delay(client.pace.time(Duration::from_secs(64)))
        .with_jitter()
        .without_max_times()
        .with_total_delay(Some(client.pace.patience()));
    (|| no_retry(client, member))
        .retry(backoff)
        .when(|error| match error.status() {
            Some(status) => matches!(status, 409 | 429 | 500 | 502..=504),
            None => true,
        })
        .await
}

/// 5. The same with jitter, by IAM's policy of this library.
#[retry(policy = client.pace.patient(iam::READ_MODIFY_WRITE))]
pub(crate) async fn read_modify_write(
    client: &Client,
    member: &str,
) -> Result<PlainPolicy, ApiError> {
    let mut policy = client.get(RESOURCE).await?;
    add(&mut policy, member);
    client.set(RESOURCE, policy).await
}

/// 6. All writers of the process share one `Members`: changes that wait at once are written at once.
pub(crate) async fn combined(
    members: &Members<Client>,
    member: &str,
) -> Result<Updated<Arc<PlainPolicy>, Arc<PlainPolicy>>, CombineError<Failure<ApiError>>> {
    members.add(RESOURCE, ROLE, member).await
}

/// What all writers share in the sixth way.
pub(crate) fn members(client: Client) -> Members<Client> {
    let policy = client.pace.patient(iam::READ_MODIFY_WRITE);
    Members::new(client).policy(policy)
}

/// The loop of IAM's guide: the whole function, truncated exponential backoff, and up to a second
/// more by chance.
#[retry(policy = client.pace.patient(iam::READ_MODIFY_WRITE.jitter(iam::DOCUMENTED_JITTER)))]
pub(crate) async fn documented(client: &Client, member: &str) -> Result<PlainPolicy, ApiError> {
    no_retry(client, member).await
}

/// The three steps one by one. Because of the version, the waits after conflicts follow a pace.
pub(crate) async fn paced(
    client: &Client,
    member: &str,
) -> Result<Updated<PlainPolicy, PlainPolicy>, ApiError> {
    client
        .pace
        .patient(iam::READ_MODIFY_WRITE)
        .update(
            || client.get(RESOURCE),
            |policy| add(policy, member),
            |policy| client.set(RESOURCE, policy),
        )
        .version(|policy| policy.etag.clone())
        .await
}
