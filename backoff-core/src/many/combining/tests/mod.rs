//! A server that fails on command, on tokio's paused clock.

mod bad;
mod crowd;
mod doubt;
mod dropped;
mod groups;
mod hostile;
mod limits;
#[cfg(feature = "tracing")]
mod logged;
mod random;
mod stopped;

use super::*;
use crate::{
    facts::fault::{Delivery, FaultKind},
    report::{StopReason, Updated},
};
use core::{
    pin::pin,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    task::{Context, Poll, Waker},
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

/// How a call fails.
#[derive(Clone, Debug, PartialEq)]
enum Failure {
    Stale,
    Status(u16),
    /// 429 with a `Retry-After` of this many seconds.
    Later(u64),
    Reset,
    Own,
    TimedOut(TimedOut),
}

impl From<TimedOut> for Failure {
    fn from(error: TimedOut) -> Self {
        Failure::TimedOut(error)
    }
}

impl From<Conflict> for Failure {
    fn from(_: Conflict) -> Self {
        Failure::Stale
    }
}

impl core::fmt::Display for Failure {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl core::error::Error for Failure {}

impl Fault for Failure {
    fn status(&self) -> Option<u16> {
        match self {
            Failure::Status(status) => Some(*status),
            Failure::Later(_) => Some(429),
            _ => None,
        }
    }
    fn retry_after(&self) -> Option<Duration> {
        match self {
            Failure::Later(seconds) => Some(Duration::from_secs(*seconds)),
            _ => None,
        }
    }
    fn kind(&self) -> Option<FaultKind> {
        match self {
            Failure::Stale => Some(FaultKind::Conflict),
            Failure::Own => Some(FaultKind::Permanent),
            _ => None,
        }
    }
    fn delivery(&self) -> Option<Delivery> {
        matches!(self, Failure::Reset | Failure::TimedOut(_)).then_some(Delivery::MaybeSent)
    }
}

/// The fate of a call. A call without a fate succeeds.
#[derive(Clone, Debug)]
enum Fate {
    Fine,
    Fail(Failure),
    /// The call is done, and its reply is lost or replaced.
    DoneBut(Failure),
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
    writes: AtomicU32,
    /// The running reads and writes.
    steps: AtomicU32,
    on_read: Mutex<VecDeque<Fate>>,
    on_write: Mutex<VecDeque<Fate>>,
    /// The fate of calls that have no fate in the list. The argument says whether the call is a write.
    by_chance: Option<Box<dyn Fn(bool) -> Fate + Send + Sync>>,
    /// Members that make a write be refused with this status.
    refused: Mutex<(Vec<u32>, u16)>,
    hop: Duration,
}

struct Step<'s>(&'s AtomicU32);

impl Drop for Step<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Server {
    fn new(hop: u64) -> Arc<Self> {
        Arc::new(Server {
            hop: Duration::from_millis(hop),
            ..Server::default()
        })
    }

    fn fate(&self, said: &Mutex<VecDeque<Fate>>, is_write: bool) -> Fate {
        let said = said.lock().unwrap().pop_front();
        said.or_else(|| self.by_chance.as_ref().map(|by_chance| by_chance(is_write)))
            .unwrap_or(Fate::Fine)
    }

    fn on_read(&self, fates: impl IntoIterator<Item = Fate>) {
        self.on_read.lock().unwrap().extend(fates);
    }

    fn on_write(&self, fates: impl IntoIterator<Item = Fate>) {
        self.on_write.lock().unwrap().extend(fates);
    }

    fn refuse(&self, names: impl IntoIterator<Item = u32>, status: u16) {
        *self.refused.lock().unwrap() = (names.into_iter().collect(), status);
    }

    fn get(&self, key: u32) -> Members {
        let resources = self.resources.lock().unwrap();
        resources.get(&key).cloned().unwrap_or_default()
    }

    fn set(&self, key: u32, names: &[u32]) {
        let mut resources = self.resources.lock().unwrap();
        let members = resources.entry(key).or_default();
        members.names = names.to_vec();
        members.version += 1;
    }

    /// Reads and writes so far.
    fn calls(&self) -> (u32, u32) {
        (self.reads.load(Relaxed), self.writes.load(Relaxed))
    }

    fn step(&self) -> Step<'_> {
        self.steps.fetch_add(1, Relaxed);
        Step(&self.steps)
    }

    /// The time that the request, or the reply, takes.
    async fn travel(&self) {
        if !self.hop.is_zero() {
            tokio::time::sleep(self.hop).await;
        }
    }

    async fn read(&self, key: u32) -> Result<Members, Failure> {
        self.reads.fetch_add(1, Relaxed);
        let _step = self.step();
        let fate = self.fate(&self.on_read, false);
        self.travel().await;
        match fate {
            Fate::Fine => Ok(self.get(key)),
            Fate::Fail(failure) | Fate::DoneBut(failure) => Err(failure),
            Fate::Hang | Fate::DoneAndHang => core::future::pending().await,
            Fate::Panic => panic!("the read panics"),
        }
    }

    async fn write(&self, key: u32, members: Members) -> Result<u64, Failure> {
        self.writes.fetch_add(1, Relaxed);
        let _step = self.step();
        let fate = self.fate(&self.on_write, true);
        self.travel().await;
        match fate {
            Fate::Fail(failure) => return Err(failure),
            Fate::Hang => core::future::pending().await,
            Fate::Panic => panic!("the write panics"),
            Fate::Fine | Fate::DoneBut(_) | Fate::DoneAndHang => {}
        }
        {
            let refused = self.refused.lock().unwrap();
            if members.names.iter().any(|name| refused.0.contains(name)) {
                return Err(Failure::Status(refused.1));
            }
        }
        let version = members.version + 1;
        {
            let mut resources = self.resources.lock().unwrap();
            let stored = resources.entry(key).or_default();
            if stored.version != members.version {
                return Err(Failure::Stale);
            }
            *stored = Members { version, ..members };
        }
        match fate {
            Fate::DoneBut(failure) => Err(failure),
            Fate::DoneAndHang => core::future::pending().await,
            _ => Ok(version),
        }
    }
}

type Combined = Combining<u32, Members, u64, Failure>;
type Told = Result<Updated<Members, u64>, CombineError<Failure>>;

/// Retries at once, so that a test can state the exact time.
const AT_ONCE: Policy = Policy::constant(Duration::ZERO).max_attempts(5);

fn combine(policy: Policy, server: &Arc<Server>) -> Combined {
    let (reader, writer) = (Arc::clone(server), Arc::clone(server));
    policy.combine(
        move |key| {
            let server = Arc::clone(&reader);
            async move { server.read(key).await }
        },
        move |key, members| {
            let server = Arc::clone(&writer);
            async move { server.write(key, members).await }
        },
    )
}

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

/// Whether the change shares this error with its group, and may have been applied.
#[track_caller]
fn shared(told: &Told) -> (Failure, StopReason, bool) {
    match told {
        Err(CombineError::Shared {
            error,
            reason,
            may_be_applied,
        }) => (Failure::clone(error), *reason, *may_be_applied),
        other => panic!("no shared error: {other:?}"),
    }
}

fn written(told: &Told) -> bool {
    matches!(told, Ok(Updated::Written(_)))
}

fn unchanged(told: &Told) -> bool {
    matches!(told, Ok(Updated::Unchanged(_)))
}

async fn pass(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}
