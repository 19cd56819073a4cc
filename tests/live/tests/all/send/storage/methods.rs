//! The operations of the JSON API, and which operations may be made twice.

use crate::send::server::Server;
use reqwest::{Client, Method, RequestBuilder};

/// When an operation may be made twice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Idempotent {
    Always,
    /// With this in its query.
    WithQuery(&'static str),
    /// With an etag in its body.
    WithEtag,
    Never,
}

use Idempotent::{Always, Never, WithEtag, WithQuery};

/// An operation: its name, when it may be made twice, and its request line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation(pub(super) &'static str, pub(super) Idempotent, &'static str);

impl Operation {
    /// Whether a precondition makes a difference.
    pub(super) fn is_conditional(self) -> bool {
        matches!(self.1, WithQuery(_) | WithEtag)
    }

    /// Whether it may be made twice, given with its precondition or without.
    pub(super) fn is_idempotent(self, with_precondition: bool) -> bool {
        self.1 == Always || with_precondition && self.is_conditional()
    }

    /// Its request to this server.
    pub(super) fn request(
        self,
        client: &Client,
        server: &Server,
        with_precondition: bool,
    ) -> RequestBuilder {
        let (method, path) = self.2.split_once(' ').expect("a request line");
        let method: Method = method.parse().expect("a method");
        let mut url = server.url(path);
        let mut body = "{}";
        match self.1 {
            WithQuery(query) if with_precondition => {
                let mark = if url.contains('?') { '&' } else { '?' };
                url = format!("{url}{mark}{query}");
            }
            WithEtag if with_precondition => body = r#"{"etag": "CAE="}"#,
            _ => {}
        }
        let has_body = matches!(method, Method::POST | Method::PUT | Method::PATCH);
        let request = client.request(method, url);
        match has_body {
            true => request
                .header("content-type", "application/json")
                .body(body),
            false => request,
        }
    }
}

const GENERATION: Idempotent = WithQuery("ifGenerationMatch=1");
const METAGENERATION: Idempotent = WithQuery("ifMetagenerationMatch=1");

