//! The log and the metrics of Google's own clients, against the emulator.

use backoff_cloud::{
    Budget, Policy,
    gax::{self, WithPolicy as _},
    memorystore,
};
use emulator::{Call, Emulator, Reply};
use google_cloud_secretmanager_v1::client::SecretManagerService;
use official::client;
use recorded::{Recorded, recorded_while};
use tracing::Level;

#[path = "../../../backoff-cloud/tests/common/recorded.rs"]
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
fn each_failure_is_told_whose_policy_it_is() {
    let (emulator, runtime) = (Emulator::start().expect("an emulator"), runtime());
    let client = |policy: gax::Adapted| runtime.block_on(client_of(&emulator, policy));
    let told = |client: &SecretManagerService, replies: &[u16], has_own: bool| -> Recorded {
        let replies = replies.iter().map(|status| Reply::status(*status));
        emulator.script(Call::GetIamPolicy, replies);
        let get = client.get_iam_policy().set_resource("projects/p/secrets/s");
        let get = match has_own {
            true => get.with_policy(POLICY),
            false => get,
        };
        recorded_while(|| drop(runtime.block_on(get.send())))
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
            (&[503, 503], &[Level::INFO; 2]),
            (&[503; 3], &[Level::INFO, Level::INFO, Level::WARN]),
            (&[429, 404], &[Level::INFO, Level::WARN]),
        ];
        for (replies, levels) in cases {
            let told = told(client, replies, has_own);
            assert_eq!(told.levels(), levels, "{replies:?}");
            // Of what succeeds, nothing.
            let fails = levels.last().is_some_and(|level| *level != Level::INFO);
            let calls = told.values("retry.call.duration").len();
            assert_eq!(calls, usize::from(fails), "{told:?}");
            let names = (!levels.is_empty()).then_some(name);
            assert_eq!(Vec::from_iter(told.operations), Vec::from_iter(names));
        }
    }
}

#[test]
fn a_request_that_tries_once_gives_the_budget_of_its_client_nothing() {
    static BUDGET: Budget = Budget::aws().starting_with(10);
    let (emulator, runtime) = (Emulator::start().expect("an emulator"), runtime());
    let client = runtime.block_on(client_of(&emulator, POLICY.budget(&BUDGET).into()));
    let get = || client.get_iam_policy().set_resource("projects/p/secrets/s");
    let call = runtime.block_on(get().try_once().send());
    assert_eq!((call.is_ok(), BUDGET.tokens()), (true, 10.0));
    let call = runtime.block_on(get().send());
    assert_eq!((call.is_ok(), BUDGET.tokens()), (true, 11.0));
}
