//! A server that fails on command, on tokio's paused clock. `story.rs` has the form of most tests: what
//! the server does, who changes the resource when, and what each caller is told.

use super::*;
use crate::{
    delay::jitter::Jitter, facts::fault::FaultKind, policy::Policy, report::Updated,
    test_error::TestError,
};
use core::{
    any::Any,
    panic::AssertUnwindSafe,
    pin::pin,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    task::{Context, Poll, Waker},
    time::Duration,
};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Mutex,
};

/// A resource: the members in the order in which they were added, and the version that a write must
/// name.
#[derive(Clone, Debug, Default, PartialEq)]
struct Members {
    names: Vec<u32>,
    version: u64,
}

impl Members {
    /// Adds a member. Returns whether the member is new.
    fn add(&mut self, name: u32) -> bool {
        let is_new = !self.names.contains(&name);
        if is_new {
            self.names.push(name);
        }
        is_new
    }
}

/// The fate of a call. A call without a fate succeeds.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Fine,
    Fail(TestError),
    /// The call is done, and its reply is lost or replaced.
    DoneBut(TestError),
    Hang,
    /// The call is done, and no reply ever comes.
    DoneAndHang,
    Panic,
}

/// The resources, and a record of the calls.
#[derive(Default)]
struct Server {
    resources: Mutex<BTreeMap<u32, Members>>,
    reads: AtomicU32,
    /// The names in each write.
    writes: Mutex<Vec<Vec<u32>>>,
    /// The running reads and writes of each resource.
    steps: Mutex<BTreeMap<u32, u32>>,
    /// The values that were read last.
    seen: Mutex<BTreeMap<u32, Members>>,
    /// A panic in a step would only interrupt its callers.
    violations: Mutex<Vec<String>>,
    on_read: Mutex<VecDeque<Fate>>,
    on_write: Mutex<VecDeque<Fate>>,
    /// The fate of calls that have no fate in the list. The argument says whether the call is a write.
    by_chance: Option<Box<dyn Fn(bool) -> Fate + Send + Sync>>,
    /// Members that make a write be refused with this status.
    refused: (Vec<u32>, u16),
    /// Milliseconds of the first read, of a later read, of a write.
    hops: [u64; 3],
}

struct Step<'s>(&'s Server, u32);

impl Drop for Step<'_> {
    fn drop(&mut self) {
        *self.0.steps.lock().unwrap().get_mut(&self.1).unwrap() -= 1;
    }
}

impl Server {
    /// Each call takes so many milliseconds.
    fn new(hop: u64) -> Self {
        Server {
            hops: [hop; 3],
            ..Server::default()
        }
    }

    /// The fates of its first reads and writes. Each call takes 5 ms.
    fn failing<const R: usize, const W: usize>(on_read: [Fate; R], on_write: [Fate; W]) -> Self {
        Server {
            on_read: Mutex::new(on_read.into()),
            on_write: Mutex::new(on_write.into()),
            ..Server::new(5)
        }
    }

    /// Milliseconds of the first read, of a later read, of a write.
    fn hops(self, hops: [u64; 3]) -> Self {
        Server { hops, ..self }
    }

    fn fate(&self, said: &Mutex<VecDeque<Fate>>, is_write: bool) -> Fate {
        let said = said.lock().unwrap().pop_front();
        said.or_else(|| self.by_chance.as_ref().map(|by_chance| by_chance(is_write)))
            .unwrap_or(Fate::Fine)
    }

    fn get(&self, key: u32) -> Members {
        let resources = self.resources.lock().unwrap();
        resources.get(&key).cloned().unwrap_or_default()
    }

    /// Reads and writes so far.
    fn calls(&self) -> (u32, u32) {
        let writes = self.writes.lock().unwrap().len();
        (self.reads.load(Relaxed), writes as u32)
    }

    fn must(&self, holds: bool, text: impl FnOnce() -> String) {
        if !holds {
            self.violations.lock().unwrap().push(text());
        }
    }

