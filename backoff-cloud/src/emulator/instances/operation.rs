//! A long-running operation: <https://google.aip.dev/151>.

use std::time::{Instant, SystemTime};

use backoff_core::GrpcCode;
use serde_json::{Map, Value, json};

use super::product::{Memorystore, State};

/// The effect of an operation on its target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verb {
    Create,
    Delete,
}

/// Why an operation ended without its effect.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Failure {
    pub(super) code: GrpcCode,
    pub(super) message: String,
}

/// An operation that runs or has ended.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) verb: Verb,
    /// The name of the instance.
    pub(super) target: String,
    pub(super) started: Instant,
    /// When the operation ends; `None` if that is beyond all clocks.
    pub(super) ends: Option<Instant>,
    /// The error with which the operation is to end, if it is to fail.
    pub(super) fails: Option<Failure>,
    pub(super) cancelled: bool,
    pub(super) ended: Option<Ended>,
    /// Deleted by its client. The operation goes on.
    pub(super) forgotten: bool,
}

/// The result of an operation.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) at: Instant,
    /// The instance, if the operation created one.
    pub(super) result: Result<Option<Map<String, Value>>, Failure>,
}

impl Operation {
    /// Whether the operation has ended at `now`.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.ended.is_none() && self.ends.is_some_and(|ends| ends <= now)
    }

    pub(super) fn json(
        &self,
        name: &str,
        product: Memorystore,
        wall: &Wall,
        numbers: bool,
    ) -> Value {
        let mut metadata = json!({
            "@type": product.type_of("OperationMetadata"),
            "createTime": wall.text(self.started),
            "target": self.target,
            "verb": match self.verb {
                Verb::Create => "create",
                Verb::Delete => "delete",
            },
            product.cancelled_field(): self.cancelled,
            "apiVersion": "v1",
        });
        if let Some(ended) = &self.ended {
            metadata["endTime"] = json!(wall.text(ended.at));
        }
        let mut operation = json!({
            "name": name,
            "metadata": metadata,
            "done": self.ended.is_some(),
        });
        match self.ended.as_ref().map(|ended| &ended.result) {
            None => {}
            Some(Err(Failure { code, message })) => {
                operation["error"] = json!({"code": code.number(), "message": message});
            }
            Some(Ok(None)) => {
                operation["response"] =
                    json!({"@type": "type.googleapis.com/google.protobuf.Empty"});
            }
            Some(Ok(Some(instance))) => {
                let mut instance = instance.clone();
                instance.insert("@type".to_owned(), json!(product.type_of("Instance")));
                let state = product.state(State::Ready, numbers);
                instance.insert("state".to_owned(), state);
                operation["response"] = Value::Object(instance);
            }
        }
        operation
    }
}

/// The time of day of an [`Instant`].
#[derive(Debug)]
pub(super) struct Wall {
    pub(super) instant: Instant,
    pub(super) time: SystemTime,
}

impl Wall {
    pub(super) fn now() -> Self {
        Self {
            instant: Instant::now(),
            time: SystemTime::now(),
        }
    }

    /// A timestamp in Google's JSON.
    pub(super) fn text(&self, at: Instant) -> String {
        let since = at.saturating_duration_since(self.instant);
        // The formatter knows no time before 1970.
        let time = self.time.max(SystemTime::UNIX_EPOCH) + since;
        humantime::format_rfc3339_millis(time).to_string()
    }
}
