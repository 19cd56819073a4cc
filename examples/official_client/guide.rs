//! The loop around Google's client that the client's guide describes: read, change, and write with the
//! etag. When the write fails with `ABORTED`, the loop reads again without a wait, up to five attempts in
//! all. Every other error is returned to the caller.

use google_cloud_gax_1::error::{Error, rpc::Code};
use google_cloud_iam_v1::model::{Binding, GetPolicyOptions, Policy};
use google_cloud_secretmanager_v1::client::SecretManagerService;

const ATTEMPTS: u32 = 5;

pub(crate) async fn add(
    client: &SecretManagerService,
    secret: &str,
    role: &str,
    member: &str,
) -> Result<Policy, Error> {
    let mut attempt = 1;
    loop {
        let options = GetPolicyOptions::new().set_requested_policy_version(3);
        let mut policy = client
            .get_iam_policy()
            .set_resource(secret)
            .set_options(options)
            .send()
            .await?;
        let unconditional = |it: &&mut Binding| it.role == role && it.condition.is_none();
        match policy.bindings.iter_mut().find(unconditional) {
            Some(binding) if binding.members.iter().any(|it| it == member) => return Ok(policy),
            Some(binding) => binding.members.push(member.to_owned()),
            None => policy
                .bindings
                .push(Binding::new().set_role(role).set_members([member])),
        }
        let write = client.set_iam_policy().set_resource(secret);
        match write.set_policy(policy).send().await {
            Ok(written) => return Ok(written),
            Err(error) if is_aborted(&error) && attempt < ATTEMPTS => attempt += 1,
            Err(error) => return Err(error),
        }
    }
}

fn is_aborted(error: &Error) -> bool {
    error
        .status()
        .is_some_and(|status| status.code == Code::Aborted)
}
