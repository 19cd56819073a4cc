//! One key of etcd, through the JSON gateway that every etcd has: no client crate.
//!
//! Source: [etcd's gRPC gateway](https://etcd.io/docs/v3.5/dev-guide/api_grpc_gateway/).

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use backoff_cloud::http::{self, ApiError};
use base64::{Engine as _, prelude::BASE64_STANDARD as BASE64};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// A key whose value is a list of names, one a line.
#[derive(Clone)]
pub(crate) struct Store {
    client: reqwest::Client,
    url: String,
    key: String,
    calls: Arc<AtomicU32>,
}

/// What was read: the names, and the revision that the key had, 0 where it was not there.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    pub(crate) names: Vec<String>,
    revision: i64,
}

impl Names {
    /// Whether that changed anything.
    pub(crate) fn add(&mut self, name: &str) -> bool {
        let is_new = !self.names.iter().any(|present| present == name);
        if is_new {
            self.names.push(name.to_owned());
        }
        is_new
    }

    fn encoded(&self) -> String {
        BASE64.encode(self.names.join("\n"))
    }
}

/// The reply to a compare-and-swap. etcd leaves out what is false: a conflict is 200 without
/// `succeeded`.
#[derive(Debug, Deserialize)]
pub(crate) struct Swapped {
    #[serde(default)]
    pub(crate) succeeded: bool,
}

#[derive(Deserialize)]
struct Range {
    #[serde(default)]
    kvs: Vec<KeyValue>,
}

/// Numbers of 64 bits are text in JSON.
#[derive(Deserialize)]
struct KeyValue {
    mod_revision: String,
    #[serde(default)]
    value: String,
}

impl Store {
    /// The key of this name in the etcd that answers there.
    pub(crate) fn new(url: &str, key: &str) -> Result<Self, ApiError> {
        let client = reqwest::Client::builder().retry(reqwest::retry::never());
        Ok(Store {
            client: client.build()?,
            url: url.trim_end_matches('/').to_owned(),
            key: BASE64.encode(key),
            calls: Arc::default(),
        })
    }

    /// How many calls were made so far.
    pub(crate) fn calls(&self) -> u32 {
        self.calls.load(Relaxed)
    }

    pub(crate) async fn read(&self) -> Result<Names, ApiError> {
        let Range { kvs } = self.call("range", json!({ "key": self.key })).await?;
        let Some(found) = kvs.first() else {
            return Ok(Names {
                names: Vec::new(),
                revision: 0,
            });
        };
        let value = BASE64.decode(&found.value).unwrap_or_default();
        let value = String::from_utf8_lossy(&value);
        Ok(Names {
            names: value.lines().map(str::to_owned).collect(),
            revision: found.mod_revision.parse().unwrap_or_default(),
        })
    }

    /// Writes only if nobody has written since this was read.
    pub(crate) async fn swap(&self, names: &Names) -> Result<Swapped, ApiError> {
        let put = json!({ "key": self.key, "value": names.encoded() });
        let unchanged = json!({
            "key": self.key,
            "target": "MOD",
            "result": "EQUAL",
            "mod_revision": names.revision.to_string(),
        });
        let body = json!({ "compare": [unchanged], "success": [{ "request_put": put }] });
        self.call("txn", body).await
    }

    /// Writes over whatever is there.
    pub(crate) async fn put(&self, names: &Names) -> Result<(), ApiError> {
        let body = json!({ "key": self.key, "value": names.encoded() });
        self.call::<Value>("put", body).await.map(drop)
    }

    /// Removes the key.
    pub(crate) async fn remove(&self) -> Result<(), ApiError> {
        let body = json!({ "key": self.key });
        self.call::<Value>("deleterange", body).await.map(drop)
    }

    async fn call<T: DeserializeOwned>(&self, method: &str, body: Value) -> Result<T, ApiError> {
        self.calls.fetch_add(1, Relaxed);
        let request = self.client.post(format!("{}/v3/kv/{method}", self.url));
        http::json(request.body(body.to_string()).send().await?).await
    }
}
