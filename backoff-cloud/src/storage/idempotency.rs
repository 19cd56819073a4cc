//! Which requests to Cloud Storage may be made twice.

use super::REQUEST;
use crate::http::{Outgoing, SendExt as _, Sending, has_parameter};
use backoff_core::__private::{has_etag, has_value, is_safe};
use reqwest::{Method, Request};
use serde_json::Value;

/// Sends a request to Cloud Storage by [`REQUEST`]. After a failure that may have applied the request, it
/// is sent again only if [`is_idempotent`] returns `true`. For another policy write
/// `policy.send(request).idempotent_if(storage::is_idempotent)`.
///
/// ```no_run
/// use backoff_cloud::{http::ApiError, storage};
///
/// # async fn f() -> Result<(), ApiError> {
/// let client = reqwest::Client::new();
/// let bucket = "https://storage.googleapis.com/storage/v1/b/my-bucket";
/// let list: serde_json::Value = storage::send(client.get(format!("{bucket}/o"))).json().await?;
/// // Without `ifGenerationMatch`, a lost reply would end the call, because a second delete may do harm.
/// storage::send(client.delete(format!("{bucket}/o/a.txt?ifGenerationMatch=7"))).await?;
/// # Ok(()) }
/// ```
pub fn send(request: impl Into<Outgoing>) -> Sending {
    REQUEST.send(request).idempotent_if(is_idempotent)
}

/// Whether a request to Cloud Storage's JSON API may be made twice. The method, the path, the query and the
/// body decide. For [`Sending::idempotent_if`].
///
/// | operations | may be made twice |
/// |---|---|
/// | everything that reads: `get`, `list`, `getIamPolicy`, `testIamPermissions`, downloads | always |
/// | `buckets.insert`, `buckets.delete`, `buckets.lockRetentionPolicy`, `hmacKeys.delete`, `notifications.delete` | always |
/// | a part of a resumable upload, its cancellation, or the question how far it is: `PUT` and `DELETE` with `upload_id` | always |
/// | `buckets.patch`, `buckets.update`, `objects.patch`, `objects.update` | with `ifMetagenerationMatch` or the header `If-Match` |
/// | `buckets.setIamPolicy`, `hmacKeys.update` | with an `etag` in the JSON body or the header `If-Match` |
/// | `objects.insert` (also the beginning of a resumable upload), `objects.compose`, `objects.copy`, `objects.rewrite` | with `ifGenerationMatch` |
/// | `objects.delete` | with `ifGenerationMatch` or `generation` |
/// | `insert`, `patch`, `update` and `delete` of an ACL of a bucket or an object, and of a default ACL | never |
/// | `hmacKeys.create`, `notifications.insert`, a batch, and everything else that writes | never |
///
/// A parameter or a header without a value does not count, and neither does `If-Match: *`, which still
/// holds after the write was applied. In the XML API, reads may be made twice, and so may writes with the
/// header `x-goog-if-generation-match`. A host such as `my-bucket.storage.googleapis.com` belongs to the
/// XML API, whatever the path is.
///
/// ```
/// use backoff_cloud::storage;
/// use reqwest::{Method, Request};
///
/// let delete = |query| {
///     let url = format!("https://storage.googleapis.com/storage/v1/b/b/o/a.txt{query}");
///     Request::new(Method::DELETE, url.parse().unwrap())
/// };
/// assert!(!storage::is_idempotent(&delete("")));
/// assert!(storage::is_idempotent(&delete("?ifGenerationMatch=7")));
/// ```
///
/// Sources: <https://cloud.google.com/storage/docs/retry-strategy#idempotency>; for resumable uploads
/// <https://cloud.google.com/storage/docs/resumable-uploads>: the service ignores bytes that it has already
/// received.
pub fn is_idempotent(request: &Request) -> bool {
    let method = request.method();
    if is_safe(method.as_str()) {
        return true;
    }
    let path: Vec<&str> = request.url().path().split('/').skip(1).collect();
    let resource = match &path[..] {
        // In the XML API the whole path is the name of an object.
        _ if names_bucket(request) => None,
        ["batch", ..] => return false,
        path => resource(path),
    };
    let Some(resource) = resource else {
        return has_value(request.headers(), "x-goog-if-generation-match");
    };
    let has = |name| has_parameter(request, name);
    let has_if_match = || has_etag(request.headers());
    let has_etag = || {
        let body = request.body().and_then(reqwest::Body::as_bytes);
        has_if_match() || body.is_some_and(names_etag)
    };
    let changes = matches!(*method, Method::PATCH | Method::PUT);
    let (posts, puts, deletes) = (
        method == Method::POST,
        method == Method::PUT,
        method == Method::DELETE,
    );
    match resource {
        ["b"] => posts,
        ["b", _] => deletes || changes && (has("ifMetagenerationMatch") || has_if_match()),
        ["b", _, "lockRetentionPolicy"] => posts,
        ["b", _, "iam"] => puts && has_etag(),
        ["b", _, "notificationConfigs", _] => deletes,
        ["b", _, "o"] if has("upload_id") => puts || deletes,
        ["b", _, "o"] => posts && has("ifGenerationMatch"),
        ["b", _, "o", _] if deletes => has("ifGenerationMatch") || has("generation"),
        ["b", _, "o", _] => changes && (has("ifMetagenerationMatch") || has_if_match()),
        ["b", _, "o", _, "compose"] | ["b", _, "o", _, "copyTo" | "rewriteTo", "b", _, "o", _] => {
            posts && has("ifGenerationMatch")
        }
        ["projects", _, "hmacKeys", _] => deletes || puts && has_etag(),
        _ => false,
    }
}

