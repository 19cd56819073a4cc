//! The instances and operations of all locations. The caller passes the time.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::time::{Duration, Instant};

use backoff_core::GrpcCode;
use serde_json::{Map, Value, json};

use super::action::{Action, Page, TOKEN};
use super::operation::{Ended, Failure, Operation, Verb, Wall};
use super::product::{Memorystore, State};
use crate::emulator::refusal::Refusal;

/// An instance that exists or will exist soon.
#[derive(Debug)]
struct Instance {
    /// All fields but the state.
    fields: Map<String, Value>,
    state: State,
    /// When reads find the instance; `None` if that is beyond all clocks.
    appears: Option<Instant>,
}

/// The effect of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::emulator) enum Done {
    Read,
    /// The call started an operation.
    Started,
    /// An earlier call with the same `requestId` had started the operation.
    Recognised,
    /// The call cancelled or deleted an operation.
    Other,
}

/// The instances and operations of all locations.
#[derive(Debug)]
pub(in crate::emulator) struct Instances {
    product: Memorystore,
    /// How long an operation takes.
    takes: Duration,
    /// How long reads do not find a new instance.
    appears_after: Duration,
    wall: Wall,
    instances: BTreeMap<String, Instance>,
    operations: BTreeMap<String, Operation>,
    /// The operations of the calls with a `requestId`.
    by_request: HashMap<String, String>,
}

impl Instances {
    pub(in crate::emulator) fn new(
        product: Memorystore,
        takes: Duration,
        appears_after: Duration,
    ) -> Self {
        Self {
            product,
            takes,
            appears_after,
            wall: Wall::now(),
            instances: BTreeMap::new(),
            operations: BTreeMap::new(),
            by_request: HashMap::new(),
        }
    }

    pub(in crate::emulator) fn product(&self) -> Memorystore {
        self.product
    }

    /// Carries out the call for `resource`. If `fails` is given, an operation that the call starts ends
    /// with this error.
    pub(in crate::emulator) fn carry_out(
        &mut self,
        resource: &str,
        action: &Action,
        fails: Option<(GrpcCode, &str)>,
        numbers: bool,
        now: Instant,
    ) -> Result<(Value, Done), Refusal> {
        self.settle(now);
        let fails = fails.map(|(code, message)| Failure {
            code,
            message: message.to_owned(),
        });
        let (operation, done) = match action {
            Action::List(page) => return Ok((self.list(resource, page, numbers, now), Done::Read)),
            Action::ListOperations(page) => {
                return Ok((self.list_operations(resource, page, numbers), Done::Read));
            }
            Action::Get => {
                let instance = self
                    .instances
                    .get(resource)
                    .filter(|instance| instance.is_visible(now))
                    .ok_or_else(|| missing(resource))?;
                return Ok((self.show(instance, numbers), Done::Read));
            }
            Action::CancelOperation => {
                self.cancel(resource, now)?;
                return Ok((json!({}), Done::Other));
            }
            Action::DeleteOperation => {
                self.forget(resource)?;
                return Ok((json!({}), Done::Other));
            }
            Action::GetOperation => (resource.to_owned(), Done::Read),
            Action::Create {
                instance,
                request_id,
            } => self.recognise(Verb::Create, resource, request_id, |it| {
                it.create(resource, instance, fails, now)
            })?,
            Action::Delete { request_id } => {
                self.recognise(Verb::Delete, resource, request_id, |it| {
                    it.delete(resource, fails, now)
                })?
            }
        };
        let found = self.known_operation(&operation)?;
        let shown = found.json(&operation, self.product, &self.wall, numbers);
        Ok((shown, done))
    }

    /// An instance, also if reads do not find it yet.
    pub(in crate::emulator) fn instance(&mut self, name: &str, now: Instant) -> Option<Value> {
        self.settle(now);
        Some(self.show(self.instances.get(name)?, false))
    }

    /// Ends the operations that are over.
    fn settle(&mut self, now: Instant) {
        for operation in self.operations.values_mut() {
            if operation.is_due(now) {
                let at = operation.ends.unwrap_or(now);
                let failure = operation.fails.clone();
                end(&mut self.instances, self.product, operation, at, failure);
            }
        }
    }

    /// Carries out the request, unless an earlier request with the same id was carried out.
    fn recognise(
        &mut self,
        verb: Verb,
        target: &str,
        request_id: &Option<String>,
        start: impl FnOnce(&mut Self) -> Result<String, Refusal>,
    ) -> Result<(String, Done), Refusal> {
        let Some(id) = request_id else {
            return Ok((start(self)?, Done::Started));
        };
        if let Some(name) = self.by_request.get(id) {
            let same = self
                .operations
                .get(name)
                .is_some_and(|earlier| (earlier.verb, earlier.target.as_str()) == (verb, target));
            return if same {
                Ok((name.clone(), Done::Recognised))
            } else {
                Err(Refusal::invalid(format!(
                    "requestId {id} belongs to another request: use a new one for each request."
                )))
            };
        }
        let name = start(self)?;
        self.by_request.insert(id.clone(), name.clone());
        Ok((name, Done::Started))
    }

    fn create(
        &mut self,
        name: &str,
        fields: &Map<String, Value>,
        fails: Option<Failure>,
        now: Instant,
    ) -> Result<String, Refusal> {
        if self.instances.contains_key(name) {
            return Err(Refusal::already_exists(format!(
                "Resource '{name}' already exists."
            )));
        }
        let mut fields = fields.clone();
        fields.remove("state");
        fields.insert("name".to_owned(), json!(name));
        fields.insert("createTime".to_owned(), json!(self.wall.text(now)));
        let instance = Instance {
            fields,
            state: State::Creating,
            appears: now.checked_add(self.appears_after),
        };
        self.instances.insert(name.to_owned(), instance);
        Ok(self.start(Verb::Create, name, fails, now))
    }

