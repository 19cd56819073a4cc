//! Google's own clients.

use super::allow::{AllowPolicy, Binding, POLICY_VERSION};
use super::condition::Condition;
use super::resource::check_raw;
use super::store::PolicyStore;
use crate::gax::WithPolicy as _;
use google_cloud_gax_1::error::Error;
use google_cloud_iam_v1::model;

impl AllowPolicy for model::Policy {
    type Binding = model::Binding;

    fn etag(&self) -> &[u8] {
        &self.etag
    }

    fn set_version(&mut self, version: i32) {
        self.version = version;
    }

    fn bindings(&self) -> &[model::Binding] {
        &self.bindings
    }

    fn bindings_mut(&mut self) -> &mut Vec<model::Binding> {
        &mut self.bindings
    }
}

impl Binding for model::Binding {
    fn new(role: &str, condition: Option<&Condition>) -> Self {
        let mut binding = model::Binding::new().set_role(role);
        if let Some(condition) = condition {
            let (title, expression, description) = condition.key();
            let written = binding.condition.get_or_insert_default();
            written.title = title.to_owned();
            written.expression = expression.to_owned();
            written.description = description.to_owned();
        }
        binding
    }

    fn role(&self) -> &str {
        &self.role
    }

    fn has_condition(&self, condition: Option<&Condition>) -> bool {
        let own = self.condition.as_ref();
        let own = own.map(|it| (&*it.title, &*it.expression, &*it.description));
        own == condition.map(Condition::key)
    }

    fn members(&self) -> &[String] {
        &self.members
    }

    fn members_mut(&mut self) -> &mut Vec<String> {
        &mut self.members
    }
}

/// Refuses a name that leads to another resource. Google's clients do not encode `\`, which a URL takes for `/`, nor
/// `..`: `projects/mine\..\victim` would lead to another project.
fn named(resource: &str) -> Result<&str, Error> {
    check_raw(resource).map_err(|reason| Error::binding(format!("nothing was sent: {reason}")))?;
    Ok(resource)
}

/// Implements [`PolicyStore`] for each client. The client for service accounts
/// (`google-cloud-iam-admin-v1`) takes names such as
/// `projects/p/serviceAccounts/sa@p.iam.gserviceaccount.com`.
macro_rules! official {
    ($($(#[$when:meta])* $client:ty),+ $(,)?) => {
        $(
            /// Each request is made once, whatever the client's own retry policy is: the update around it
            /// retries. A retry inside the client would repeat a write whose reply was lost, and its
            /// success would look like a conflict. A name that could lead to another resource or another
            /// method is refused before a request is sent.
            $(#[$when])*
            impl PolicyStore for $client {
                type Policy = model::Policy;
                type Error = Error;

                async fn get(&self, resource: &str) -> Result<model::Policy, Error> {
                    let options =
                        model::GetPolicyOptions::new().set_requested_policy_version(POLICY_VERSION);
                    let request = self.get_iam_policy().set_resource(named(resource)?);
                    request.set_options(options).try_once().send().await
                }

                async fn set(
                    &self,
                    resource: &str,
                    policy: model::Policy,
                ) -> Result<model::Policy, Error> {
                    let request = self.set_iam_policy().set_resource(named(resource)?);
                    request.set_policy(policy).try_once().send().await
                }
            }
        )+
    };
}

official!(
    google_cloud_iam_v1::client::IAMPolicy,
    #[cfg(feature = "google-cloud-iam-admin-v1")]
    google_cloud_iam_admin_v1::client::Iam,
    #[cfg(feature = "google-cloud-secretmanager-v1")]
    google_cloud_secretmanager_v1::client::SecretManagerService,
    #[cfg(feature = "google-cloud-resourcemanager-v3")]
    google_cloud_resourcemanager_v3::client::Projects,
    #[cfg(feature = "google-cloud-resourcemanager-v3")]
    google_cloud_resourcemanager_v3::client::Folders,
    #[cfg(feature = "google-cloud-resourcemanager-v3")]
    google_cloud_resourcemanager_v3::client::Organizations,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_found_again() {
        let night = Condition::new("night", "request.time.getHours() < 6").description("quiet");
        let bound: model::Binding = Binding::new("roles/viewer", Some(&night));
        assert!(bound.has_condition(Some(&night)));
        assert!(!bound.has_condition(None));
        assert!(!bound.has_condition(Some(&Condition::new("night", "true"))));
        let always: model::Binding = Binding::new("roles/viewer", None);
        assert!(always.has_condition(None) && !always.has_condition(Some(&night)));
    }
}
