//! Changes of a project's allow policy. Other programs change it at the same time, and no change is lost: after a
//! conflict the policy is read again.
//!
//! ```toml
//! [dependencies]
//! backoff-cloud = { version = "0.1", features = ["http"] }
//! reqwest = "0.13"
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//! ```

use backoff_cloud::iam::{self, PlainPolicy, PolicyStore as _, Rest};
use backoff_cloud::{Policy, codes, http::ApiError};
use reqwest::Client;
use std::{env, error::Error, future::ready, time::Duration};

const API: &str = "https://cloudresourcemanager.googleapis.com/v3";

/// IAM's 409 is a conflict, also where its reply names no code: the change creates nothing that could exist already.
const CHANGE: Policy = iam::READ_MODIFY_WRITE.also_on(codes![409]);

/// Gives a role to a member, unless the member has it.
pub async fn grant(
    projects: &Rest,
    project: &str,
    role: &str,
    member: &str,
) -> Result<(), iam::Error<ApiError>> {
    iam::add(projects, project, role, member).await?;
    Ok(())
}

/// A change of your own: all members of the role `old` get the role `new` instead.
pub async fn replace(projects: &Rest, project: &str, old: &str, new: &str) -> Result<(), ApiError> {
    let change = |policy: &mut PlainPolicy| {
        let mut is_changed = false;
        for binding in &mut policy.bindings {
            if binding.role == old {
                binding.role = new.to_owned();
                is_changed = true;
            }
        }
        is_changed // otherwise nothing is written
    };
    let write = async |policy| match projects.set(project, policy).await?.etag {
        Some(_) => Ok(()),
        None => Err(ApiError::ended_early()), // the reply shows no policy, so read it again
    };
    let update = CHANGE.update(|| projects.get(project), change, write);
    update.attempt_timeout(Duration::from_secs(60)).await?;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let token = env::var("TOKEN")?; // gcloud auth print-access-token
    let token = move || ready(Ok(token.clone()));
    let client = Client::builder().retry(reqwest::retry::never()).build()?;
    let projects = Rest::new(client, API).token(token);
    match &env::args().collect::<Vec<_>>()[..] {
        [_, how, project, role, who] if how == "add" => {
            grant(&projects, project, role, who).await?
        }
        [_, how, project, old, new] if how == "replace" => {
            replace(&projects, project, old, new).await?
        }
        _ => {
            return Err(
                "usage: iam add projects/ID ROLE MEMBER, or iam replace projects/ID OLD NEW".into(),
            );
        }
    }
    Ok(())
}