    fn delete(
        &mut self,
        name: &str,
        fails: Option<Failure>,
        now: Instant,
    ) -> Result<String, Refusal> {
        let product = self.product;
        let instance = self.instances.get_mut(name).ok_or_else(|| missing(name))?;
        if instance.state != State::Ready {
            let state = product.state(instance.state, false);
            return Err(Refusal::failed_precondition(format!(
                "Resource '{name}' is {state} and can be deleted when it is {}.",
                product.state(State::Ready, false)
            )));
        }
        instance.state = State::Deleting;
        Ok(self.start(Verb::Delete, name, fails, now))
    }

    fn start(&mut self, verb: Verb, target: &str, fails: Option<Failure>, now: Instant) -> String {
        let (location, _) = target.split_once("/instances/").unwrap_or((target, ""));
        // No operation is ever removed, so the count makes a unique name. The zeros keep the order.
        let name = format!(
            "{location}/operations/operation-{:06}",
            self.operations.len() + 1
        );
        let operation = Operation {
            verb,
            target: target.to_owned(),
            started: now,
            ends: now.checked_add(self.takes),
            fails,
            cancelled: false,
            ended: None,
            forgotten: false,
        };
        self.operations.insert(name.clone(), operation);
        // An operation that takes no time has ended before its client gets the reply.
        self.settle(now);
        name
    }

    fn known_operation(&self, name: &str) -> Result<&Operation, Refusal> {
        self.operations
            .get(name)
            .filter(|operation| !operation.forgotten)
            .ok_or_else(|| missing(name))
    }

    fn cancel(&mut self, name: &str, now: Instant) -> Result<(), Refusal> {
        self.known_operation(name)?;
        if let Some(operation) = self.operations.get_mut(name)
            && operation.ended.is_none()
        {
            operation.cancelled = true;
            let failure = Failure {
                code: GrpcCode::Cancelled,
                message: "The operation was cancelled.".to_owned(),
            };
            end(
                &mut self.instances,
                self.product,
                operation,
                now,
                Some(failure),
            );
        }
        Ok(())
    }

    fn forget(&mut self, name: &str) -> Result<(), Refusal> {
        self.known_operation(name)?;
        if let Some(operation) = self.operations.get_mut(name) {
            operation.forgotten = true;
        }
        Ok(())
    }

    fn show(&self, instance: &Instance, numbers: bool) -> Value {
        let mut fields = instance.fields.clone();
        let state = self.product.state(instance.state, numbers);
        fields.insert("state".to_owned(), state);
        Value::Object(fields)
    }

    fn list(&self, parent: &str, page: &Page, numbers: bool, now: Instant) -> Value {
        let visible = names_after(&self.instances, page)
            .filter(|(name, instance)| {
                is_in(parent, name, "/instances/") && instance.is_visible(now)
            })
            .map(|(name, instance)| (name, self.show(instance, numbers)));
        paged("instances", visible, page)
    }

    fn list_operations(&self, parent: &str, page: &Page, numbers: bool) -> Value {
        let known = names_after(&self.operations, page)
            .filter(|(name, operation)| is_in(parent, name, "/operations/") && !operation.forgotten)
            .map(|(name, operation)| {
                let shown = operation.json(name, self.product, &self.wall, numbers);
                (name, shown)
            });
        paged("operations", known, page)
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

/// Ends an operation and applies its effect, or the effect of its failure, to the instance.
fn end(
    instances: &mut BTreeMap<String, Instance>,
    product: Memorystore,
    operation: &mut Operation,
    at: Instant,
    failure: Option<Failure>,
) {
    let gone = match (operation.verb, &failure) {
        (Verb::Create, None) | (Verb::Delete, Some(_)) => false,
        (Verb::Create, Some(_)) | (Verb::Delete, None) => true,
    };
    let created = if gone {
        instances.remove(&operation.target);
        None
    } else {
        instances.get_mut(&operation.target).and_then(|instance| {
            instance.state = State::Ready;
            (operation.verb == Verb::Create).then(|| {
                instance.fields.extend(product.endpoint());
                instance.fields.clone()
            })
        })
    };
    let result = match failure {
        Some(failure) => Err(failure),
        None => Ok(created),
    };
    operation.ended = Some(Ended { at, result });
}

/// Whether a resource of this collection is in a location; `-` stands for all locations.
fn is_in(parent: &str, name: &str, collection: &str) -> bool {
    let Some((location, _)) = name.split_once(collection) else {
        return false;
    };
    match parent.strip_suffix("/-") {
        Some(all) => location
            .strip_prefix(all)
            .is_some_and(|rest| rest.starts_with('/')),
        None => location == parent,
    }
}

fn names_after<'a, V>(
    all: &'a BTreeMap<String, V>,
    page: &Page,
) -> impl Iterator<Item = (&'a String, &'a V)> {
    let start = match &page.after {
        None => Bound::Unbounded,
        Some(name) => Bound::Excluded(name.clone()),
    };
    all.range((start, Bound::Unbounded))
}

fn paged<'a>(field: &str, all: impl Iterator<Item = (&'a String, Value)>, page: &Page) -> Value {
    let mut all = all.peekable();
    let mut shown = Vec::new();
    let mut last = None;
    while shown.len() < page.size
        && let Some((name, value)) = all.next()
    {
        shown.push(value);
        last = Some(name);
    }
    let mut reply = json!({ field: shown });
    if let (Some(_), Some(last)) = (all.peek(), last) {
        reply["nextPageToken"] = json!(format!("{TOKEN}{last}"));
    }
    reply
}
