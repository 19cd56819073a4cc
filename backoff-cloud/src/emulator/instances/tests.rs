use std::time::{Duration, Instant};

use backoff_core::GrpcCode;
use serde_json::{Map, Value, json};

use super::action::{Action, Page};
use super::product::Memorystore;
use super::store::{Done, Instances};

const PARENT: &str = "projects/p/locations/l";
const CACHE: &str = "projects/p/locations/l/instances/cache";
const TAKES: Duration = Duration::from_secs(60);
const APPEARS: Duration = Duration::from_secs(5);
const FULL: Option<(GrpcCode, &str)> = Some((GrpcCode::ResourceExhausted, "full"));

/// The service at a time that the test chooses.
struct Service {
    instances: Instances,
    now: Instant,
}

impl Service {
    fn new(product: Memorystore) -> Self {
        Self {
            instances: Instances::new(product, TAKES, APPEARS),
            now: Instant::now(),
        }
    }

    /// The service with one instance that is ready.
    fn with_cache(product: Memorystore) -> Self {
        let mut service = Self::new(product);
        service.create(CACHE, None).unwrap();
        service.pass(TAKES);
        service
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    fn call(
        &mut self,
        resource: &str,
        action: Action,
        fails: Option<(GrpcCode, &str)>,
    ) -> Result<(Value, Done), &'static str> {
        self.instances
            .carry_out(resource, &action, fails, false, self.now)
            .map_err(|refusal| refusal.name)
    }

    fn ask(&mut self, resource: &str, action: Action) -> Result<Value, &'static str> {
        self.call(resource, action, None).map(|(answer, _)| answer)
    }

    fn create(&mut self, name: &str, id: Option<&str>) -> Result<(Value, Done), &'static str> {
        self.call(name, create(id), None)
    }

    fn poll(&mut self, operation: &Value) -> Value {
        let name = operation["name"].as_str().unwrap();
        self.ask(name, Action::GetOperation).unwrap()
    }

    /// The names in a list.
    fn names(&mut self, parent: &str, action: Action) -> (Vec<String>, Option<String>) {
        let list = self.ask(parent, action).unwrap();
        let field = ["instances", "operations"].map(|field| &list[field]);
        let all = field.iter().find_map(|field| field.as_array()).unwrap();
        let names = all.iter().map(|it| it["name"].as_str().unwrap().to_owned());
        let token = list.get("nextPageToken");
        (
            names.collect(),
            token.map(|it| it.as_str().unwrap().to_owned()),
        )
    }
}

fn create(id: Option<&str>) -> Action {
    let fields = json!({"shardCount": 3, "state": "ACTIVE", "name": "mine"});
    Action::Create {
        instance: fields.as_object().cloned().unwrap_or_else(Map::new),
        request_id: id.map(str::to_owned),
    }
}

fn delete(id: Option<&str>) -> Action {
    Action::Delete {
        request_id: id.map(str::to_owned),
    }
}

fn page(size: usize, token: Option<&str>) -> Page {
    let after = token.map(|token| token.strip_prefix("after:").unwrap().to_owned());
    Page { size, after }
}

#[test]
fn an_instance_is_created_becomes_ready_and_goes() {
    for (product, ready, package) in [
        (Memorystore::Valkey, "ACTIVE", "google.cloud.memorystore.v1"),
        (Memorystore::Redis, "READY", "google.cloud.redis.v1"),
    ] {
        let mut service = Service::new(product);
        let (operation, done) = service.create(CACHE, None).unwrap();
        assert_eq!((done, &operation["done"]), (Done::Started, &json!(false)));
        assert_eq!(
            operation["name"],
            format!("{PARENT}/operations/operation-000001")
        );
        let metadata = &operation["metadata"];
        assert_eq!(
            metadata["@type"],
            format!("type.googleapis.com/{package}.OperationMetadata")
        );
        assert_eq!(
            (&metadata["verb"], &metadata["target"]),
            (&json!("create"), &json!(CACHE))
        );

        service.pass(APPEARS);
        let made = service.ask(CACHE, Action::Get).unwrap();
        assert_eq!(
            (&made["state"], &made["name"]),
            (&json!("CREATING"), &json!(CACHE))
        );
        assert_eq!(made["shardCount"], 3);

        service.pass(TAKES - APPEARS - Duration::from_nanos(1));
        assert_eq!(service.poll(&operation)["done"], false);
        service.pass(Duration::from_nanos(1));
        let ended = service.poll(&operation);
        assert_eq!(ended["done"], true);
        assert!(ended["metadata"]["endTime"].as_str() > ended["metadata"]["createTime"].as_str());
        let mut made = service.ask(CACHE, Action::Get).unwrap();
        assert_eq!(made["state"], ready);
        made["@type"] = json!(format!("type.googleapis.com/{package}.Instance"));
        assert_eq!(ended["response"], made);

        let deletion = service.ask(CACHE, delete(None)).unwrap();
        assert_eq!(
            service.ask(CACHE, Action::Get).unwrap()["state"],
            "DELETING"
        );
        service.pass(TAKES);
        let ended = service.poll(&deletion);
        let empty = json!({"@type": "type.googleapis.com/google.protobuf.Empty"});
        assert_eq!((&ended["done"], &ended["response"]), (&json!(true), &empty));
        assert_eq!(service.ask(CACHE, Action::Get), Err("NOT_FOUND"));
        assert_eq!(service.ask(CACHE, delete(None)), Err("NOT_FOUND"));
    }
}

