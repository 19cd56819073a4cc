//! Memorystore: the instances and operations of all locations. The caller passes the time.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

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

/// The operation that a call gets.
#[derive(Debug, PartialEq)]
pub(crate) struct Begun {
    pub(crate) operation: Value,
    /// Whether an earlier call with the same `requestId` had begun it.
    pub(crate) is_recognised: bool,
}

/// The instances and operations of all locations.
#[derive(Debug)]
pub(crate) struct Instances {
    /// How long an operation takes.
    takes: Duration,
    /// How long reads do not find a new instance.
    appears_after: Duration,
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

    /// An instance, also if reads do not find it yet.
    pub(crate) fn newest(&mut self, name: &str, now: Instant) -> Option<Value> {
        self.settle(now);
        Some(self.instances.get(name)?.fields.clone())
    }

    pub(crate) fn operation(&mut self, name: &str, now: Instant) -> Result<Value, Refusal> {
        self.settle(now);
        let found = self.operations.get(name);
        found.map(|it| it.json(name)).ok_or_else(|| missing(name))
    }

    /// Begins an operation, unless an earlier call with the same `requestId` has begun it.
    pub(crate) fn begin(&mut self, call: Begin<'_>, now: Instant) -> Result<Begun, Refusal> {
        self.settle(now);
        let earlier = call.request_id.and_then(|id| self.by_request.get(id));
        let is_recognised = earlier.is_some();
        let name = match earlier {
            Some(earlier) => earlier.clone(),
            None => self.start(call, now)?,
        };
        // An operation that takes no time has ended before its client gets the reply.
        let operation = self.operation(&name, now)?;
        Ok(Begun {
            operation,
            is_recognised,
        })
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
            return Err(Refusal::already_exists(message));
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
            return Err(Refusal::failed_precondition(format!(
                "Resource '{name}' is {state} and can be deleted when it is \"{READY}\"."
            )));
        }
        *state = json!("DELETING");
        Ok(())
    }

    /// Ends the operations that are over.
    fn settle(&mut self, now: Instant) {
        for operation in self.operations.values_mut().filter(|it| it.is_due(now)) {
            let target = &operation.target;
            let mut instance = None;
            if operation.leaves_an_instance() {
                instance = self.instances.get_mut(target).map(|it| &mut it.fields);
            } else {
                self.instances.remove(target);
            }
            if let Some(instance) = &mut instance {
                instance["state"] = json!(READY);
            }
            operation.end(instance.as_deref());
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
    use backoff_cloud::GrpcCode;

    use super::*;

    const COLLECTION: &str = "projects/p/locations/l/instances";
    const CACHE: &str = "projects/p/locations/l/instances/cache";
    const TAKES: Duration = Duration::from_secs(60);
    const APPEARS: Duration = Duration::from_secs(5);

    /// The service at a time that the test chooses.
    struct Service {
        instances: Instances,
        now: Instant,
    }

    impl Service {
        fn new() -> Self {
            Self {
                instances: Instances::new(TAKES, APPEARS),
                now: Instant::now(),
            }
        }

        fn pass(&mut self, time: Duration) {
            self.now += time;
        }

        fn get(&mut self) -> Result<Value, u16> {
            let found = self.instances.get(CACHE, self.now);
            found.map_err(|refusal| refusal.code.http_status())
        }

        fn begin(
            &mut self,
            creates: bool,
            request_id: Option<&str>,
            failure: Option<Failure>,
        ) -> Result<Begun, &'static str> {
            let fields = json!({"shardCount": 3, "state": "ACTIVE", "name": "mine"});
            let call = Begin {
                target: CACHE,
                fields: fields.as_object().filter(|_| creates),
                request_id,
                failure,
            };
            let begun = self.instances.begin(call, self.now);
            begun.map_err(|refusal| refusal.code.name())
        }

        fn create(&mut self) -> Result<Value, &'static str> {
            self.begin(true, None, None).map(|begun| begun.operation)
        }

        fn delete(&mut self) -> Result<Value, &'static str> {
            self.begin(false, None, None).map(|begun| begun.operation)
        }

        fn list(&mut self, collection: &str) -> Value {
            self.instances.list(collection, self.now)["instances"].take()
        }

        fn poll(&mut self, operation: &Value) -> Value {
            let name = operation["name"].as_str().unwrap();
            self.instances.operation(name, self.now).unwrap()
        }
    }

    #[test]
    fn an_instance_is_created_becomes_ready_and_goes() {
        let mut service = Service::new();
        let operation = service.create().unwrap();
        assert_eq!(operation["done"], false);
        assert_eq!(operation["metadata"]["target"], CACHE);
        // It is not found for a while, and exists nevertheless.
        service.pass(APPEARS - Duration::from_nanos(1));
        assert_eq!(service.get(), Err(404));
        assert_eq!(service.list(COLLECTION), json!([]));
        assert!(service.instances.newest(CACHE, service.now).is_some());
        assert_eq!(service.create(), Err("ALREADY_EXISTS"));
        service.pass(Duration::from_nanos(1));
        let made = service.get().unwrap();
        assert_eq!(made["state"], "CREATING");
        assert_eq!(made["name"], CACHE);
        assert_eq!(made["shardCount"], 3);
        assert_eq!(service.list(COLLECTION), json!([made]));
        assert_eq!(service.list("projects/p/locations/m/instances"), json!([]));
        assert_eq!(service.delete(), Err("FAILED_PRECONDITION"));

        service.pass(TAKES - APPEARS - Duration::from_nanos(1));
        assert_eq!(service.poll(&operation)["done"], false);
        service.pass(Duration::from_nanos(1));
        let ended = service.poll(&operation);
        assert_eq!(ended["done"], true);
        let mut made = service.get().unwrap();
        assert_eq!(made["state"], "ACTIVE");
        made["@type"] = json!("type.googleapis.com/google.cloud.memorystore.v1.Instance");
        assert_eq!(ended["response"], made);

        let deletion = service.delete().unwrap();
        assert_eq!(service.get().unwrap()["state"], "DELETING");
        assert_eq!(service.delete(), Err("FAILED_PRECONDITION"));
        assert_eq!(service.create(), Err("ALREADY_EXISTS"));
        service.pass(TAKES);
        let ended = service.poll(&deletion);
        let empty = json!({"@type": "type.googleapis.com/google.protobuf.Empty"});
        assert_eq!(ended["done"], true);
        assert_eq!(ended["response"], empty);
        assert_eq!(service.get(), Err(404));
        assert_eq!(service.delete(), Err("NOT_FOUND"));
    }

    #[test]
    fn a_request_id_finds_the_operation_that_it_started() {
        let mut service = Service::new();
        let first = service.begin(true, Some("a"), None).unwrap();
        assert!(!first.is_recognised);
        let again = service.begin(true, Some("a"), None).unwrap();
        assert!(again.is_recognised);
        assert_eq!(again.operation, first.operation);
        let other = service.begin(true, Some("b"), None);
        assert_eq!(other, Err("ALREADY_EXISTS"));
        service.pass(TAKES);
        let again = service.begin(true, Some("a"), None).unwrap().operation;
        assert_eq!(again["name"], first.operation["name"]);
        assert_eq!(again["done"], true);
        assert!(!service.begin(false, Some("c"), None).unwrap().is_recognised);
        assert!(service.begin(false, Some("c"), None).unwrap().is_recognised);
        service.pass(TAKES);
        // The id of a refused request may be used again.
        assert!(!service.begin(true, Some("b"), None).unwrap().is_recognised);
    }

    #[test]
    fn an_operation_that_fails_leaves_no_effect() {
        let mut service = Service::new();
        for creates in [true, false] {
            let full = Some((GrpcCode::ResourceExhausted, "full".to_owned()));
            let begun = service.begin(creates, None, full).unwrap().operation;
            assert_eq!(begun["done"], false);
            service.pass(TAKES);
            let ended = service.poll(&begun);
            assert_eq!(ended["done"], true);
            assert_eq!(ended["error"], json!({"code": 8, "message": "full"}));
            assert_eq!(ended.get("response"), None);
            match creates {
                true => assert_eq!(service.get(), Err(404)),
                false => assert_eq!(service.get().unwrap()["state"], "ACTIVE"),
            }
            drop(service.create());
            service.pass(TAKES);
        }
    }

    #[test]
    fn an_operation_may_take_no_time_or_for_ever() {
        let mut at_once = Service::new();
        at_once.instances = Instances::new(Duration::ZERO, Duration::ZERO);
        assert_eq!(at_once.create().unwrap()["response"]["state"], "ACTIVE");

        let mut never = Service::new();
        never.instances = Instances::new(Duration::MAX, Duration::MAX);
        let operation = never.create().unwrap();
        never.pass(Duration::from_secs(1_000_000_000));
        assert_eq!(never.poll(&operation)["done"], false);
        assert_eq!(never.get(), Err(404));
    }
}
