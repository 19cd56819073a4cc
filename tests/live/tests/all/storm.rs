//! A storm of failures: every failure of a connection and of a server, before and after the request is
//! applied, with every preset. No change is applied twice that must not be.

use crate::server::{Act, CLOSE, End, RESET, Server, client, kept};
use backoff_cloud::{
    http::{self, ApiError},
    presets,
};
use backoff_core::{Policy, RetryError, StopReason};
use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::HashMap,
    fmt::Display,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::task::JoinSet;

/// How many operations of each way under each preset.
const OPERATIONS: usize = 16;

/// How long a call waits for an attempt. A request stalls for longer before it is applied.
const LIMIT: Duration = Duration::from_millis(50);
const STALL: Duration = Duration::from_millis(120);

/// How the server treats a request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Well,
    /// This status, with these lines of headers and this body.
    Says(u16, &'static str, &'static str),
    /// The connection is reset.
    Reset,
    /// The connection ends without a reply.
    Closed,
    /// Half of a good reply arrives.
    Cut,
    /// No reply arrives, for longer than the client waits.
    Stalls,
}

const ABORTED: &str = r#"{"error":{"code":409,"status":"ABORTED","message":"somebody else"}}"#;
const EXHAUSTED: &str = r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}"#;

/// Each fate, whether the request is applied all the same, and how often of a hundred.
const FATES: [(Fate, bool, u64); 14] = [
    (Fate::Well, true, 45),
    (Fate::Says(503, "", ""), false, 6),
    (Fate::Says(503, "", ""), true, 4),
    (Fate::Says(500, "", ""), false, 4),
    (Fate::Says(503, "retry-after-ms: 2\r\n", ""), false, 4),
    (Fate::Says(429, "", EXHAUSTED), false, 6),
    (Fate::Says(409, "", ABORTED), false, 5),
    (Fate::Reset, false, 4),
    (Fate::Reset, true, 4),
    (Fate::Closed, false, 4),
    (Fate::Closed, true, 4),
    (Fate::Cut, true, 5),
    (Fate::Stalls, false, 3),
    // It arrives when the client no longer waits.
    (Fate::Stalls, true, 2),
];

/// What becomes of this request of an operation: the same in every run.
fn drawn(number: u32, request: u32) -> (Fate, bool) {
    let mut hasher = DefaultHasher::new();
    (number, request).hash(&mut hasher);
    let mut drawn = hasher.finish() % 100;
    for (fate, is_applied, weight) in FATES {
        match drawn.checked_sub(weight) {
            Some(left) => drawn = left,
            None => return (fate, is_applied),
        }
    }
    unreachable!("the weights sum up to a hundred")
}

/// The value that one operation changes, and how many requests there were.
#[derive(Clone, Copy, Debug, Default)]
struct Resource {
    version: u32,
    requests: u32,
    applied: u32,
}

type Resources = Arc<Mutex<HashMap<u32, Resource>>>;

/// The server of `POST /7`, of `PUT /7/3`, where 3 is the version that was read, and of `GET /7`.
fn serve(resources: &Resources) -> Server {
    let resources = resources.clone();
    Server::new(move |seen| {
        let (method, path) = seen.line.split_once(" /").expect("a request line");
        let mut numbers = path.split('/').map(|part| part.parse().expect("a number"));
        let number: u32 = numbers.next().expect("the number of an operation");
        let (version, writes) = (numbers.next(), method != "GET");
        let resources = resources.clone();
        let with = move |change: &mut dyn FnMut(&mut Resource) -> Act| {
            let mut resources = resources.lock().expect("no test panics in it");
            change(resources.entry(number).or_default())
        };
        async move {
            let mut request = 0;
            with(&mut |it| {
                it.requests += 1;
                request = it.requests;
                CLOSE
            });
            let (fate, is_applied) = drawn(number, request);
            if fate == Fate::Stalls {
                tokio::time::sleep(STALL).await;
            }
            let good = with(&mut |it| match writes {
                false => kept(200, "", format!("[{}, {}]", it.version, it.applied)),
                true if version.is_some_and(|version| version != it.version) => {
                    kept(409, "", ABORTED)
                }
                true => {
                    it.applied += u32::from(is_applied);
                    it.version += u32::from(is_applied);
                    kept(200, "", "{}")
                }
            });
            match fate {
                // A client that is slow to cut its attempt must not see a success that was not applied.
                Fate::Stalls if !is_applied => CLOSE,
                Fate::Well | Fate::Stalls => good,
                Fate::Says(status, headers, body) => kept(status, headers, body),
                Fate::Closed => CLOSE,
                Fate::Reset => RESET,
                Fate::Cut => good.without(3).then(End::Close),
            }
        }
    })
}

