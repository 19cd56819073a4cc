//! Memorystore: the instances and operations of all locations. The caller passes the time.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use backoff_cloud::GrpcCode;
use serde_json::{Map, Value, json};

use crate::operation::{Failure, Operation};
use crate::refusal::Refusal;

/// The state of an instance that is neither being created nor being deleted.
const READY: &str = "ACTIVE";

/// An instance that exists or will exist soon.
#[derive(Debug)]
struct Instance {
    /// Its JSON.
    fields: Value,
    /// When reads find the instance; `None` if that is beyond all clocks.
    appears: Option<Instant>,
}

/// A call that begins an operation.
#[derive(Debug)]
pub(crate) struct Begin<'a> {
    /// The name of the instance.
    pub(crate) target: &'a str,
    /// The fields of the instance to create; `None` to delete it.
    pub(crate) fields: Option<&'a Map<String, Value>>,
    pub(crate) request_id: Option<&'a str>,
    /// The error with which the operation is to end.
    pub(crate) failure: Option<Failure>,
}

/// The instances and operations of all locations.
#[derive(Debug)]
pub(crate) struct Instances {
    /// How long an operation takes.
    pub(crate) takes: Duration,
    /// How long reads do not find a new instance.
    pub(crate) appears_after: Duration,
    instances: BTreeMap<String, Instance>,
    operations: HashMap<String, Operation>,
    /// The operations of the calls with a `requestId`.
    by_request: HashMap<String, String>,
}

impl Instances {
    pub(crate) fn new(takes: Duration, appears_after: Duration) -> Self {
        Self {
            takes,
            appears_after,
            instances: BTreeMap::new(),
            operations: HashMap::new(),
            by_request: HashMap::new(),
        }
    }

    /// The instances of a collection that reads find.
    pub(crate) fn list(&mut self, collection: &str, now: Instant) -> Value {
        self.settle(now);
        let is_in = |name: &str| {
            let id = name.strip_prefix(collection);
            id.is_some_and(|id| id.starts_with('/'))
        };
        let listed = self.instances.iter();
        let listed = listed.filter(|(name, it)| is_in(name) && it.is_visible(now));
        let listed: Vec<_> = listed.map(|(_, it)| &it.fields).collect();
        json!({ "instances": listed })
    }

    /// An instance, if reads find it.
    pub(crate) fn get(&mut self, name: &str, now: Instant) -> Result<Value, Refusal> {
        self.settle(now);
        let found = self.instances.get(name).filter(|it| it.is_visible(now));
        found
            .map(|it| it.fields.clone())
            .ok_or_else(|| missing(name))
    }

    pub(crate) fn operation(&mut self, name: &str, now: Instant) -> Result<Value, Refusal> {
        self.settle(now);
        let found = self.operations.get(name);
        found.map(|it| it.json(name)).ok_or_else(|| missing(name))
    }

    /// Begins an operation, unless an earlier call with the same `requestId` has begun it: the second value says so.
    pub(crate) fn begin(
        &mut self,
        call: Begin<'_>,
        now: Instant,
    ) -> Result<(Value, bool), Refusal> {
        self.settle(now);
        let earlier = call.request_id.and_then(|id| self.by_request.get(id));
        let (name, is_recognised) = match earlier {
            Some(earlier) => (earlier.clone(), true),
            None => (self.start(call, now)?, false),
        };
        // An operation that takes no time has ended before its client gets the reply.
        Ok((self.operation(&name, now)?, is_recognised))
    }

    fn start(&mut self, call: Begin<'_>, now: Instant) -> Result<String, Refusal> {
        let target = call.target;
        match call.fields {
            Some(fields) => self.create(target, fields.clone(), now)?,
            None => self.delete(target)?,
        }
        let (location, _) = target.split_once("/instances/").unwrap_or((target, ""));
        // No operation is ever removed, so the count makes a unique name.
        let number = self.operations.len() + 1;
        let name = format!("{location}/operations/operation-{number}");
        let operation = Operation {
            creates: call.fields.is_some(),
            target: target.to_owned(),
            ends: now.checked_add(self.takes),
            failure: call.failure,
            ended: None,
        };
        self.operations.insert(name.clone(), operation);
        if let Some(id) = call.request_id {
            self.by_request.insert(id.to_owned(), name.clone());
        }
        Ok(name)
    }

