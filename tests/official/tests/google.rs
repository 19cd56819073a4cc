//! Tests against Google's real services. They are ignored by default, because they need credentials. To run
//! them:
//!
//! ```text
//! export GOOGLE_APPLICATION_CREDENTIALS=key.json        # or other Application Default Credentials
//! export BACKOFF_TEST_PROJECT=my-project
//! export BACKOFF_TEST_SERVICE_ACCOUNT=sa@my-project.iam.gserviceaccount.com   # one made for tests
//! cargo test -p official --features google --test google -- --ignored
//! ```

use backoff_cloud::{gax::WithPolicy as _, iam, memorystore};
use google_cloud_iam_admin_v1::client::Iam;
use google_cloud_iam_v1::model::Policy;
use google_cloud_memorystore_v1::client::Memorystore;
use official::install_tls;
use std::env;

/// The role that the service account gets on itself. The role only allows reading the account's data.
const ROLE: &str = "roles/iam.serviceAccountViewer";

fn given(variable: &str) -> String {
    env::var(variable).unwrap_or_else(|_| panic!("set {variable}: see the head of this file"))
}

/// The parts of a policy that the test compares, without the etag, which changes with each write.
fn bindings(policy: Policy) -> Vec<(String, Vec<String>)> {
    let sorted = policy.bindings.into_iter().map(|mut it| {
        it.members.sort();
        (it.role, it.members)
    });
    let mut all: Vec<_> = sorted.collect();
    all.sort();
    all
}

/// Needs `GOOGLE_APPLICATION_CREDENTIALS` of somebody who may get and set the policy of the service
/// account (`roles/iam.serviceAccountAdmin`), `BACKOFF_TEST_PROJECT` and
/// `BACKOFF_TEST_SERVICE_ACCOUNT`. It costs nothing: about eight calls to IAM, which are free. It
/// gives the account a role on itself, takes that role away again, and asserts that the policy is
/// as it was.
#[tokio::test]
#[ignore = "needs GOOGLE_APPLICATION_CREDENTIALS, BACKOFF_TEST_PROJECT, BACKOFF_TEST_SERVICE_ACCOUNT; \
            about 8 calls to IAM, free of charge"]
async fn a_member_is_added_and_removed_by_google_itself() {
    let project = given("BACKOFF_TEST_PROJECT");
    let account = given("BACKOFF_TEST_SERVICE_ACCOUNT");
    install_tls();
    let client = Iam::builder().build().await.expect("a client");
    let resource = format!("projects/{project}/serviceAccounts/{account}");
    let member = format!("serviceAccount:{account}");
    let read = async || {
        let get = || client.get_iam_policy().set_resource(&resource);
        let get = || get().try_once().send();
        bindings(iam::REQUEST.retry(get).await.expect("the policy"))
    };

    let before = read().await;
    let has_it = |bindings: &[(String, Vec<String>)]| {
        let mut of_role = bindings.iter().filter(|(role, _)| role == ROLE);
        of_role.any(|(_, members)| members.contains(&member))
    };
    assert!(
        !has_it(&before),
        "{member} has {ROLE} on itself already, and would lose it: take another account"
    );

    let added = iam::add(&client, &resource, ROLE, &member).reported().await;
    let between = read().await;
    // Before anything is asserted: the account is left as it was found.
    let removed = iam::remove(&client, &resource, ROLE, &member)
        .reported()
        .await;

    let (added, report) = added.expect("the member is added");
    assert!(added.is_written(), "{report:?}");
    assert!(has_it(&between), "{between:?}");
    let (removed, report) = removed.expect("the member is removed");
    assert!(removed.is_written(), "{report:?}");
    assert_eq!(read().await, before);
}

/// Needs `GOOGLE_APPLICATION_CREDENTIALS` of somebody who may list instances
/// (`roles/memorystore.viewer`) and `BACKOFF_TEST_PROJECT`, where the API is enabled. It costs
/// nothing: one call, which reads.
#[tokio::test]
#[ignore = "needs GOOGLE_APPLICATION_CREDENTIALS, BACKOFF_TEST_PROJECT; one call to Memorystore, \
            free of charge"]
async fn memorystore_lists_its_instances() {
    let project = given("BACKOFF_TEST_PROJECT");
    install_tls();
    let client = Memorystore::builder().build().await.expect("a client");
    let everywhere = format!("projects/{project}/locations/-");
    let list = || client.list_instances().set_parent(&everywhere);
    let list = || list().try_once().send();
    let listed = memorystore::REQUEST.retry(list).await.expect("the list");
    let beginning = format!("projects/{project}/");
    for instance in listed.instances {
        assert!(instance.name.starts_with(&beginning), "{}", instance.name);
    }
}
