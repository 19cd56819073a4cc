//! A long-running operation: <https://google.aip.dev/151>.

use std::time::Instant;

use backoff_cloud::GrpcCode;
use serde_json::{Value, json};

/// The error with which an operation is to end.
pub(crate) type Failure = (GrpcCode, String);

/// An operation that creates or deletes an instance.
#[derive(Debug)]
pub(crate) struct Operation {
    /// Whether it creates the instance. Otherwise it deletes it.
    pub(crate) creates: bool,
    /// The name of the instance.
    pub(crate) target: String,
    /// When the operation ends; `None` if that is beyond all clocks.
    pub(crate) ends: Option<Instant>,
    pub(crate) failure: Option<Failure>,
    /// How the operation ended: the field of its JSON and the value.
    pub(crate) ended: Option<(&'static str, Value)>,
}

impl Operation {
    /// Whether the operation has yet to be ended at `now`.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.ended.is_none() && self.ends.is_some_and(|ends| ends <= now)
    }

    /// Whether its instance exists when the operation has ended.
    pub(crate) fn leaves_an_instance(&self) -> bool {
        self.creates == self.failure.is_none()
    }

    /// Ends the operation. `instance` is its result.
    pub(crate) fn end(&mut self, instance: Option<&Value>) {
        let done =
            |type_url: &str| json!({ "@type": format!("type.googleapis.com/google.{type_url}") });
        self.ended = Some(match (&self.failure, instance) {
            (Some((code, message)), _) => {
                let error = json!({"code": code.number(), "message": message});
                ("error", error)
            }
            (None, Some(instance)) => {
                let mut instance = instance.clone();
                instance["@type"] = done("cloud.memorystore.v1.Instance")["@type"].take();
                ("response", instance)
            }
            (None, None) => ("response", done("protobuf.Empty")),
        });
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        let metadata = json!({
            "@type": "type.googleapis.com/google.cloud.memorystore.v1.OperationMetadata",
            "target": self.target,
        });
        let mut operation =
            json!({"name": name, "done": self.ended.is_some(), "metadata": metadata});
        if let Some((field, value)) = &self.ended {
            operation[*field] = value.clone();
        }
        operation
    }
}