pub(super) const OPERATIONS: [Operation; 47] = [
    Operation(
        "bucket_acl.delete",
        Never,
        "DELETE storage/v1/b/b1/acl/allUsers",
    ),
    Operation("bucket_acl.get", Always, "GET storage/v1/b/b1/acl/allUsers"),
    Operation("bucket_acl.insert", Never, "POST storage/v1/b/b1/acl"),
    Operation("bucket_acl.list", Always, "GET storage/v1/b/b1/acl"),
    Operation(
        "bucket_acl.patch",
        Never,
        "PATCH storage/v1/b/b1/acl/allUsers",
    ),
    Operation(
        "bucket_acl.update",
        Never,
        "PUT storage/v1/b/b1/acl/allUsers",
    ),
    Operation("buckets.delete", Always, "DELETE storage/v1/b/b1"),
    Operation("buckets.get", Always, "GET storage/v1/b/b1"),
    Operation("buckets.getIamPolicy", Always, "GET storage/v1/b/b1/iam"),
    Operation("buckets.insert", Always, "POST storage/v1/b?project=p1"),
    Operation("buckets.list", Always, "GET storage/v1/b?project=p1"),
    Operation(
        "buckets.lockRetentionPolicy",
        Always,
        "POST storage/v1/b/b1/lockRetentionPolicy?ifMetagenerationMatch=1",
    ),
    Operation("buckets.patch", METAGENERATION, "PATCH storage/v1/b/b1"),
    Operation("buckets.setIamPolicy", WithEtag, "PUT storage/v1/b/b1/iam"),
    Operation(
        "buckets.testIamPermissions",
        Always,
        "GET storage/v1/b/b1/iam/testPermissions?permissions=storage.objects.get",
    ),
    Operation("buckets.update", METAGENERATION, "PUT storage/v1/b/b1"),
    Operation(
        "default_object_acl.delete",
        Never,
        "DELETE storage/v1/b/b1/defaultObjectAcl/allUsers",
    ),
    Operation(
        "default_object_acl.get",
        Always,
        "GET storage/v1/b/b1/defaultObjectAcl/allUsers",
    ),
    Operation(
        "default_object_acl.insert",
        Never,
        "POST storage/v1/b/b1/defaultObjectAcl",
    ),
    Operation(
        "default_object_acl.list",
        Always,
        "GET storage/v1/b/b1/defaultObjectAcl",
    ),
    Operation(
        "default_object_acl.patch",
        Never,
        "PATCH storage/v1/b/b1/defaultObjectAcl/allUsers",
    ),
    Operation(
        "default_object_acl.update",
        Never,
        "PUT storage/v1/b/b1/defaultObjectAcl/allUsers",
    ),
    Operation(
        "hmacKey.create",
        Never,
        "POST storage/v1/projects/p1/hmacKeys?serviceAccountEmail=a%40b",
    ),
    Operation(
        "hmacKey.delete",
        Always,
        "DELETE storage/v1/projects/p1/hmacKeys/k1",
    ),
    Operation(
        "hmacKey.get",
        Always,
        "GET storage/v1/projects/p1/hmacKeys/k1",
    ),
    Operation(
        "hmacKey.list",
        Always,
        "GET storage/v1/projects/p1/hmacKeys",
    ),
    Operation(
        "hmacKey.update",
        WithEtag,
        "PUT storage/v1/projects/p1/hmacKeys/k1",
    ),
    Operation(
        "notifications.delete",
        Always,
        "DELETE storage/v1/b/b1/notificationConfigs/1",
    ),
    Operation(
        "notifications.get",
        Always,
        "GET storage/v1/b/b1/notificationConfigs/1",
    ),
    Operation(
        "notifications.insert",
        Never,
        "POST storage/v1/b/b1/notificationConfigs",
    ),
    Operation(
        "notifications.list",
        Always,
        "GET storage/v1/b/b1/notificationConfigs",
    ),
    Operation(
        "object_acl.delete",
        Never,
        "DELETE storage/v1/b/b1/o/a%2Fb/acl/allUsers",
    ),
    Operation(
        "object_acl.get",
        Always,
        "GET storage/v1/b/b1/o/a%2Fb/acl/allUsers",
    ),
    Operation(
        "object_acl.insert",
        Never,
        "POST storage/v1/b/b1/o/a%2Fb/acl",
    ),
    Operation("object_acl.list", Always, "GET storage/v1/b/b1/o/a%2Fb/acl"),
    Operation(
        "object_acl.patch",
        Never,
        "PATCH storage/v1/b/b1/o/a%2Fb/acl/allUsers",
    ),
    Operation(
        "object_acl.update",
        Never,
        "PUT storage/v1/b/b1/o/a%2Fb/acl/allUsers",
    ),
    Operation(
        "objects.compose",
        GENERATION,
        "POST storage/v1/b/b1/o/a%2Fb/compose",
    ),
    Operation(
        "objects.copy",
        GENERATION,
        "POST storage/v1/b/b1/o/a%2Fb/copyTo/b/b2/o/c",
    ),
    Operation(
        "objects.delete",
        GENERATION,
        "DELETE storage/v1/b/b1/o/a%2Fb",
    ),
    Operation(
        "objects.get",
        Always,
        "GET storage/v1/b/b1/o/a%2Fb?alt=media",
    ),
    Operation(
        "objects.insert",
        GENERATION,
        "POST upload/storage/v1/b/b1/o?uploadType=media&name=a%2Fb",
    ),
    Operation("objects.list", Always, "GET storage/v1/b/b1/o"),
    Operation(
        "objects.patch",
        METAGENERATION,
        "PATCH storage/v1/b/b1/o/a%2Fb",
    ),
    Operation(
        "objects.rewrite",
        GENERATION,
        "POST storage/v1/b/b1/o/a%2Fb/rewriteTo/b/b2/o/c",
    ),
    Operation(
        "objects.update",
        METAGENERATION,
        "PUT storage/v1/b/b1/o/a%2Fb",
    ),
    Operation(
        "serviceaccount.get",
        Always,
        "GET storage/v1/projects/p1/serviceAccount",
    ),
];
