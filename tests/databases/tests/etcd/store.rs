//! Reads and writes one key of etcd through the JSON gateway that every etcd has, without a client crate.
//!
//! Source: [etcd's gRPC gateway](https://etcd.io/docs/v3.5/dev-guide/api_grpc_gateway/).

use backoff_cloud::http::{self, ApiError};
use base64::{Engine as _, prelude::BASE64_STANDARD as BASE64};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::{Value, json};

/// A key whose value is a list of names, one a line.
#[derive(Clone)]
pub(crate) struct Store {
    client: reqwest::Client,
    url: String,
    key: String,
}

/// The value that was read: the names, and the revision of the key, which is 0 if the key did not exist.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    pub(crate) names: Vec<String>,
    revision: i64,
}

impl Names {
    /// Adds the name if it is missing. Returns whether the list changed.
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

/// The reply to a compare-and-swap. etcd leaves out fields that are false: a conflict is 200 without
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

#[derive(Deserialize)]
struct KeyValue {
    #[serde(deserialize_with = "number")]
    mod_revision: i64,
    #[serde(default, deserialize_with = "lines")]
    value: Vec<String>,
}

/// etcd writes numbers of 64 bits as text in JSON.
fn number<'de, D: Deserializer<'de>>(text: D) -> Result<i64, D::Error> {
    String::deserialize(text)?.parse().map_err(D::Error::custom)
}

/// Bytes are base64. A value that cannot be read is an error, so that nobody overwrites the value.
fn lines<'de, D: Deserializer<'de>>(text: D) -> Result<Vec<String>, D::Error> {
    let value = BASE64
        .decode(String::deserialize(text)?)
        .map_err(D::Error::custom)?;
    let value = String::from_utf8(value).map_err(D::Error::custom)?;
    Ok(value.lines().map(str::to_owned).collect())
}

impl Store {
    /// The key with this name in the etcd at this address.
    ///
    /// # Errors
    /// Returns an error if the client cannot be made.
    pub(crate) fn new(url: &str, key: &str) -> Result<Self, ApiError> {
        let client = reqwest::Client::builder().retry(reqwest::retry::never());
        Ok(Store {
            client: client.build()?,
            url: url.trim_end_matches('/').to_owned(),
            key: BASE64.encode(key),
        })
    }

    pub(crate) async fn read(&self) -> Result<Names, ApiError> {
        let Range { kvs } = self.call("range", json!({ "key": self.key })).await?;
        let found = kvs.into_iter().next();
        let (names, revision) = found
            .map(|it| (it.value, it.mod_revision))
            .unwrap_or_default();
        Ok(Names { names, revision })
    }

    /// Writes the names only if nobody has written since they were read.
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

    /// Whether a member of the cluster at this address has this name.
    pub(crate) async fn is_named(&self, name: &str) -> Result<bool, ApiError> {
        let list: Value = self.post("cluster/member/list", json!({})).await?;
        let mut members = list["members"].as_array().into_iter().flatten();
        Ok(members.any(|member| member["name"] == name))
    }

    async fn call<T: DeserializeOwned>(&self, method: &str, body: Value) -> Result<T, ApiError> {
        self.post(&format!("kv/{method}"), body).await
    }

    async fn post<T: DeserializeOwned>(&self, method: &str, body: Value) -> Result<T, ApiError> {
        let request = self.client.post(format!("{}/v3/{method}", self.url));
        http::json(request.body(body.to_string()).send().await?).await
    }
}
