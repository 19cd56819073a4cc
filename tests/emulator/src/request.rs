//! Reads a request: the resource, and the call for it.

use std::collections::HashMap;

use axum::http::Method;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::fault::Call;
use crate::refusal::Refusal;
use backoff_cloud::iam::{POLICY_VERSION, PlainPolicy};

/// A request as it was received.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a Method,
    pub(crate) path: &'a str,
    pub(crate) query: &'a HashMap<String, String>,
    pub(crate) body: &'a [u8],
}

/// A well-formed request.
#[derive(Debug, PartialEq)]
pub(crate) struct Demand {
    /// The name of the resource; for a list, the collection.
    pub(crate) resource: String,
    pub(crate) action: Action,
}

/// A call and its arguments.
#[derive(Debug, PartialEq)]
pub(crate) enum Action {
    GetPolicy {
        with_conditions: bool,
    },
    SetPolicy(PlainPolicy),
    ListInstances,
    GetInstance,
    /// Creates an instance with these fields, or deletes it.
    Begin {
        fields: Option<Map<String, Value>>,
        request_id: Option<String>,
    },
    GetOperation,
}

impl Action {
    pub(crate) fn call(&self) -> Call {
        match self {
            Self::GetPolicy { .. } => Call::GetIamPolicy,
            Self::SetPolicy(_) => Call::SetIamPolicy,
            Self::ListInstances => Call::ListInstances,
            Self::GetInstance => Call::GetInstance,
            Self::Begin {
                fields: Some(_), ..
            } => Call::CreateInstance,
            Self::Begin { fields: None, .. } => Call::DeleteInstance,
            Self::GetOperation => Call::GetOperation,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetIamPolicy {
    policy: PlainPolicy,
    #[serde(default)]
    update_mask: String,
}

impl Request<'_> {
    /// The call that the request makes.
    pub(crate) fn demand(&self) -> Result<Demand, Refusal> {
        let versioned = self.path.strip_prefix('/').unwrap_or_default();
        let path = match versioned.split_once('/') {
            Some(("v1" | "v2" | "v3", path)) => path,
            _ => return Err(self.unknown()),
        };
        match path.rsplit_once(':') {
            Some((resource, verb)) if !verb.contains('/') => self.policy(resource, verb),
            _ => self.memorystore(path),
        }
    }

    fn policy(&self, resource: &str, verb: &str) -> Result<Demand, Refusal> {
        let action = match (self.method.as_str(), verb) {
            // The Secret Manager reads policies by GET.
            ("POST", "getIamPolicy") if is_secret(resource) => return Err(self.unknown()),
            ("GET" | "POST", "getIamPolicy") => Action::GetPolicy {
                with_conditions: self.asks_for_conditions(),
            },
            ("POST", "setIamPolicy") => {
                let write: SetIamPolicy = self.json()?;
                if !write.update_mask.is_empty() {
                    let message = "updateMask is not emulated: leave it out.";
                    return Err(Refusal::invalid(message));
                }
                Action::SetPolicy(write.policy)
            }
            _ => return Err(self.unknown()),
        };
        // Decoded after the path was split, so that an encoded slash or colon does not split it.
        let resource = percent_decode_str(resource).decode_utf8();
        let resource = resource.map_err(|_| self.unknown())?.into_owned();
        Ok(Demand { resource, action })
    }

    fn memorystore(&self, path: &str) -> Result<Demand, Refusal> {
        let segments: Vec<_> = path.split('/').collect();
        let ["projects", _, "locations", _, collection, ref id @ ..] = segments[..] else {
            return Err(self.unknown());
        };
        let request_id = self.parameter("requestId").map(str::to_owned);
        let mut resource = path.to_owned();
        let action = match (self.method.as_str(), collection, id) {
            ("GET", "instances", []) => Action::ListInstances,
            ("GET", "instances", [_]) => Action::GetInstance,
            ("GET", "operations", [_]) => Action::GetOperation,
            ("DELETE", "instances", [_]) => Action::Begin {
                fields: None,
                request_id,
            },
            ("POST", "instances", []) => {
                let id = self.parameter("instanceId");
                let id = id.ok_or_else(|| Refusal::invalid("instanceId is required."))?;
                resource = format!("{path}/{id}");
                let fields = Some(self.json()?);
                Action::Begin { fields, request_id }
            }
            _ => return Err(self.unknown()),
        };
        Ok(Demand { resource, action })
    }

    /// Whether a read asks for conditions. A GET has its options in the query, and a POST in the body. The
    /// service for service accounts reads by POST and has the options in the query:
    /// <https://cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts/getIamPolicy>.
    fn asks_for_conditions(&self) -> bool {
        let version = match self.parameter("options.requestedPolicyVersion") {
            Some(version) => version.parse().ok(),
            // The body is optional.
            None => self.json::<Value>().ok().and_then(|body| {
                let version = &body["options"]["requestedPolicyVersion"];
                version.as_i64()
            }),
        };
        version == Some(i64::from(POLICY_VERSION))
    }

    /// A parameter of the query; an empty one counts as missing.
    fn parameter(&self, name: &str) -> Option<&str> {
        let value = self.query.get(name)?;
        (!value.is_empty()).then_some(value)
    }

    fn json<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        serde_json::from_slice(self.body)
            .map_err(|error| Refusal::invalid(format!("The request body cannot be read: {error}.")))
    }

    fn unknown(&self) -> Refusal {
        let Self { method, path, .. } = self;
        Refusal::not_found(format!("Nothing is served for {method} {path}."))
    }
}

/// Whether the resource is a secret, whose policy is read by GET only:
/// <https://cloud.google.com/secret-manager/docs/reference/rest/v1/projects.secrets/getIamPolicy>.
fn is_secret(resource: &str) -> bool {
    resource.rsplit('/').nth(1) == Some("secrets")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a request asks for: its method and path in one line, and its body.
    fn demand(line: &str, body: &str) -> Result<Demand, u16> {
        let (method, path) = line.split_once(' ').unwrap();
        let request = Request {
            method: &method.parse().unwrap(),
            path,
            query: &HashMap::new(),
            body: body.as_bytes(),
        };
        request
            .demand()
            .map_err(|refusal| refusal.code.http_status())
    }

    /// A row: a request, and the resource whose policy it reads. The policy of a secret is read by GET alone.
    #[test]
    fn a_policy_is_read_by_get_and_by_post() {
        for (line, resource) in [
            ("GET /v1/a/example.com:p:getIamPolicy", "a/example.com:p"),
            ("GET /v1/p/p/secrets/s:getIamPolicy", "p/p/secrets/s"),
            ("POST /v1/projects/secrets:getIamPolicy", "projects/secrets"),
            ("POST /v1/b/gr%C3%B6%c3%9fe:getIamPolicy", "b/größe"),
            ("POST /v1/b/%252e%252E:getIamPolicy", "b/%2e%2E"),
            ("POST /v1/a%3AsetIamPolicy:getIamPolicy", "a:setIamPolicy"),
        ] {
            let asked = demand(line, "").expect(line);
            assert_eq!(asked.action.call(), Call::GetIamPolicy, "{line}");
            assert_eq!(asked.resource, resource);
        }
    }

    #[test]
    fn requests_that_are_refused() {
        for line in [
            "POST /v4/a:getIamPolicy",
            "POST /v1/p/p/secrets/s:getIamPolicy",
            "POST /v1/b/%ff:getIamPolicy",
            "POST /v1/projects/p/locations/l/instances/i/more",
            "GET /v1/a:setIamPolicy",
        ] {
            assert_eq!(demand(line, "{}"), Err(404), "{line}");
        }
        for (path, body) in [
            ("projects/p/locations/l/instances", "{}"),
            ("a:setIamPolicy", "{}"),
            ("a:setIamPolicy", r#"{"policy": {"etag": 7}}"#),
            (
                "a:setIamPolicy",
                r#"{"policy": {}, "updateMask": "bindings"}"#,
            ),
            ("a:setIamPolicy", &"[".repeat(100_000)),
        ] {
            let asked = demand(&format!("POST /v1/{path}"), body);
            assert_eq!(asked, Err(400), "{body:.40}");
        }
    }
}
