//! A small IAM client over HTTP. It repeats nothing by itself, and logs each of its calls.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use backoff_cloud::http::{self, ApiError};
use backoff_cloud::iam::{POLICY_VERSION, PlainPolicy, PolicyStore};
use backoff_cloud::{GrpcCode, Policy};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::record::{Call, Kind, Log, Outcome};

/// Who may do what. The etag says which version of the policy this is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct IamPolicy {
    #[serde(default)]
    bindings: Vec<Binding>,
    pub(crate) etag: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Binding {
    role: String,
    #[serde(default)]
    members: BTreeSet<String>,
}

impl IamPolicy {
    /// Gives the role to the member. Says whether that changes anything.
    pub(crate) fn add(&mut self, role: &str, member: &str) -> bool {
        let member = member.to_owned();
        match self
            .bindings
            .iter_mut()
            .find(|binding| binding.role == role)
        {
            Some(binding) => binding.members.insert(member),
            None => {
                let members = BTreeSet::from([member]);
                self.bindings.push(Binding {
                    role: role.to_owned(),
                    members,
                });
                true
            }
        }
    }

    /// Whether the member has any role.
    pub(crate) fn names(&self, member: &str) -> bool {
        self.bindings
            .iter()
            .any(|binding| binding.members.contains(member))
    }
}

/// One writer's access to the service, or one that many writers share.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) http: reqwest::Client,
    pub(crate) url: String,
    /// Who calls; `None` where a call is made for several writers.
    pub(crate) writer: Option<usize>,
    pub(crate) log: Arc<Log>,
    pub(crate) pace: Pace,
}

/// How long the waits and deadlines of the policies are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// By how much all times are scaled.
    pub(crate) scale: f64,
    /// Whether the calls that need not give up keep their deadline as it is.
    pub(crate) is_patient: bool,
}

impl Pace {
    /// The policy with other times.
    pub(crate) const fn scaled(self, policy: Policy) -> Policy {
        policy.scaled(self.scale)
    }

    /// The same for a call that gives up only if the machine is too slow for its deadline.
    pub(crate) fn patient(self, policy: Policy) -> Policy {
        self.scaled(policy)
            .deadline(self.patience(Duration::from_secs(300)))
    }

    pub(crate) fn time(self, time: Duration) -> Duration {
        time.mul_f64(self.scale)
    }

    /// The deadline of such a call.
    pub(crate) fn patience(self, deadline: Duration) -> Duration {
        if self.is_patient {
            deadline
        } else {
            self.time(deadline)
        }
    }
}

impl Client {
    pub(crate) async fn get_iam_policy(&self, resource: &str) -> Result<IamPolicy, ApiError> {
        self.call(Kind::Read, &format!("{resource}:getIamPolicy"), &json!({}))
            .await
    }

    /// Writes the policy, unless its etag is no longer that of the service.
    pub(crate) async fn set_iam_policy(
        &self,
        resource: &str,
        policy: &IamPolicy,
    ) -> Result<IamPolicy, ApiError> {
        let body = json!({ "policy": policy });
        self.call(Kind::Write, &format!("{resource}:setIamPolicy"), &body)
            .await
    }

    async fn call<P: DeserializeOwned>(
        &self,
        kind: Kind,
        method: &str,
        body: &Value,
    ) -> Result<P, ApiError> {
        let start = self.log.now();
        let answer = self.post(method, body).await;
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

    async fn post<P: DeserializeOwned>(&self, method: &str, body: &Value) -> Result<P, ApiError> {
        let url = format!("{}/v1/{method}", self.url);
        http::json(self.http.post(url).json(body).send().await?).await
    }
}

/// What `iam::Members` and `iam::add` ask of a client.
impl PolicyStore for Client {
    type Policy = PlainPolicy;
    type Error = ApiError;

    async fn get(&self, resource: &str) -> Result<PlainPolicy, ApiError> {
        let body = json!({ "options": { "requestedPolicyVersion": POLICY_VERSION } });
        self.call(Kind::Read, &format!("{resource}:getIamPolicy"), &body)
            .await
    }

    async fn set(&self, resource: &str, policy: PlainPolicy) -> Result<PlainPolicy, ApiError> {
        let body = json!({ "policy": policy });
        self.call(Kind::Write, &format!("{resource}:setIamPolicy"), &body)
            .await
    }
}

fn outcome(error: &ApiError) -> Outcome {
    match (error.grpc_code(), error.status()) {
        (Some(GrpcCode::Aborted), _) => Outcome::Conflict,
        (_, Some(429)) => Outcome::Throttled,
        _ => Outcome::Failed,
    }
}
