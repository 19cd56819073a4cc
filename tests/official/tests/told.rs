//! The log and the metrics of Google's own clients, against the emulator.

use backoff_cloud::{
    Policy,
    emulator::{Call, Emulator, Reply},
    gax::{self, WithPolicy as _},
    memorystore,
};
use google_cloud_secretmanager_v1::client::SecretManagerService;
use official::client;
use recorded::{Told, told_while};
use std::time::Duration;
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

async fn client_of(emulator: &Emulator, policy: gax::Adapted) -> SecretManagerService {
    client!(SecretManagerService, emulator.url(), with_policy(policy))
}

#[test]
fn each_end_of_a_call_is_told_whose_policy_it_is() {
    let (emulator, runtime) = (Emulator::start().expect("an emulator"), runtime());
    let client = |policy: gax::Adapted| runtime.block_on(client_of(&emulator, policy));
    let told = |client: &SecretManagerService, replies: &[u16], has_own: bool| -> Told {
        let replies = replies.iter().map(|status| Reply::status(*status));
        emulator.script(Call::GetIamPolicy, replies);
        let get = client.get_iam_policy().set_resource("projects/p/secrets/s");
        let get = match has_own {
            true => get.with_policy(POLICY),
            false => get,
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

#[test]
fn a_request_that_tries_once_is_not_taken_for_another() {
    let (emulator, runtime) = (Emulator::start().expect("an emulator"), runtime());
    let client = runtime.block_on(client_of(&emulator, POLICY.into()));
    let slow = Reply::delay(Duration::from_secs(1));
    emulator.script(Call::GetIamPolicy, [Reply::status(503), slow]);
    let resource = "projects/p/secrets/s";
    let told = told_while(|| {
        let both = async {
            let retried = client.get_iam_policy().set_resource(resource).send();
            let once = async {
                // While the second attempt of the other one is under way.
                while emulator.stats().faults < 2 {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                let test = client.test_iam_permissions().set_resource(resource);
                test.try_once().send().await
            };
            let both = async { tokio::join!(retried, once) };
            tokio::time::timeout(Duration::from_secs(60), both).await
        };
        let (retried, once) = runtime.block_on(both).expect("a second attempt");
        assert!(retried.is_ok() && once.is_ok(), "{retried:?} {once:?}");
    });
    assert_eq!(told.levels(), [Level::INFO; 2]);
    let durations = told.values("retry.call.duration");
    assert_eq!(durations.len(), 1, "{told:?}");
    let lasted = durations[0].trim_matches(['[', ']']).parse::<f64>();
    assert!(lasted.is_ok_and(|lasted| lasted >= 1.0), "{told:?}");
}
