//! A small IAM client over HTTP. It repeats nothing by itself, and logs each of its calls.

use std::collections::BTreeSet;
use std::sync::Arc;

use backoff_cloud::GrpcCode;
use backoff_cloud::http::{self, ApiError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::record::{Call, Kind, Log, Outcome};

/// Who may do what. The etag says which version of the policy this is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct IamPolicy {
    #[serde(default)]
    bindings: Vec<Binding>,
    etag: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Binding {
    role: String,
    #[serde(default)]
    members: BTreeSet<String>,
}

impl IamPolicy {
    /// Gives the role to the member.
    pub(crate) fn add(&mut self, role: &str, member: &str) {
        let member = member.to_owned();
        match self
            .bindings
            .iter_mut()
            .find(|binding| binding.role == role)
        {
            Some(binding) => {
                binding.members.insert(member);
            }
            None => {
                let members = BTreeSet::from([member]);
                self.bindings.push(Binding {
                    role: role.to_owned(),
                    members,
                });
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

/// One writer's access to the service.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) http: reqwest::Client,
    pub(crate) url: String,
    pub(crate) writer: usize,
    pub(crate) log: Arc<Log>,
    /// By how much a policy's times are scaled.
    pub(crate) pace: f64,
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

    async fn call(&self, kind: Kind, method: &str, body: &Value) -> Result<IamPolicy, ApiError> {
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

    async fn post(&self, method: &str, body: &Value) -> Result<IamPolicy, ApiError> {
        let url = format!("{}/v1/{method}", self.url);
        http::json(self.http.post(url).json(body).send().await?).await
    }
}

fn outcome(error: &ApiError) -> Outcome {
    match (error.grpc_code(), error.status()) {
        (Some(GrpcCode::Aborted), _) => Outcome::Conflict,
        (_, Some(429)) => Outcome::Throttled,
        _ => Outcome::Failed,
    }
}