#[test]
fn a_new_instance_is_not_found_for_a_while() {
    let mut service = Service::new(Memorystore::Valkey);
    service.create(CACHE, None).unwrap();
    let all = || Action::List(page(10, None));
    service.pass(APPEARS - Duration::from_nanos(1));
    assert_eq!(service.ask(CACHE, Action::Get), Err("NOT_FOUND"));
    assert_eq!(service.names(PARENT, all()).0, [""; 0]);
    assert!(service.instances.instance(CACHE, service.now).is_some());
    // The instance exists nevertheless.
    assert_eq!(service.create(CACHE, None).unwrap_err(), "ALREADY_EXISTS");
    service.pass(Duration::from_nanos(1));
    assert!(service.ask(CACHE, Action::Get).is_ok());
    assert_eq!(service.names(PARENT, all()).0, [CACHE]);
}

#[test]
fn an_instance_that_is_not_ready_is_not_deleted() {
    let mut service = Service::new(Memorystore::Valkey);
    service.create(CACHE, None).unwrap();
    assert_eq!(service.ask(CACHE, delete(None)), Err("FAILED_PRECONDITION"));
    service.pass(TAKES);
    assert!(service.ask(CACHE, delete(None)).is_ok());
    assert_eq!(service.ask(CACHE, delete(None)), Err("FAILED_PRECONDITION"));
    assert_eq!(service.create(CACHE, None).unwrap_err(), "ALREADY_EXISTS");
}

#[test]
fn a_request_id_finds_the_operation_that_it_started() {
    let mut service = Service::new(Memorystore::Valkey);
    let (first, _) = service.create(CACHE, Some("a")).unwrap();
    assert_eq!(
        service.create(CACHE, Some("a")),
        Ok((first.clone(), Done::Recognised))
    );
    assert_eq!(
        service.create(CACHE, Some("b")).unwrap_err(),
        "ALREADY_EXISTS"
    );
    assert_eq!(service.create(CACHE, None).unwrap_err(), "ALREADY_EXISTS");
    service.pass(TAKES);
    let (again, done) = service.create(CACHE, Some("a")).unwrap();
    assert_eq!(
        (&again["name"], &again["done"], done),
        (&first["name"], &json!(true), Done::Recognised)
    );

    // An id belongs to one request: neither another instance nor another method can use it.
    let other = format!("{PARENT}/instances/other");
    assert_eq!(
        service.create(&other, Some("a")).unwrap_err(),
        "INVALID_ARGUMENT"
    );
    assert_eq!(
        service.ask(CACHE, delete(Some("a"))),
        Err("INVALID_ARGUMENT")
    );

    let (deletion, _) = service.call(CACHE, delete(Some("c")), None).unwrap();
    let again = service.call(CACHE, delete(Some("c")), None);
    assert_eq!(again, Ok((deletion.clone(), Done::Recognised)));
    service.pass(TAKES);
    let (again, _) = service.call(CACHE, delete(Some("c")), None).unwrap();
    assert_eq!(
        (&again["name"], &again["done"]),
        (&deletion["name"], &json!(true))
    );

    // The id of a refused request may be used again.
    assert!(service.create(CACHE, Some("b")).is_ok());
}

#[test]
fn an_operation_that_fails_leaves_no_effect() {
    let mut service = Service::new(Memorystore::Valkey);
    let (creation, _) = service.call(CACHE, create(None), FULL).unwrap();
    assert_eq!(creation["done"], false);
    service.pass(TAKES);
    let ended = service.poll(&creation);
    assert_eq!(ended["error"], json!({"code": 8, "message": "full"}));
    assert_eq!(
        (&ended["done"], ended.get("response")),
        (&json!(true), None)
    );
    assert_eq!(service.ask(CACHE, Action::Get), Err("NOT_FOUND"));

    let mut service = Service::with_cache(Memorystore::Valkey);
    let (deletion, _) = service.call(CACHE, delete(None), FULL).unwrap();
    service.pass(TAKES);
    assert_eq!(service.poll(&deletion)["error"]["code"], 8);
    assert_eq!(service.ask(CACHE, Action::Get).unwrap()["state"], "ACTIVE");
}