    fn create(
        &mut self,
        name: &str,
        mut fields: Map<String, Value>,
        now: Instant,
    ) -> Result<(), Refusal> {
        if self.instances.contains_key(name) {
            let message = format!("Resource '{name}' already exists.");
            return Err(Refusal::new(GrpcCode::AlreadyExists, message));
        }
        fields.insert("name".to_owned(), json!(name));
        fields.insert("state".to_owned(), json!("CREATING"));
        let instance = Instance {
            fields: Value::Object(fields),
            appears: now.checked_add(self.appears_after),
        };
        self.instances.insert(name.to_owned(), instance);
        Ok(())
    }

    fn delete(&mut self, name: &str) -> Result<(), Refusal> {
        let instance = self.instances.get_mut(name).ok_or_else(|| missing(name))?;
        let state = &mut instance.fields["state"];
        if *state != READY {
            let message =
                format!("Resource '{name}' is {state} and can be deleted when it is \"{READY}\".");
            return Err(Refusal::new(GrpcCode::FailedPrecondition, message));
        }
        *state = json!("DELETING");
        Ok(())
    }

    /// Ends the operations that are over.
    fn settle(&mut self, now: Instant) {
        for operation in self.operations.values_mut().filter(|it| it.is_due(now)) {
            let target = &operation.target;
            if !operation.leaves_an_instance() {
                self.instances.remove(target);
            }
            let left = self.instances.get_mut(target).map(|it| {
                it.fields["state"] = json!(READY);
                &it.fields
            });
            operation.end(left);
        }
    }
}

impl Instance {
    fn is_visible(&self, now: Instant) -> bool {
        self.appears.is_some_and(|appears| appears <= now)
    }
}

fn missing(name: &str) -> Refusal {
    Refusal::not_found(format!("Resource '{name}' was not found."))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLLECTION: &str = "projects/p/locations/l/instances";
    const CACHE: &str = "projects/p/locations/l/instances/cache";

    /// Rows: the seconds, the call, and what it gets: the state of the instance, or a refusal. An operation takes a
    /// minute, and reads find an instance five seconds after its creation began.
    #[test]
    fn an_instance_is_created_becomes_ready_and_goes() {
        let (minute, five) = (Duration::from_secs(60), Duration::from_secs(5));
        let (mut instances, begin) = (Instances::new(minute, five), Instant::now());
        let fields = json!({"shardCount": 3, "state": "ACTIVE", "name": "mine"});
        for (seconds, call, expected) in [
            (0.0, "create", "begun"),
            (4.9, "get", "NOT_FOUND"),
            (4.9, "list", "0"),
            (4.9, "create", "ALREADY_EXISTS"),
            (5.0, "get", "CREATING"),
            (5.0, "list", "1"),
            (59.9, "delete", "FAILED_PRECONDITION"),
            (60.0, "get", "ACTIVE"),
            (60.0, "delete", "begun"),
            (60.0, "get", "DELETING"),
            (119.9, "create", "ALREADY_EXISTS"),
            (120.0, "get", "NOT_FOUND"),
            (120.0, "delete", "NOT_FOUND"),
        ] {
            let now = begin + Duration::from_secs_f64(seconds);
            let done = match call {
                "get" => instances.get(CACHE, now).map(|mut it| it["state"].take()),
                "list" => {
                    let mut list = instances.list(COLLECTION, now);
                    let list = list["instances"].take();
                    Ok(json!(list.as_array().map_or(0, Vec::len).to_string()))
                }
                _ => {
                    let begin = Begin {
                        target: CACHE,
                        fields: fields.as_object().filter(|_| call == "create"),
                        request_id: None,
                        failure: None,
                    };
                    instances.begin(begin, now).map(|_| json!("begun"))
                }
            };
            let done = done.unwrap_or_else(|refusal| json!(refusal.code.name()));
            assert_eq!(done, expected, "{call} after {seconds} s");
        }
    }
}