#[derive(Clone)]
struct Client {
    client: reqwest::Client,
    address: SocketAddr,
}

/// The version and the number of members.
#[derive(Clone, Copy, Deserialize)]
struct Read(u32, u32);

impl Client {
    fn url(&self, path: impl Display) -> String {
        format!("http://{}/{path}", self.address)
    }

    /// Applies the change once more, whatever is there.
    async fn post(&self, number: u32) -> Result<Value, ApiError> {
        http::json(self.client.post(self.url(number)).send().await?).await
    }

    async fn read(&self, number: u32) -> Result<Read, ApiError> {
        http::json(self.client.get(self.url(number)).send().await?).await
    }

    /// Applies the change if the version is still what was read.
    async fn write(&self, number: u32, read: Read) -> Result<Value, ApiError> {
        let url = self.url(format!("{number}/{}", read.0));
        http::json(self.client.put(url).send().await?).await
    }
}

/// A way to make one change. That all forms of a call decide alike is what `backoff-core/tests/all` shows.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Post,
    /// An update that cannot see whether its change is there.
    Update,
    UpdateThatRecognises,
    UpdateWithVersions,
}

const WAYS: [Way; 4] = [
    Way::Post,
    Way::Update,
    Way::UpdateThatRecognises,
    Way::UpdateWithVersions,
];

/// Why a call was given up, if it was.
type Ended = Option<StopReason>;

fn reason<T, R>(outcome: Result<T, RetryError<ApiError, R>>) -> Ended {
    outcome.err().map(|gave_up| gave_up.reason)
}

impl Way {
    /// Makes the change.
    async fn call(self, client: &Client, policy: Policy, number: u32) -> Ended {
        let get = || client.read(number);
        let put = |read| client.write(number, read);
        let always = |read: &mut Read| read.1 += 1;
        match self {
            Way::Post => {
                let call = policy.retry(|| client.post(number)).attempt_timeout(LIMIT);
                reason(call.reported().await)
            }
            Way::Update => {
                let update = policy.update(get, always, put).attempt_timeout(LIMIT);
                reason(update.reported().await)
            }
            Way::UpdateThatRecognises => {
                let update = policy.update(get, add, put).attempt_timeout(LIMIT);
                reason(update.reported().await)
            }
            Way::UpdateWithVersions => {
                let update = policy.update(get, always, put).version(|read| read.0);
                reason(update.attempt_timeout(LIMIT).reported().await)
            }
        }
    }
}

/// Adds the member, unless it is there.
fn add(read: &mut Read) -> bool {
    let is_missing = read.1 == 0;
    read.1 = 1;
    is_missing
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_that_must_not_be_made_twice_is() {
    let resources = Resources::default();
    let server = serve(&resources);
    let client = Client {
        client: client(),
        address: server.address,
    };
    let (mut number, mut running, mut ended) = (0, JoinSet::new(), Vec::new());
    for &(preset, policy) in presets::ALL {
        for is_idempotent in [true, false] {
            let policy = policy.scaled(1e-3).idempotent(is_idempotent);
            for way in WAYS.into_iter().cycle().take(WAYS.len() * OPERATIONS) {
                // The sockets of a machine are not without number.
                if running.len() >= 64 {
                    ended.extend(running.join_next().await);
                }
                number += 1;
                let client = client.clone();
                running.spawn(async move {
                    let ended = way.call(&client, policy, number).await;
                    let row = format!("{preset}, {way:?}, idempotent: {is_idempotent}: {ended:?}");
                    (row, is_idempotent, way, ended, number)
                });
            }
        }
    }
    ended.extend(running.join_all().await.into_iter().map(Ok));
    drop(client);
    server.is_done().await;
    let mut twice = 0;
    for done in ended {
        let (row, is_idempotent, way, ended, number) = done.expect("it does not panic");
        let resource = resources.lock().expect("no panic");
        let resource = resource.get(&number).copied().unwrap_or_default();
        let row = format!("{row}, {resource:?}");
        // A success is applied.
        assert!(ended.is_some() || resource.applied > 0, "{row}");
        if way != Way::Post || !is_idempotent {
            assert!(resource.applied <= 1, "{row}");
        }
        // What failed and was applied says so, unless the error is one that the policy does not repeat.
        if let (false, Some(reason), 1..) = (is_idempotent, ended, resource.applied) {
            use StopReason::{MaybeApplied, NothingKnown, Permanent};
            let is_told = matches!(reason, MaybeApplied | Permanent | NothingKnown);
            assert!(is_told, "{row}");
        }
        twice += u32::from(resource.applied > 1);
    }
    // The storm is strong enough: what may be applied twice sometimes is.
    assert_ne!(twice, 0);
}