#[test]
fn an_operation_can_be_cancelled_until_it_ends() {
    for (product, field) in [
        (Memorystore::Valkey, "requestedCancellation"),
        (Memorystore::Redis, "cancelRequested"),
    ] {
        let mut service = Service::new(product);
        let (creation, _) = service.create(CACHE, None).unwrap();
        assert_eq!(creation["metadata"][field], false);
        let name = creation["name"].as_str().unwrap();
        assert_eq!(service.ask(name, Action::CancelOperation), Ok(json!({})));
        let ended = service.poll(&creation);
        assert_eq!(
            (&ended["done"], &ended["error"]["code"]),
            (&json!(true), &json!(1))
        );
        assert_eq!(ended["metadata"][field], true);
        service.pass(TAKES);
        assert_eq!(service.poll(&creation), ended);
        assert_eq!(service.ask(CACHE, Action::Get), Err("NOT_FOUND"));

        let mut service = Service::with_cache(product);
        let (list, _) = service.names(PARENT, Action::ListOperations(page(10, None)));
        assert_eq!(
            service.ask(&list[0], Action::CancelOperation),
            Ok(json!({}))
        );
        let ended = service.ask(&list[0], Action::GetOperation).unwrap();
        assert_eq!(
            (ended.get("error"), &ended["metadata"][field]),
            (None, &json!(false))
        );
        let deletion = service.ask(CACHE, delete(None)).unwrap();
        let name = deletion["name"].as_str().unwrap();
        service.ask(name, Action::CancelOperation).unwrap();
        assert!(service.ask(CACHE, Action::Get).is_ok());
        service.pass(TAKES);
        assert!(service.ask(CACHE, Action::Get).is_ok());
    }
}

#[test]
fn an_operation_that_is_deleted_goes_on_unseen() {
    let mut service = Service::new(Memorystore::Valkey);
    let (creation, _) = service.create(CACHE, None).unwrap();
    let name = creation["name"].as_str().unwrap();
    assert_eq!(service.ask(name, Action::DeleteOperation), Ok(json!({})));
    for action in [
        Action::GetOperation,
        Action::CancelOperation,
        Action::DeleteOperation,
    ] {
        assert_eq!(service.ask(name, action), Err("NOT_FOUND"));
    }
    let all = Action::ListOperations(page(10, None));
    assert_eq!(service.names(PARENT, all).0, [""; 0]);
    service.pass(TAKES);
    assert_eq!(service.ask(CACHE, Action::Get).unwrap()["state"], "ACTIVE");
}

#[test]
fn lists_come_in_pages_and_by_location() {
    let mut service = Service::new(Memorystore::Valkey);
    let names: Vec<_> = (0..7)
        .map(|at| format!("{PARENT}/instances/cache-{at}"))
        .collect();
    let elsewhere = "projects/p/locations/m/instances/cache-0";
    let other_project = "projects/pp/locations/l/instances/cache-0";
    let all_names = names.iter().map(String::as_str);
    for name in all_names.chain([elsewhere, other_project]) {
        service.create(name, None).unwrap();
    }
    service.pass(TAKES);
    for size in 1..=8 {
        let (mut found, mut pages, mut token) = (Vec::new(), 0, None::<String>);
        loop {
            let list = Action::List(page(size, token.as_deref()));
            let (part, next) = service.names(PARENT, list);
            assert!(!part.is_empty() && part.len() <= size && pages < 7);
            (pages, token) = (pages + 1, next);
            found.extend(part);
            if token.is_none() {
                break;
            }
        }
        assert_eq!((&found, pages), (&names, 7usize.div_ceil(size)));
    }
    let all = Action::List(page(10, None));
    let (found, _) = service.names("projects/p/locations/-", all);
    assert_eq!((found.len(), found[7].as_str()), (8, elsewhere));
    let operations = Action::ListOperations(page(5, None));
    let (first, token) = service.names(PARENT, operations);
    let operations = Action::ListOperations(page(5, token.as_deref()));
    let (rest, end) = service.names(PARENT, operations);
    assert_eq!((first.len(), rest.len(), end), (5, 2, None));

    // A page begins after its token, also if the instance of the token was deleted.
    let (_, token) = service.names(PARENT, Action::List(page(3, None)));
    service.ask(&names[2], delete(None)).unwrap();
    service.pass(TAKES);
    let list = Action::List(page(3, token.as_deref()));
    assert_eq!(service.names(PARENT, list).0, names[3..6]);
}

#[test]
fn an_operation_may_take_no_time_or_for_ever() {
    let mut at_once = Service::new(Memorystore::Valkey);
    at_once.instances = Instances::new(Memorystore::Valkey, Duration::ZERO, Duration::ZERO);
    let (operation, _) = at_once.create(CACHE, None).unwrap();
    assert_eq!(operation["response"]["state"], "ACTIVE");

    let mut never = Service::new(Memorystore::Valkey);
    never.instances = Instances::new(Memorystore::Valkey, Duration::MAX, Duration::MAX);
    let (operation, _) = never.create(CACHE, None).unwrap();
    never.pass(Duration::from_secs(1_000_000_000));
    assert_eq!(never.poll(&operation)["done"], false);
    assert_eq!(never.ask(CACHE, Action::Get), Err("NOT_FOUND"));
}