    /// A resource has one step at a time.
    fn step(&self, key: u32) -> Step<'_> {
        let mut steps = self.steps.lock().unwrap();
        let running = steps.entry(key).or_default();
        *running += 1;
        self.must(*running == 1, || format!("two steps of {key}"));
        Step(self, key)
    }

    /// Nothing runs any more, and nothing was wrong.
    fn is_clean(&self) {
        let running: u32 = self.steps.lock().unwrap().values().sum();
        assert_eq!(running, 0, "a step is left");
        let violations = self.violations.lock().unwrap();
        assert!(violations.is_empty(), "{violations:?}");
    }

    async fn read(&self, key: u32) -> Result<Members, TestError> {
        let is_first = self.reads.fetch_add(1, Relaxed) == 0;
        let _step = self.step(key);
        let fate = self.fate(&self.on_read, false);
        pass(self.hops[usize::from(!is_first)]).await;
        match fate {
            Fate::Fine => {
                let members = self.get(key);
                self.seen.lock().unwrap().insert(key, members.clone());
                Ok(members)
            }
            Fate::Fail(error) | Fate::DoneBut(error) => Err(error),
            Fate::Hang | Fate::DoneAndHang => core::future::pending().await,
            Fate::Panic => panic!("the read panics"),
        }
    }

    /// The reply is the new version.
    async fn write(&self, key: u32, members: Members) -> Result<u64, TestError> {
        self.writes.lock().unwrap().push(members.names.clone());
        let _step = self.step(key);
        let seen = self.seen.lock().unwrap()[&key].clone();
        let added = members.names.strip_prefix(&*seen.names);
        let is_changed = added.is_some_and(|it| !it.is_empty() && !it.contains(&table::FAILED));
        self.must(is_changed, || format!("{seen:?} is written as {members:?}"));
        let fate = self.fate(&self.on_write, true);
        pass(self.hops[2]).await;
        match fate {
            Fate::Fail(error) => return Err(error),
            Fate::Hang => core::future::pending().await,
            Fate::Panic => panic!("the write panics"),
            Fate::Fine | Fate::DoneBut(_) | Fate::DoneAndHang => {}
        }
        let (refused, status) = &self.refused;
        if members.names.iter().any(|name| refused.contains(name)) {
            return Err(TestError::status(*status));
        }
        let version = members.version + 1;
        {
            let mut resources = self.resources.lock().unwrap();
            let stored = resources.entry(key).or_default();
            if stored.version != members.version {
                return Err(TestError::CONFLICT);
            }
            *stored = Members { version, ..members };
        }
        match fate {
            Fate::DoneBut(error) => Err(error),
            Fate::DoneAndHang => core::future::pending().await,
            _ => Ok(version),
        }
    }
}

type Combined = Combining<u32, Members, u64, TestError>;
type Told = Result<Updated<Members, u64>, CombineError<TestError>>;
type Pending = Changing<u32, Members, u64, TestError>;
type MembersGroup = Group<Members, u64, TestError>;

const SECOND: Duration = Duration::from_secs(1);

/// Retries at once, so that a test can state the exact time.
const AT_ONCE: Policy = Policy::constant(Duration::ZERO).max_attempts(5);
const EACH_SECOND: Policy = Policy::constant(SECOND)
    .jitter(Jitter::None)
    .max_attempts(5);

const UNAVAILABLE: TestError = TestError::status(503);
const OWN: TestError = TestError::kind(FaultKind::Permanent);

fn combine(policy: Policy, server: &Arc<Server>) -> Combined {
    let (reads, writes) = (Arc::clone(server), Arc::clone(server));
    policy.combine(
        move |key| {
            let server = Arc::clone(&reads);
            async move { server.read(key).await }
        },
        move |key, members| {
            let server = Arc::clone(&writes);
            async move { server.write(key, members).await }
        },
    )
}

/// Combines changes by updates of this policy, with further settings.
macro_rules! combine_with {
    ($policy:ident $(.when($judge:expr))?, $server:ident $(, .$setting:ident($argument:expr))*) => {{
        let server = Arc::clone($server);
        Combining::new(move |key, group: MembersGroup| {
            let server = Arc::clone(&server);
            async move {
                $policy$(.when($judge))?
                    .update(
                        || group.read(server.read(key)),
                        |_| group.has_changed(),
                        |members| group.write(server.write(key, members)),
                    )
                    $(.$setting($argument))*
                    .reported()
                    .await
            }
        })
    }};
}

mod attack;
mod crowd;
mod dropped;
mod shutdown;
mod stories;
mod table;

/// A change that recognises its own effect.
fn add(name: u32) -> impl FnMut(&mut Members) -> bool + Send + 'static {
    move |members| members.add(name)
}

/// A change that does not recognise its own effect.
fn append(name: u32) -> impl FnMut(&mut Members) + Send + 'static {
    move |members| members.names.push(name)
}

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Polls a caller that cannot be ready yet.
#[track_caller]
fn polled<F: Future + Unpin>(mut future: F) -> F {
    assert!(poll(&mut future).is_pending());
    future
}

fn panics<T>(run: impl FnOnce() -> T) -> bool {
    std::panic::catch_unwind(AssertUnwindSafe(run)).is_err()
}

/// Whether a panic is part of a test.
fn is_meant(panic: &(dyn Any + Send)) -> bool {
    let text = panic.downcast_ref::<&str>();
    text.is_some_and(|text| text.ends_with("panics"))
}

fn written(told: &Told) -> bool {
    matches!(told, Ok(Updated::Written(_)))
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

async fn pass(millis: u64) {
    if millis > 0 {
        tokio::time::sleep(ms(millis)).await;
    }
}

/// A runtime on a paused clock.
fn paused() -> tokio::runtime::Runtime {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().start_paused(true).build().unwrap()
}
