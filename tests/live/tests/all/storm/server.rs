//! A server that fails in every way, before and after it applies a request.

use crate::server::{Act, CLOSE, End, RESET, Server, kept};
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Arc, Mutex},
    time::Duration,
};

/// The value that one operation changes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Resource {
    pub(crate) version: u32,
    pub(crate) calls: u32,
    pub(crate) applied: u32,
}

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

/// How long a request stalls before it is applied: longer than a client waits.
const STALL: Duration = Duration::from_millis(120);

/// What the operations change, by their numbers.
#[derive(Clone, Default)]
pub(crate) struct Resources(Arc<Mutex<HashMap<u32, Resource>>>);

impl Resources {
    /// The server of `POST /7`, of `PUT /7/3`, where 3 is the version that was read, and of `GET /7`.
    pub(crate) fn serve(&self) -> Server {
        let resources = self.clone();
        Server::new(move |seen| {
            let (method, path) = seen.line.split_once(" /").expect("a request line");
            let mut numbers = path.split('/').map(|part| part.parse().expect("a number"));
            let number: u32 = numbers.next().expect("the number of an operation");
            let (version, writes) = (numbers.next(), method != "GET");
            let resources = resources.clone();
            async move {
                let (fate, is_applied) = resources.fate(number);
                if fate == Fate::Stalls {
                    tokio::time::sleep(STALL).await;
                }
                let good = match writes {
                    true => resources.write(number, version, is_applied),
                    false => resources.read(number),
                };
                match fate {
                    Fate::Well | Fate::Stalls => good,
                    Fate::Says(status, headers, body) => kept(status, headers, body),
                    Fate::Closed => CLOSE,
                    Fate::Reset => RESET,
                    Fate::Cut => good.without(3).then(End::Close),
                }
            }
        })
    }

    /// What came of the operation with this number.
    pub(crate) fn get(&self, number: u32) -> Resource {
        self.with(number, |resource| *resource)
    }

    fn with<T>(&self, number: u32, change: impl FnOnce(&mut Resource) -> T) -> T {
        let mut resources = self.0.lock().expect("no test panics in it");
        change(resources.entry(number).or_default())
    }

    /// What becomes of the next request of this operation: the same in every run.
    fn fate(&self, number: u32) -> (Fate, bool) {
        self.with(number, |resource| {
            resource.calls += 1;
            drawn(number, resource.calls)
        })
    }

    fn read(&self, number: u32) -> Act {
        let read = self.get(number);
        kept(200, "", format!("[{}, {}]", read.version, read.applied))
    }

    /// Makes the change if it is to be applied and the version is what was read; the reply of a server that
    /// works.
    fn write(&self, number: u32, version: Option<u32>, is_applied: bool) -> Act {
        self.with(number, |resource| {
            if version.is_some_and(|version| version != resource.version) {
                return kept(409, "", ABORTED);
            }
            resource.applied += u32::from(is_applied);
            resource.version += u32::from(is_applied);
            kept(200, "", "{}")
        })
    }
}

fn drawn(number: u32, call: u32) -> (Fate, bool) {
    let mut hasher = DefaultHasher::new();
    (number, call).hash(&mut hasher);
    let mut drawn = hasher.finish() % 100;
    for (fate, is_applied, weight) in FATES {
        match drawn.checked_sub(weight) {
            Some(left) => drawn = left,
            None => return (fate, is_applied),
        }
    }
    unreachable!("the weights sum up to a hundred")
}
