//! Which requests to Cloud Storage may be made twice.

use super::REQUEST;
use crate::http::{IntoOutgoing, SendExt as _, Sending, has_parameter};
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
pub fn send(request: impl IntoOutgoing) -> Sending {
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

    const XML: &str = "x-goog-if-generation-match";

    fn request(line: &str) -> Request {
        let (method, path) = line.split_once(' ').unwrap();
        let url = format!("https://storage.googleapis.com/{path}");
        Request::new(method.parse().unwrap(), url.parse().unwrap())
    }

    /// Whether the request may be made twice if it has this header.
    fn with_header(mut request: Request, name: &'static str, value: &str) -> bool {
        request.headers_mut().insert(name, value.parse().unwrap());
        is_idempotent(&request)
    }

    #[test]
    fn most_requests_are_always_idempotent_or_never() {
        let always = "GET storage/v1/b/x/o/y?alt=media|GET storage/v1/b/x/acl|HEAD x/y|\
                      POST storage/v1/b?project=p|DELETE storage/v1/b/x|\
                      POST storage/v1/b/x/lockRetentionPolicy?ifMetagenerationMatch=1|\
                      DELETE storage/v1/b/x/notificationConfigs/1|DELETE storage/v1/projects/p/hmacKeys/k|\
                      PUT upload/storage/v1/b/x/o?uploadType=resumable&upload_id=u|\
                      DELETE resumable/upload/storage/v1/b/x/o?upload_id=u";
        let of_acl = "POST storage/v1/b/x/acl?ifGenerationMatch=1|DELETE storage/v1/b/x/acl/allUsers|\
                      PUT storage/v1/b/x/acl/allUsers?ifMetagenerationMatch=1|\
                      PATCH storage/v1/b/x/defaultObjectAcl/allUsers|\
                      DELETE storage/v1/b/x/o/y/acl/allUsers?generation=1";
        let others = "POST storage/v1/b/x/notificationConfigs|POST storage/v1/b/x/o?upload_id=u|\
                      POST storage/v1/projects/p/hmacKeys?serviceAccountEmail=e|POST batch/storage/v1|\
                      POST storage/v1/channels/stop|DELETE storage/v1/b/x/o/y/|PUT x/y|\
                      DELETE x/y?ifGenerationMatch=1";
        for (lines, expected) in [(always, true), (of_acl, false), (others, false)] {
            for line in lines.split('|') {
                assert_eq!(is_idempotent(&request(line)), expected, "{line}");
            }
        }
    }

    #[test]
    fn requests_that_are_idempotent_only_with_their_precondition() {
        let (generation, metageneration) = ("ifGenerationMatch", "ifMetagenerationMatch");
        let objects = "upload/storage/v1/b/x/o|storage/v1/b/x/o|storage/v1/b/x/o/y/compose|\
                       storage/v1/b/x/o/y/copyTo/b/z/o/w|storage/v1/b/x/o/y/rewriteTo/b/z/o/w";
        let changed = "storage/v1/b/x|storage/v1/b/x/o/y|storage/v1/b/x/o/a%2Fb";
        for (method, paths, name) in [
            ("PATCH", changed, metageneration),
            ("PUT", changed, metageneration),
            ("DELETE", "storage/v1/b/x/o/y", generation),
            ("DELETE", "storage/v1/b/x/o/y", "generation"),
            ("POST", objects, generation),
        ] {
            let other = match name == metageneration {
                true => generation,
                false => metageneration,
            };
            for path in paths.split('|') {
                let may =
                    |query: &str| is_idempotent(&request(&format!("{method} {path}?{query}")));
                for (query, expected) in [
                    (format!("{name}=0"), true),
                    (format!("{name}=3"), true),
                    (String::new(), false),
                    (format!("{name}="), false),
                    (format!("{other}=3"), false),
                ] {
                    assert_eq!(may(&query), expected, "{method} {path}?{query}");
                }
            }
        }
    }

    #[test]
    fn an_etag_is_read_from_the_body_or_from_if_match() {
        let with_body = |line, body: &'static str| {
            let mut request = request(line);
            *request.body_mut() = Some(body.into());
            is_idempotent(&request)
        };
        let key = "PUT storage/v1/projects/p/hmacKeys/k";
        for line in ["PUT storage/v1/b/x/iam", key] {
            assert!(with_body(line, r#"{"a": [1], "etag": "CAE="}"#), "{line}");
            let deeper = r#"{"a": {"etag": "b"}}"#;
            for none in ["", "{}", r#"{"etag": ""}"#, r#"{"etag": 1}"#, deeper] {
                assert!(!with_body(line, none), "{line} {none}");
            }
            for (etag, expected) in [("CAE=", true), ("", false), ("*", false)] {
                let found = with_header(request(line), "if-match", etag);
                assert_eq!(found, expected, "{line} {etag}");
            }
        }
        assert!(!with_body("POST storage/v1/b/x/iam", r#"{"etag": "CAE="}"#));
    }

    #[test]
    fn a_write_of_the_xml_api_has_its_precondition_in_a_header() {
        for (line, value, expected) in [
            ("PUT bucket/object", "0", true),
            ("PUT bucket/object", "", false),
            ("POST batch/storage/v1", "0", false),
            ("POST batch", "0", false),
        ] {
            let found = with_header(request(line), XML, value);
            assert_eq!(found, expected, "{line} {value}");
        }
        // A host that names the bucket is the XML API too. The path is the name of an object there, and the
        // parameters of the JSON API have no effect.
        for host in ["b.storage.googleapis.com", "a.b.Storage.googleapis.com."] {
            for line in [
                "DELETE storage/v1/b/x/o/y?ifGenerationMatch=3",
                "POST storage/v1/b",
                "PUT batch/x",
            ] {
                let mut request = request(line);
                request.url_mut().set_host(Some(host)).unwrap();
                assert!(!is_idempotent(&request), "{host} {line}");
                assert!(with_header(request, XML, "3"), "{host} {line}");
            }
        }
    }
}
