//! Four ways to add a member to a policy that others are changing too.
//!
//! `.scaled(client.pace)` shortens the waits for the demonstration; a program leaves it out.

use backoff_cloud::http::ApiError;
use backoff_cloud::{Jitter, iam, retry};

use crate::client::{Client, IamPolicy};

const ROLE: &str = "roles/viewer";

/// 1. Read, change, write, and hope.
pub(crate) async fn no_retry(
    client: &Client,
    resource: &str,
    member: &str,
) -> Result<IamPolicy, ApiError> {
    let mut policy = client.get_iam_policy(resource).await?;
    policy.add(ROLE, member);
    client.set_iam_policy(resource, &policy).await
}

/// 2. Only the write is retried: once its etag is stale, no repetition can help.
pub(crate) async fn write_alone(
    client: &Client,
    resource: &str,
    member: &str,
) -> Result<IamPolicy, ApiError> {
    let mut policy = client.get_iam_policy(resource).await?;
    policy.add(ROLE, member);
    write(client, resource, &policy).await
}

#[retry(policy = iam::READ_MODIFY_WRITE.scaled(client.pace))]
async fn write(client: &Client, resource: &str, policy: &IamPolicy) -> Result<IamPolicy, ApiError> {
    client.set_iam_policy(resource, policy).await
}

/// 3. The whole function is retried, but all writers wait equally long, and so they meet again.
#[retry(policy = iam::READ_MODIFY_WRITE.jitter(Jitter::None).scaled(client.pace))]
pub(crate) async fn bare_exponential(
    client: &Client,
    resource: &str,
    member: &str,
) -> Result<IamPolicy, ApiError> {
    let mut policy = client.get_iam_policy(resource).await?;
    policy.add(ROLE, member);
    client.set_iam_policy(resource, &policy).await
}

/// 4. The whole function is retried, and chance keeps the writers apart.
#[retry(policy = iam::READ_MODIFY_WRITE.scaled(client.pace))]
pub(crate) async fn read_modify_write(
    client: &Client,
    resource: &str,
    member: &str,
) -> Result<IamPolicy, ApiError> {
    let mut policy = client.get_iam_policy(resource).await?;
    policy.add(ROLE, member);
    client.set_iam_policy(resource, &policy).await
}
