//! What a program would contain: policies, and a function that makes one call.

use std::time::Duration;

use backoff_cloud::http::{ApiError, SendExt as _};
use backoff_cloud::{Jitter, Policy, Rate};

/// Long enough for everybody.
const PATIENT: Duration = Duration::from_secs(600);

/// A second before each retry, without jitter.
const FIXED: Policy = Policy::constant(Duration::from_secs(1))
    .jitter(Jitter::None)
    .deadline(PATIENT);

/// The defaults: exponential backoff with full jitter, waits of up to 1, 2, 4, … 64 s.
const JITTERED: Policy = Policy::exponential().deadline(PATIENT);

/// What all calls know of the limit. A program has one for each limit.
static QUOTA: Rate = Rate::new().name("quota");

/// The same, and the calls share what each 429 says.
const SHARED: Policy = JITTERED.rate(&QUOTA);

/// A policy with its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strategy {
    pub(crate) name: &'static str,
    pub(crate) policy: &'static Policy,
}

pub(crate) const STRATEGIES: [Strategy; 3] = [
    Strategy {
        name: "fixed waits of 1 s",
        policy: &FIXED,
    },
    Strategy {
        name: "full jitter",
        policy: &JITTERED,
    },
    Strategy {
        name: "full jitter and a Rate",
        policy: &SHARED,
    },
];

/// Reads who may do what with a secret.
pub(crate) async fn allow_policy(
    policy: &Policy,
    client: &reqwest::Client,
    service: &str,
    secret: u32,
) -> Result<serde_json::Value, ApiError> {
    let url = format!("{service}/v1/projects/demo/secrets/{secret}:getIamPolicy");
    policy.send(client.get(url)).json().await
}
