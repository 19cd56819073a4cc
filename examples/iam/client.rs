//! A client of IAM over HTTP. It repeats nothing by itself, and logs each of its calls.

use std::sync::Arc;
use std::time::Duration;

use backoff_cloud::http::ApiError;
use backoff_cloud::iam::{PlainPolicy, PolicyStore, Rest};
use backoff_cloud::{GrpcCode, Policy};

use crate::record::{Call, Kind, Log, Outcome};

/// A writer's access to the service.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) rest: Rest,
    /// Who calls. Calls that are made for all writers are logged as those of the first one.
    pub(crate) writer: usize,
    pub(crate) log: Arc<Log>,
    pub(crate) pace: Pace,
}

/// By how much all times are scaled.
const SHORTENED: f64 = 0.01;

/// How long the waits and deadlines of the policies are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Whether the calls that need not give up keep their deadline as it is.
    pub(crate) is_patient: bool,
}

impl Pace {
    /// The policy with other times.
    pub(crate) const fn scaled(self, policy: Policy) -> Policy {
        policy.scaled(SHORTENED)
    }

    /// The same for a call that gives up only if the machine is too slow for its deadline.
    pub(crate) fn patient(self, policy: Policy) -> Policy {
        self.scaled(policy).deadline(self.patience())
    }

    pub(crate) fn time(self, time: Duration) -> Duration {
        time.mul_f64(SHORTENED)
    }

    /// The deadline of such a call.
    pub(crate) fn patience(self) -> Duration {
        let deadline = Duration::from_secs(300);
        if self.is_patient {
            deadline
        } else {
            self.time(deadline)
        }
    }
}

impl Client {
    async fn logged(
        &self,
        kind: Kind,
        call: impl Future<Output = Result<PlainPolicy, ApiError>>,
    ) -> Result<PlainPolicy, ApiError> {
        let start = self.log.now();
        let answer = call.await;
        let outcome = answer.as_ref().map_or_else(outcome, |_| Outcome::Done);
        self.log.add(Call {
            writer: self.writer,
            kind,
            outcome,
            start,
            end: self.log.now(),
        });
        answer
    }
}

impl PolicyStore for Client {
    type Policy = PlainPolicy;
    type Error = ApiError;

    async fn get(&self, resource: &str) -> Result<PlainPolicy, ApiError> {
        self.logged(Kind::Read, self.rest.get(resource)).await
    }

    /// Writes the policy, unless its etag is no longer that of the service.
    async fn set(&self, resource: &str, policy: PlainPolicy) -> Result<PlainPolicy, ApiError> {
        let write = self.rest.set(resource, policy);
        self.logged(Kind::Write, write).await
    }
}

fn outcome(error: &ApiError) -> Outcome {
    match (error.grpc_code(), error.status()) {
        (Some(GrpcCode::Aborted), _) => Outcome::Conflict,
        (_, Some(429)) => Outcome::Throttled,
        _ => Outcome::Failed,
    }
}
