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
    /// The permissions to test.
    TestPermissions(Vec<String>),
    ListInstances,
    GetInstance,
    CreateInstance {
        fields: Map<String, Value>,
        request_id: Option<String>,
    },
    DeleteInstance {
        request_id: Option<String>,
    },
    GetOperation,
}

impl Action {
    pub(crate) fn call(&self) -> Call {
        match self {
            Self::GetPolicy { .. } => Call::GetIamPolicy,
            Self::SetPolicy(_) => Call::SetIamPolicy,
            Self::TestPermissions(_) => Call::TestIamPermissions,
            Self::ListInstances => Call::ListInstances,
            Self::GetInstance => Call::GetInstance,
            Self::CreateInstance { .. } => Call::CreateInstance,
            Self::DeleteInstance { .. } => Call::DeleteInstance,
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

#[derive(Deserialize)]
struct TestIamPermissions {
    #[serde(default)]
    permissions: Vec<String>,
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
            ("POST", "getIamPolicy") if is_secret(resource) => {
                return Err(Refusal::not_found(format!(
                    "Nothing is served for POST {}: the Secret Manager reads policies by GET.",
                    self.path
                )));
            }
            ("GET" | "POST", "getIamPolicy") => Action::GetPolicy {
                with_conditions: self.asks_for_conditions(),
            },
            ("POST", "setIamPolicy") => {
                let SetIamPolicy {
                    policy,
                    update_mask,
                } = self.json()?;
                if !update_mask.is_empty() {
                    let message = "updateMask is not emulated: leave it out.";
                    return Err(Refusal::invalid(message));
                }
                Action::SetPolicy(policy)
            }
            ("POST", "testIamPermissions") => {
                let TestIamPermissions { permissions } = self.json()?;
                Action::TestPermissions(permissions)
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
            ("DELETE", "instances", [_]) => Action::DeleteInstance { request_id },
            ("POST", "instances", []) => {
                let id = self.parameter("instanceId");
                let id = id.ok_or_else(|| Refusal::invalid("instanceId is required."))?;
                resource = format!("{path}/{id}");
                Action::CreateInstance {
                    fields: self.json()?,
                    request_id,
                }
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
    use serde_json::json;

    const PARENT: &str = "projects/p/locations/l";

    /// What a request asks for: its method, path and query in one line, and its body.
    fn demand(line: &str, body: &str) -> Result<(String, Action), u16> {
        let (method, path) = line.split_once(' ').unwrap();
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let request = Request {
            method: &method.parse().unwrap(),
            path,
            query: &pairs.map(own).collect(),
            body: body.as_bytes(),
        };
        let refused = |refusal: Refusal| refusal.code.http_status();
        let demand = request.demand().map_err(refused)?;
        Ok((demand.resource, demand.action))
    }

    fn read(resource: &str, with_conditions: bool) -> Result<(String, Action), u16> {
        Ok((resource.to_owned(), Action::GetPolicy { with_conditions }))
    }

    /// A row: the request, its body, and the resource whose policy it reads.
    #[test]
    fn a_policy_is_read_by_get_and_by_post_in_every_version() {
        for (line, resource) in [
            ("GET /v1/projects/p:getIamPolicy", "projects/p"),
            ("GET /v2/projects/p:getIamPolicy", "projects/p"),
            ("GET /v3/projects/p:getIamPolicy", "projects/p"),
            ("POST /v1/projects/p:getIamPolicy", "projects/p"),
            ("POST /v2/projects/p:getIamPolicy", "projects/p"),
            ("POST /v3/projects/p:getIamPolicy", "projects/p"),
            ("GET /v1/a/example.com:p:getIamPolicy", "a/example.com:p"),
            ("POST /v1/projects/secrets:getIamPolicy", "projects/secrets"),
            ("POST /v1/b/my%20bucket:getIamPolicy", "b/my bucket"),
            ("POST /v1/b/gr%C3%B6%c3%9fe:getIamPolicy", "b/größe"),
            ("POST /v1/b/%252e%252E:getIamPolicy", "b/%2e%2E"),
            (
                "POST /v1/a%3AgetIamPolicy%3Fx:getIamPolicy",
                "a:getIamPolicy?x",
            ),
            ("POST /v1/b/100%:getIamPolicy", "b/100%"),
        ] {
            assert_eq!(demand(line, ""), read(resource, false), "{line}");
        }
        // The policy of a secret is read by GET alone.
        for secret in ["projects/p/secrets/s", "projects/p/locations/l/secrets/s"] {
            let path = format!("/v1/{secret}:getIamPolicy");
            assert_eq!(demand(&format!("GET {path}"), ""), read(secret, false));
            assert_eq!(demand(&format!("POST {path}"), "{}"), Err(404));
        }
    }

    #[test]
    fn conditions_are_asked_for_in_the_query_or_in_the_body() {
        for (version, expected) in [("3", true), ("1", false), ("", false), ("three", false)] {
            let path = format!("/v1/a:getIamPolicy?options.requestedPolicyVersion={version}");
            let asked = read("a", expected);
            assert_eq!(demand(&format!("GET {path}"), ""), asked, "{version}");
            assert_eq!(demand(&format!("POST {path}"), "{}"), asked, "{version}");
        }
        for (body, expected) in [
            (r#"{"options": {"requestedPolicyVersion": 3}}"#, true),
            (r#"{"options": {"requestedPolicyVersion": 1}}"#, false),
            ("{}", false),
        ] {
            let asked = demand("POST /v1/a:getIamPolicy", body);
            assert_eq!(asked, read("a", expected), "{body}");
        }
    }

    #[test]
    fn every_call_for_instances_has_its_path() {
        let created = Action::CreateInstance {
            fields: Map::from_iter([("shardCount".to_owned(), json!(3))]),
            request_id: Some("7".to_owned()),
        };
        let deleted = Action::DeleteInstance { request_id: None };
        let post = "POST instances?instanceId=i&requestId=7";
        for (line, resource, action) in [
            ("GET instances", "instances", Action::ListInstances),
            ("GET instances/i", "instances/i", Action::GetInstance),
            ("GET operations/o", "operations/o", Action::GetOperation),
            ("DELETE instances/i", "instances/i", deleted),
            (post, "instances/i", created),
        ] {
            let line = line.replacen(' ', &format!(" /v1/{PARENT}/"), 1);
            let asked = demand(&line, r#"{"shardCount": 3}"#);
            let resource = format!("{PARENT}/{resource}");
            assert_eq!(asked, Ok((resource, action)), "{line}");
        }
    }

    #[test]
    fn requests_that_are_refused() {
        for line in [
            "POST ",
            "POST /",
            "POST *",
            "POST /v1",
            "POST /v4/a:getIamPolicy",
            "POST /a:getIamPolicy",
            "POST /v1/a",
            "POST /v1/a:getiampolicy",
            "POST /v1/b/%ff:getIamPolicy",
            "POST /v1/projects/p/locations/l/operations",
            "POST /v1/projects/p/locations/l/instances/i/more",
            "POST /v1/projects/p/locations/l/operations/o:cancel",
            "GET /v1/a:setIamPolicy",
        ] {
            assert_eq!(demand(line, "{}"), Err(404), "{line}");
        }
        let nameless = demand(&format!("POST /v1/{PARENT}/instances"), "{}");
        assert_eq!(nameless, Err(400));
        let bottomless = "[".repeat(100_000);
        for body in [
            "",
            "{}",
            "[",
            r#"{"policy": 7}"#,
            r#"{"policy": {"bindings": [{"role": 7}]}}"#,
            r#"{"policy": {"etag": 7}}"#,
            r#"{"policy": {}, "updateMask": "bindings"}"#,
            &bottomless,
        ] {
            let asked = demand("POST /v1/a:setIamPolicy", body);
            assert_eq!(asked, Err(400), "{body:.40}");
        }
    }
}
