//! A small client of the Memorystore API over HTTP. It retries nothing by itself, and prints a line for
//! each of its calls.

use backoff_cloud::http::{self, ApiError};
use reqwest::RequestBuilder;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::tale::Tale;

/// The location of the instances.
pub(crate) const PARENT: &str = "projects/demo/locations/europe-west1";

/// The operation that a create or a delete starts.
#[derive(Debug, Deserialize)]
pub(crate) struct Operation {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) done: bool,
    error: Option<Status>,
}

/// Why an operation failed.
#[derive(Debug, Deserialize)]
struct Status {
    code: i32,
    message: String,
}

impl Operation {
    /// Whether an operation that is done has succeeded. A failed operation is an error with its message.
    pub(crate) fn success(self) -> Result<(), String> {
        match self.error {
            None => Ok(()),
            Some(Status { code, message }) => {
                Err(format!("the operation failed with code {code}: {message}"))
            }
        }
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Instance {
    pub(crate) state: String,
}

pub(crate) struct Client<'a> {
    pub(crate) http: reqwest::Client,
    pub(crate) url: &'a str,
    pub(crate) tale: &'a Tale,
}

impl Client<'_> {
    /// Starts the creation of an instance. Calls with the same request id start it only once.
    pub(crate) async fn create(&self, id: &str, request_id: &str) -> Result<Operation, ApiError> {
        let path = format!("{PARENT}/instances?instanceId={id}&requestId={request_id}");
        let instance = json!({"shardCount": 3, "nodeType": "HIGHMEM_MEDIUM"});
        let request = self.http.post(self.to(&path)).json(&instance);
        self.call("create the instance", request, beginning).await
    }

    pub(crate) async fn instance(&self, id: &str) -> Result<Instance, ApiError> {
        let request = self.http.get(self.to(&format!("{PARENT}/instances/{id}")));
        let state = |instance: &Instance| format!("it is {}", instance.state);
        self.call("get the instance", request, state).await
    }

    /// Starts the deletion of an instance; for the request id see [`create`](Self::create).
    pub(crate) async fn delete(&self, id: &str, request_id: &str) -> Result<Operation, ApiError> {
        let path = format!("{PARENT}/instances/{id}?requestId={request_id}");
        let request = self.http.delete(self.to(&path));
        self.call("delete the instance", request, beginning).await
    }

    pub(crate) async fn operation(&self, name: &str) -> Result<Operation, ApiError> {
        let request = self.http.get(self.to(name));
        self.call("poll the operation", request, progress).await
    }

    fn to(&self, path: &str) -> String {
        format!("{}/v1/{path}", self.url)
    }

    async fn call<T: DeserializeOwned>(
        &self,
        name: &'static str,
        request: RequestBuilder,
        tell: impl Fn(&T) -> String,
    ) -> Result<T, ApiError> {
        let begun = self.tale.now();
        let answer = match request.send().await {
            Ok(response) => http::json(response).await,
            Err(error) => Err(error.into()),
        };
        let came_back = match &answer {
            Ok(value) => tell(value),
            Err(error) => failure(error),
        };
        self.tale.called(begun, name, &came_back);
        answer
    }
}

fn beginning(operation: &Operation) -> String {
    operation.name.rsplit('/').next().unwrap_or_default().into()
}

fn progress(operation: &Operation) -> String {
    let done = if operation.done { "done" } else { "not done" };
    done.to_owned()
}

fn failure(error: &ApiError) -> String {
    match (error.status(), error.grpc_code()) {
        (Some(status), Some(code)) => format!("{status} {}", code.name()),
        (Some(status), None) => status.to_string(),
        (None, _) => "the connection broke".to_owned(),
    }
}
