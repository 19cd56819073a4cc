//! Reads the requests for policies.

use axum::http::Method;
use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::action::Action;
use super::policy::{Update, Version};
use crate::emulator::demand::Demand;
use crate::emulator::refusal::Refusal;
use crate::emulator::request::{Query, Request};

/// The query parameter for a version.
const VERSION: &str = "options.requestedPolicyVersion";

/// Reads a request for a policy. Every resource has a policy.
pub(in crate::emulator) fn parse(request: &Request<'_>) -> Result<Demand, Refusal> {
    let (resource, verb) = request
        .path
        .strip_prefix('/')
        .and_then(|path| path.split_once('/'))
        .filter(|(version, _)| matches!(*version, "v1" | "v2" | "v3"))
        .and_then(|(_, rest)| rest.rsplit_once(':'))
        .filter(|(resource, _)| resource.split('/').all(|segment| !segment.is_empty()))
        .ok_or_else(|| request.unknown())?;
    let action = match (request.method, verb) {
        // A GET has its options in the query and no body.
        (&Method::GET, "getIamPolicy") => Action::Get(version_in_query(request.query)?),
        (&Method::POST, "getIamPolicy") if is_secret(resource) => {
            return Err(Refusal::not_found(format!(
                "Nothing is served for POST {}: the Secret Manager reads policies by GET.",
                request.path
            )));
        }
        (&Method::POST, "getIamPolicy")
            if is_service_account(resource) && request.query.get(VERSION).is_some() =>
        {
            Action::Get(version_in_query(request.query)?)
        }
        (&Method::POST, "getIamPolicy") => Action::Get(version_in_body(request)?),
        (&Method::POST, "setIamPolicy") => Action::Set(Update::parse(request.object()?)?),
        (&Method::POST, "testIamPermissions") => Action::Test(permissions(request)?),
        _ => return Err(request.unknown()),
    };
    // Decoded after the path was split, so that an encoded slash or colon does not split it.
    let resource = percent_decode_str(resource).decode_utf8();
    let resource = resource.map_err(|_| request.unknown())?;
    Ok(Demand::policy(&resource, action))
}

/// Whether the resource is a secret, whose policy is read by GET only:
/// <https://cloud.google.com/secret-manager/docs/reference/rest/v1/projects.secrets/getIamPolicy>.
fn is_secret(resource: &str) -> bool {
    matches!(
        resource.split('/').collect::<Vec<_>>()[..],
        ["projects", _, "secrets", _] | ["projects", _, "locations", _, "secrets", _]
    )
}

/// Whether the resource is a service account, whose policy is read by POST with the options in the query
/// (Google's client also sends an empty object as the body):
/// <https://cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts/getIamPolicy>.
fn is_service_account(resource: &str) -> bool {
    matches!(
        resource.split('/').collect::<Vec<_>>()[..],
        ["projects", _, "serviceAccounts", _]
    )
}

fn version_in_query(query: &Query) -> Result<Version, Refusal> {
    match query.get(VERSION) {
        None => Ok(Version::One),
        Some(text) => match serde_json::from_str(text) {
            Ok(version) => requested(&version),
            Err(_) => requested(&Value::from(text)),
        },
    }
}

/// Reads the body of a getIamPolicy, which is optional.
fn version_in_body(request: &Request<'_>) -> Result<Version, Refusal> {
    if request.body.trim_ascii().is_empty() {
        return Ok(Version::One);
    }
    match request.object()?.get("options") {
        None | Some(Value::Null) => Ok(Version::One),
        Some(Value::Object(options)) => match options.get("requestedPolicyVersion") {
            None | Some(Value::Null) => Ok(Version::One),
            Some(version) => requested(version),
        },
        Some(_) => Err(Refusal::invalid("options must be a JSON object.")),
    }
}

fn requested(version: &Value) -> Result<Version, Refusal> {
    Version::of(version).ok_or_else(|| {
        Refusal::invalid(format!(
            "options.requestedPolicyVersion must be 0, 1 or 3, not {version}."
        ))
    })
}