/// Whether a JSON object has an etag.
fn names_etag(body: &[u8]) -> bool {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    body["etag"].as_str().is_some_and(|etag| !etag.is_empty())
}

/// Whether the host names the bucket. Only the XML API has such hosts.
fn names_bucket(request: &Request) -> bool {
    let host = request.url().host_str().unwrap_or_default();
    host.trim_end_matches('.')
        .ends_with(".storage.googleapis.com")
}

/// The path of a resource of the JSON API, without its prefix.
fn resource<'a, 'p>(path: &'a [&'p str]) -> Option<&'a [&'p str]> {
    match path {
        ["storage", "v1", resource @ ..]
        | ["upload", "storage", "v1", resource @ ..]
        | ["resumable", "upload", "storage", "v1", resource @ ..] => Some(resource),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::IF_MATCH;

    fn request(line: &str) -> Request {
        let (method, path) = line.split_once(' ').unwrap();
        let url = format!("https://storage.googleapis.com/{path}");
        Request::new(method.parse().unwrap(), url.parse().unwrap())
    }

    fn with_body(line: &str, body: &'static str) -> Request {
        let mut request = request(line);
        *request.body_mut() = Some(body.into());
        request
    }

    #[test]
    fn always_idempotent_requests() {
        for line in [
            "GET storage/v1/b/x/o/y?alt=media",
            "GET storage/v1/b/x/acl",
            "HEAD x/y",
            "POST storage/v1/b?project=p",
            "DELETE storage/v1/b/x",
            "POST storage/v1/b/x/lockRetentionPolicy?ifMetagenerationMatch=1",
            "DELETE storage/v1/b/x/notificationConfigs/1",
            "DELETE storage/v1/projects/p/hmacKeys/k",
            "PUT upload/storage/v1/b/x/o?uploadType=resumable&upload_id=u",
            "DELETE resumable/upload/storage/v1/b/x/o?upload_id=u",
        ] {
            assert!(is_idempotent(&request(line)), "{line}");
        }
    }

    #[test]
    fn requests_that_are_idempotent_only_with_their_precondition() {
        for (line, precondition) in [
            ("PATCH storage/v1/b/x", "ifMetagenerationMatch=3"),
            ("PUT storage/v1/b/x", "ifMetagenerationMatch=3"),
            ("PATCH storage/v1/b/x/o/y", "ifMetagenerationMatch=3"),
            ("PUT storage/v1/b/x/o/a%2Fb", "ifMetagenerationMatch=3"),
            ("DELETE storage/v1/b/x/o/y", "ifGenerationMatch=3"),
            ("DELETE storage/v1/b/x/o/y", "generation=3"),
            ("POST upload/storage/v1/b/x/o", "ifGenerationMatch=0"),
            ("POST storage/v1/b/x/o", "ifGenerationMatch=0"),
            ("POST storage/v1/b/x/o/y/compose", "ifGenerationMatch=3"),
            (
                "POST storage/v1/b/x/o/y/copyTo/b/z/o/w",
                "ifGenerationMatch=3",
            ),
            (
                "POST storage/v1/b/x/o/y/rewriteTo/b/z/o/w",
                "ifGenerationMatch=3",
            ),
        ] {
            assert!(
                is_idempotent(&request(&format!("{line}?{precondition}"))),
                "{line}"
            );
            assert!(!is_idempotent(&request(line)), "{line}");
            let (name, _) = precondition.split_once('=').unwrap();
            assert!(
                !is_idempotent(&request(&format!("{line}?{name}="))),
                "{line}"
            );
            let other = match name {
                "ifMetagenerationMatch" => "ifGenerationMatch=3",
                _ => "ifMetagenerationMatch=3",
            };
            assert!(
                !is_idempotent(&request(&format!("{line}?{other}"))),
                "{line}"
            );
        }
    }

    #[test]
    fn an_etag_is_read_from_the_body_or_from_if_match() {
        for line in [
            "PUT storage/v1/b/x/iam",
            "PUT storage/v1/projects/p/hmacKeys/k",
        ] {
            assert!(is_idempotent(&with_body(
                line,
                r#"{"a": [1], "etag": "CAE="}"#
            )));
            for body in [
                "",
                "{}",
                r#"{"etag": ""}"#,
                r#"{"etag": 1}"#,
                r#"{"a": {"etag": "b"}}"#,
            ] {
                assert!(!is_idempotent(&with_body(line, body)), "{line} {body}");
            }
            let mut by_header = request(line);
            assert!(!is_idempotent(&by_header));
            by_header
                .headers_mut()
                .insert(IF_MATCH, "CAE=".parse().unwrap());
            assert!(is_idempotent(&by_header));
            for none in ["", "*"] {
                let none = none.parse().unwrap();
                by_header.headers_mut().insert(IF_MATCH, none);
                assert!(!is_idempotent(&by_header), "{line}");
            }
        }
        let not_an_update = with_body("POST storage/v1/b/x/iam", r#"{"etag": "CAE="}"#);
        assert!(!is_idempotent(&not_an_update));
    }

    #[test]
    fn never_idempotent_requests() {
        for line in [
            "POST storage/v1/b/x/acl?ifGenerationMatch=1",
            "PUT storage/v1/b/x/acl/allUsers?ifMetagenerationMatch=1",
            "DELETE storage/v1/b/x/acl/allUsers",
            "PATCH storage/v1/b/x/defaultObjectAcl/allUsers",
            "DELETE storage/v1/b/x/o/y/acl/allUsers?generation=1",
            "POST storage/v1/b/x/notificationConfigs",
            "POST storage/v1/projects/p/hmacKeys?serviceAccountEmail=e",
            "POST storage/v1/b/x/o?upload_id=u",
            "POST batch/storage/v1",
            "POST storage/v1/channels/stop",
            "DELETE storage/v1/b/x/o/y/",
            "PUT x/y",
            "DELETE x/y?ifGenerationMatch=1",
        ] {
            assert!(!is_idempotent(&request(line)), "{line}");
        }
    }

    #[test]
    fn a_write_of_the_xml_api_has_its_precondition_in_a_header() {
        let mut put = request("PUT bucket/object");
        let generation = "0".parse().unwrap();
        put.headers_mut()
            .insert("x-goog-if-generation-match", generation);
        assert!(is_idempotent(&put));
        for (line, value) in [
            ("PUT bucket/object", ""),
            ("POST batch/storage/v1", "0"),
            ("POST batch", "0"),
        ] {
            let mut request = request(line);
            let headers = request.headers_mut();
            headers.insert("x-goog-if-generation-match", value.parse().unwrap());
            assert!(!is_idempotent(&request), "{line}");
        }
    }

    /// The path is the name of an object there, and the parameters of the JSON API have no effect.
    #[test]
    fn a_host_that_names_the_bucket_is_the_xml_api() {
        for host in ["b.storage.googleapis.com", "a.b.Storage.googleapis.com."] {
            for line in [
                "DELETE storage/v1/b/x/o/y?ifGenerationMatch=3",
                "POST storage/v1/b",
                "PUT batch/x",
            ] {
                let mut request = request(line);
                request.url_mut().set_host(Some(host)).unwrap();
                assert!(!is_idempotent(&request), "{host} {line}");
                let generation = "3".parse().unwrap();
                let headers = request.headers_mut();
                headers.insert("x-goog-if-generation-match", generation);
                assert!(is_idempotent(&request), "{host} {line}");
            }
        }
    }
}
