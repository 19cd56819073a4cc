//! The operations of the JSON API, and which operations may be made twice.

use crate::server::Server;
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

/// The operations of each rule: a name, and a request line.
const ALWAYS: &[&str] = &[
    "bucket_acl.get: GET storage/v1/b/b1/acl/allUsers",
    "bucket_acl.list: GET storage/v1/b/b1/acl",
    "buckets.delete: DELETE storage/v1/b/b1",
    "buckets.get: GET storage/v1/b/b1",
    "buckets.getIamPolicy: GET storage/v1/b/b1/iam",
    "buckets.insert: POST storage/v1/b?project=p1",
    "buckets.list: GET storage/v1/b?project=p1",
    "buckets.lockRetentionPolicy: POST storage/v1/b/b1/lockRetentionPolicy?ifMetagenerationMatch=1",
    "buckets.testIamPermissions: GET storage/v1/b/b1/iam/testPermissions?permissions=storage.objects.get",
    "default_object_acl.get: GET storage/v1/b/b1/defaultObjectAcl/allUsers",
    "default_object_acl.list: GET storage/v1/b/b1/defaultObjectAcl",
    "hmacKey.delete: DELETE storage/v1/projects/p1/hmacKeys/k1",
    "hmacKey.get: GET storage/v1/projects/p1/hmacKeys/k1",
    "hmacKey.list: GET storage/v1/projects/p1/hmacKeys",
    "notifications.delete: DELETE storage/v1/b/b1/notificationConfigs/1",
    "notifications.get: GET storage/v1/b/b1/notificationConfigs/1",
    "notifications.list: GET storage/v1/b/b1/notificationConfigs",
    "object_acl.get: GET storage/v1/b/b1/o/a%2Fb/acl/allUsers",
    "object_acl.list: GET storage/v1/b/b1/o/a%2Fb/acl",
    "objects.get: GET storage/v1/b/b1/o/a%2Fb?alt=media",
    "objects.list: GET storage/v1/b/b1/o",
    "serviceaccount.get: GET storage/v1/projects/p1/serviceAccount",
];
const BY_GENERATION: &[&str] = &[
    "objects.compose: POST storage/v1/b/b1/o/a%2Fb/compose",
    "objects.copy: POST storage/v1/b/b1/o/a%2Fb/copyTo/b/b2/o/c",
    "objects.delete: DELETE storage/v1/b/b1/o/a%2Fb",
    "objects.insert: POST upload/storage/v1/b/b1/o?uploadType=media&name=a%2Fb",
    "objects.rewrite: POST storage/v1/b/b1/o/a%2Fb/rewriteTo/b/b2/o/c",
];
const BY_METAGENERATION: &[&str] = &[
    "buckets.patch: PATCH storage/v1/b/b1",
    "buckets.update: PUT storage/v1/b/b1",
    "objects.patch: PATCH storage/v1/b/b1/o/a%2Fb",
    "objects.update: PUT storage/v1/b/b1/o/a%2Fb",
];
const BY_ETAG: &[&str] = &[
    "buckets.setIamPolicy: PUT storage/v1/b/b1/iam",
    "hmacKey.update: PUT storage/v1/projects/p1/hmacKeys/k1",
];
const NEVER: &[&str] = &[
    "bucket_acl.delete: DELETE storage/v1/b/b1/acl/allUsers",
    "bucket_acl.insert: POST storage/v1/b/b1/acl",
    "bucket_acl.patch: PATCH storage/v1/b/b1/acl/allUsers",
    "bucket_acl.update: PUT storage/v1/b/b1/acl/allUsers",
    "default_object_acl.delete: DELETE storage/v1/b/b1/defaultObjectAcl/allUsers",
    "default_object_acl.insert: POST storage/v1/b/b1/defaultObjectAcl",
    "default_object_acl.patch: PATCH storage/v1/b/b1/defaultObjectAcl/allUsers",
    "default_object_acl.update: PUT storage/v1/b/b1/defaultObjectAcl/allUsers",
    "hmacKey.create: POST storage/v1/projects/p1/hmacKeys?serviceAccountEmail=a%40b",
    "notifications.insert: POST storage/v1/b/b1/notificationConfigs",
    "object_acl.delete: DELETE storage/v1/b/b1/o/a%2Fb/acl/allUsers",
    "object_acl.insert: POST storage/v1/b/b1/o/a%2Fb/acl",
    "object_acl.patch: PATCH storage/v1/b/b1/o/a%2Fb/acl/allUsers",
    "object_acl.update: PUT storage/v1/b/b1/o/a%2Fb/acl/allUsers",
];

/// All operations of the API.
pub(super) fn operations() -> impl Iterator<Item = Operation> {
    let of_a_rule = |(rule, lines): (Idempotent, &'static [&'static str])| {
        lines.iter().map(move |line| {
            let (name, request) = line.split_once(": ").expect("a name");
            Operation(name, rule, request)
        })
    };
    let rules = [
        (Always, ALWAYS),
        (GENERATION, BY_GENERATION),
        (METAGENERATION, BY_METAGENERATION),
        (WithEtag, BY_ETAG),
        (Never, NEVER),
    ];
    rules.into_iter().flat_map(of_a_rule)
}
