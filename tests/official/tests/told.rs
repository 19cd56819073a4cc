//! What logs and metrics are told of Google's own clients, against the emulator.

use backoff_cloud::{
    Policy,
    emulator::{Call, Emulator, Reply},
    gax::{self, WithPolicy as _},
    memorystore,
};
use google_cloud_secretmanager_v1::client::SecretManagerService;
use official::credentials;
use recorded::{Told, told_while};
use tracing::Level;

#[path = "../../../backoff-cloud/tests/common/told.rs"]
mod recorded;

const POLICY: Policy = memorystore::REQUEST
    .scaled(0.001)
    .max_attempts(3)
    .name("secrets");

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime")
}

#[test]
fn each_end_of_a_call_is_told_whose_policy_it_is() {
    let (emulator, runtime) = (Emulator::start().expect("an emulator"), runtime());
    let client = |policy: gax::Adapted| {
        let client = SecretManagerService::builder()
            .with_endpoint(emulator.url())
            .with_credentials(credentials());
        let build = client.with_policy(policy).build();
        runtime.block_on(build).expect("a client")
    };
    let told = |client: &SecretManagerService, replies: &[u16], has_own: bool| -> Told {
        let replies = replies.iter().map(|status| Reply::status(*status));
        emulator.script(Call::GetIamPolicy, replies);
        let get = client.get_iam_policy().set_resource("projects/p/secrets/s");
        let get = if has_own {
            get.with_policy(POLICY)
        } else {
            get
        };
        told_while(|| drop(runtime.block_on(get.send())))
    };
    let plain = client(POLICY.into());
    let named = client(gax::adapt(POLICY).operation("secrets"));
    let module = "google_cloud_secretmanager_v1::builder::secret_manager_service";
    let request = format!("{module}::GetIamPolicy");
    for (client, has_own, name) in [
        (&plain, false, module),
        (&named, false, "secrets"),
        (&named, true, request.as_str()),
    ] {
        let cases: [(&[u16], &[Level]); 5] = [
            (&[], &[]),
            (&[404], &[Level::DEBUG]),
            (&[503, 503], &[Level::INFO; 3]),
            (&[503; 3], &[Level::INFO, Level::INFO, Level::WARN]),
            (&[429, 404], &[Level::INFO, Level::WARN]),
        ];
        for (replies, levels) in cases {
            let told = told(client, replies, has_own);
            assert_eq!(told.levels(), levels, "{replies:?}");
            assert_eq!(told.values("retry.call.duration").len(), 1, "{told:?}");
            assert_eq!(Vec::from_iter(told.operations), [name]);
        }
    }
}