/// Reads the body of a testIamPermissions.
fn permissions(request: &Request<'_>) -> Result<Vec<String>, Refusal> {
    let refuse = || Refusal::invalid("permissions must be an array of names without wildcards.");
    match request.object()?.remove("permissions") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(names)) => names
            .into_iter()
            .map(|name| match name {
                Value::String(name) if !name.contains('*') => Ok(name),
                _ => Err(refuse()),
            })
            .collect(),
        Some(_) => Err(refuse()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(method: Method, path: &str, body: &str) -> Result<Demand, u16> {
        let query = Query::default();
        let body = body.as_bytes();
        parse(&Request {
            method: &method,
            path,
            query: &query,
            body,
        })
        .map_err(|refusal| refusal.code)
    }

    fn read(resource: &str, version: Version) -> Result<Demand, u16> {
        Ok(Demand::policy(resource, Action::Get(version)))
    }

    #[test]
    fn reads_come_by_get_and_by_post_in_every_version() {
        let project = "projects/p";
        for version in ["v1", "v2", "v3"] {
            let path = format!("/{version}/{project}:getIamPolicy");
            assert_eq!(parsed(Method::GET, &path, ""), read(project, Version::One));
            for (body, version) in [
                ("", Version::One),
                ("\n", Version::One),
                ("{}", Version::One),
                (r#"{"options":{"requestedPolicyVersion":0}}"#, Version::One),
                (
                    r#"{"options":{"requestedPolicyVersion":3}}"#,
                    Version::Three,
                ),
            ] {
                assert_eq!(parsed(Method::POST, &path, body), read(project, version));
            }
        }
        let scoped = parsed(Method::GET, "/v1/projects/example.com:p:getIamPolicy", "");
        assert_eq!(scoped, read("projects/example.com:p", Version::One));
    }

    #[test]
    fn the_policy_of_a_secret_is_read_by_get_alone() {
        for secret in ["projects/p/secrets/s", "projects/p/locations/l/secrets/s"] {
            let path = format!("/v1/{secret}:getIamPolicy");
            assert_eq!(parsed(Method::GET, &path, ""), read(secret, Version::One));
            assert_eq!(parsed(Method::POST, &path, "{}"), Err(404));
            let write = format!("/v1/{secret}:setIamPolicy");
            assert!(parsed(Method::POST, &write, r#"{"policy": {}}"#).is_ok());
        }
        let named_so = parsed(Method::POST, "/v1/projects/secrets:getIamPolicy", "");
        assert_eq!(named_so, read("projects/secrets", Version::One));
    }

    #[test]
    fn the_policy_of_a_service_account_is_read_by_post_with_its_version_in_the_query() {
        let account = "projects/p/serviceAccounts/sa@p.iam.gserviceaccount.com";
        let read_of = |resource: &str, body: &str| {
            let asked = (VERSION.to_owned(), "3".to_owned());
            let path = &*format!("/v1/{resource}:getIamPolicy");
            let demand = parse(&Request {
                method: &Method::POST,
                path,
                query: &[asked].into_iter().collect(),
                body: body.as_bytes(),
            });
            demand.map_err(|refusal| refusal.code)
        };
        for body in ["", "{}"] {
            assert_eq!(read_of(account, body), read(account, Version::Three));
        }
        assert_eq!(read_of("projects/p", ""), read("projects/p", Version::One));
    }

    #[test]
    fn a_get_has_its_version_in_the_query() {
        let get = |value: &str| {
            let parameters = [("$alt", "json"), ("options.requestedPolicyVersion", value)];
            let query = parameters.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let query = query.into_iter().collect();
            let path = "/v1/a:getIamPolicy";
            parse(&Request {
                method: &Method::GET,
                path,
                query: &query,
                body: b"",
            })
            .map_err(|refusal| refusal.code)
        };
        assert_eq!(get("3"), read("a", Version::Three));
        assert_eq!(get("1"), read("a", Version::One));
        assert_eq!(get(""), read("a", Version::One));
        for nonsense in ["2", "-1", "three", "\"3\"", "3 3"] {
            assert_eq!(get(nonsense), Err(400), "{nonsense}");
        }
    }

    #[test]
    fn names_of_resources_are_decoded() {
        for (path, resource) in [
            ("b/my%20bucket", "b/my bucket"),
            ("b/gr%C3%B6%c3%9fe", "b/größe"),
            ("b/%252e%252E", "b/%2e%2E"),
            ("b/a%3AgetIamPolicy%3Fx", "b/a:getIamPolicy?x"),
            ("example.com:p", "example.com:p"),
            ("b/100%", "b/100%"),
        ] {
            let path = format!("/v1/{path}:getIamPolicy");
            let asked = parsed(Method::POST, &path, "");
            assert_eq!(asked, read(resource, Version::One), "{path}");
        }
        let no_text = parsed(Method::POST, "/v1/b/%ff:getIamPolicy", "");
        assert_eq!(no_text, Err(404));
    }

    #[test]
    fn permissions_are_names() {
        let test = |body| parsed(Method::POST, "/v1/a:testIamPermissions", body);
        let asked = test(r#"{"permissions": ["a.b.get", "a.b.list"]}"#).unwrap();
        let names = vec!["a.b.get".to_owned(), "a.b.list".to_owned()];
        assert_eq!(asked, Demand::policy("a", Action::Test(names)));
        assert_eq!(test("{}"), Ok(Demand::policy("a", Action::Test(vec![]))));
        for body in ["", "[]", r#"{"permissions": 1}"#, r#"{"permissions": [1]}"#] {
            assert_eq!(test(body), Err(400), "{body}");
        }
        assert_eq!(test(r#"{"permissions": ["a.*"]}"#), Err(400));
    }

    #[test]
    fn unknown_paths_and_methods_are_not_found() {
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
            "/v1/a:testIamPermission",
        ] {
            assert_eq!(parsed(Method::POST, path, "{}"), Err(404), "{path}");
        }
        assert_eq!(parsed(Method::GET, "/v1/a:setIamPolicy", ""), Err(404));
        assert_eq!(parsed(Method::DELETE, "/v1/a:getIamPolicy", ""), Err(404));
        let test = parsed(Method::GET, "/v1/a:testIamPermissions", "");
        assert_eq!(test, Err(404));
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
