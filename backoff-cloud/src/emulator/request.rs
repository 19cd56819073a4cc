//! From a method, a path and a body to what is asked of a policy.

use axum::http::Method;
use serde_json::Value;

use super::fault::Call;
use super::iam::Update;
use super::reply::error_body;

/// A well-formed request.
#[derive(Debug, PartialEq)]
pub(super) struct Operation {
    pub(super) resource: String,
    pub(super) action: Action,
}

#[derive(Debug, PartialEq)]
pub(super) enum Action {
    Get,
    Set(Update),
}

impl Operation {
    pub(super) fn call(&self) -> Call {
        match self.action {
            Action::Get => Call::GetIamPolicy,
            Action::Set(_) => Call::SetIamPolicy,
        }
    }
}

/// Why a request is not carried out.
#[derive(Debug, PartialEq)]
pub(super) struct Refusal {
    pub(super) code: u16,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn new(code: u16, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, message)
    }

    pub(super) fn body(&self) -> String {
        error_body(self.code, &self.message, None)
    }
}

/// Reads a request.
pub(super) fn parse(method: &Method, path: &str, body: &[u8]) -> Result<Operation, Refusal> {
    let unknown = || Refusal::new(404, format!("Nothing is served for {method} {path}."));
    let (resource, verb) = path
        .strip_prefix('/')
        .and_then(|path| path.split_once('/'))
        .filter(|(version, _)| matches!(*version, "v1" | "v2" | "v3"))
        .and_then(|(_, rest)| rest.rsplit_once(':'))
        .filter(|(resource, _)| resource.split('/').all(|segment| !segment.is_empty()))
        .ok_or_else(unknown)?;
    let action = match (method, verb) {
        // A GET has its options in the query, and no body.
        (&Method::GET, "getIamPolicy") => Action::Get,
        (&Method::POST, "getIamPolicy") => {
            check_options(body)?;
            Action::Get
        }
        (&Method::POST, "setIamPolicy") => Action::Set(Update::parse(object(body)?)?),
        _ => return Err(unknown()),
    };
    Ok(Operation {
        resource: resource.to_owned(),
        action,
    })
}

fn object(body: &[u8]) -> Result<serde_json::Map<String, Value>, Refusal> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Refusal::invalid("The request body must be a JSON object.")),
        Err(error) => Err(Refusal::invalid(format!(
            "The request body is not JSON: {error}."
        ))),
    }
}

/// Checks the body of a getIamPolicy, which may be left out.
fn check_options(body: &[u8]) -> Result<(), Refusal> {
    if body.trim_ascii().is_empty() {
        return Ok(());
    }
    match object(body)?.get("options") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Object(options)) => match options.get("requestedPolicyVersion") {
            None | Some(Value::Null) => Ok(()),
            Some(version) if is_policy_version(version) => Ok(()),
            Some(version) => Err(Refusal::invalid(format!(
                "options.requestedPolicyVersion must be 0, 1 or 3, not {version}."
            ))),
        },
        Some(_) => Err(Refusal::invalid("options must be a JSON object.")),
    }
}

pub(super) fn is_policy_version(value: &Value) -> bool {
    matches!(value.as_u64(), Some(0 | 1 | 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(method: Method, path: &str, body: &str) -> Result<Operation, u16> {
        parse(&method, path, body.as_bytes()).map_err(|refusal| refusal.code)
    }

    #[test]
    fn reads_come_by_get_and_by_post_in_every_version() {
        let read = |resource: &str| {
            Ok(Operation {
                resource: resource.to_owned(),
                action: Action::Get,
            })
        };
        for version in ["v1", "v2", "v3"] {
            let path = format!("/{version}/projects/p/secrets/s:getIamPolicy");
            assert_eq!(parsed(Method::GET, &path, ""), read("projects/p/secrets/s"));
            for body in [
                "",
                "\n",
                "{}",
                r#"{"options":{"requestedPolicyVersion":3}}"#,
            ] {
                assert_eq!(
                    parsed(Method::POST, &path, body),
                    read("projects/p/secrets/s")
                );
            }
        }
        let scoped = parsed(Method::GET, "/v1/projects/example.com:p:getIamPolicy", "");
        assert_eq!(scoped, read("projects/example.com:p"));
    }

    #[test]
    fn what_is_not_served_is_not_found() {
        for path in [
            "",
            "/",
            "*",
            "/v1",
            "/v1/",
            "/v1/:getIamPolicy",
            "/v1/a//b:getIamPolicy",
            "/v1/a/:getIamPolicy",
            "/v4/a:getIamPolicy",
            "/a:getIamPolicy",
            "/v1/a",
            "/v1/a:",
            "/v1/a:getiampolicy",
            "/v1/a:testIamPermissions",
        ] {
            assert_eq!(parsed(Method::POST, path, "{}"), Err(404), "{path}");
        }
        assert_eq!(parsed(Method::GET, "/v1/a:setIamPolicy", ""), Err(404));
        assert_eq!(parsed(Method::DELETE, "/v1/a:getIamPolicy", ""), Err(404));
    }

    #[test]
    fn bad_bodies_are_invalid() {
        for body in ["{", "nonsense", "[]", "3", "null", r#"{"options":1}"#] {
            assert_eq!(
                parsed(Method::POST, "/v1/a:getIamPolicy", body),
                Err(400),
                "{body}"
            );
        }
        for version in ["2", "-1", "\"3\"", "1.5", "[]"] {
            let body = format!(r#"{{"options":{{"requestedPolicyVersion":{version}}}}}"#);
            assert_eq!(
                parsed(Method::POST, "/v1/a:getIamPolicy", &body),
                Err(400),
                "{body}"
            );
        }
        for body in ["", "{}", "[", "7"] {
            assert_eq!(
                parsed(Method::POST, "/v1/a:setIamPolicy", body),
                Err(400),
                "{body}"
            );
        }
        let bottomless = "[".repeat(100_000);
        assert_eq!(
            parsed(Method::POST, "/v1/a:setIamPolicy", &bottomless),
            Err(400)
        );
    }
}
