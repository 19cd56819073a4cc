//! A store with one value, behind a connection that fails on command.

use super::{error::TestError, time::Time};
use backoff_core::{Event, GrpcCode, Policy, RetryError, StopReason, UpdateReport, Updated};
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    fmt::Write as _,
    future::pending,
    time::Duration,
};

/// A write of an old version.
pub(crate) const STALE: TestError = TestError::status(409).and_grpc(GrpcCode::Aborted);

/// What befalls the next read or write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fate {
    Well,
    /// Not applied.
    Fails(TestError),
    /// Applied, but the reply is lost.
    Lost(TestError),
    /// The reply does not come, and the request arrives after the next read.
    Straggles,
    /// Somebody else writes just before.
    Overtaken,
    /// The request never arrives, and no reply comes.
    Hangs,
    /// The request arrives, and no reply comes.
    HangsApplied,
}
use Fate::{Fails, Hangs, HangsApplied, Lost, Overtaken, Straggles, Well};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Value {
    pub(crate) version: u32,
    /// How often the change of the tested caller was applied.
    pub(crate) mine: u32,
    /// How often somebody else wrote.
    pub(crate) others: u32,
}

#[derive(Default)]
pub(crate) struct Store {
    pub(crate) value: Cell<Value>,
    reads: RefCell<VecDeque<Fate>>,
    pub(crate) writes: RefCell<VecDeque<Fate>>,
    /// A request that is still on its way.
    straggler: Cell<Option<Value>>,
    /// `r` and `w` for each read and write.
    pub(crate) calls: RefCell<String>,
}

impl Store {
    pub(crate) fn with(reads: &[Fate], writes: &[Fate]) -> Self {
        Store {
            reads: RefCell::new(reads.to_vec().into()),
            writes: RefCell::new(writes.to_vec().into()),
            ..Store::default()
        }
    }

    pub(crate) async fn get(&self) -> Result<Value, TestError> {
        self.calls.borrow_mut().push('r');
        let fate = self.reads.borrow_mut().pop_front();
        match fate.unwrap_or(Well) {
            Fails(error) | Lost(error) => return Err(error),
            Hangs | HangsApplied => return pending().await,
            Well | Overtaken | Straggles => {}
        }
        let value = self.value.get();
        self.arrives();
        Ok(value)
    }

    pub(crate) async fn set(&self, value: Value) -> Result<u32, TestError> {
        self.calls.borrow_mut().push('w');
        let fate = self.writes.borrow_mut().pop_front().unwrap_or(Well);
        match fate {
            Fails(error) => return Err(error),
            Hangs => return pending().await,
            Straggles => {
                self.straggler.set(Some(value));
                return Err(TestError::LOST);
            }
            Overtaken => {
                let others = self.value.get();
                self.value.set(Value {
                    version: others.version + 1,
                    others: others.others + 1,
                    ..others
                });
            }
            Well | Lost(_) | HangsApplied => {}
        }
        let written = self.apply(value);
        match fate {
            Lost(error) => Err(error),
            HangsApplied => pending().await,
            _ => written,
        }
    }

    /// The server gets a request.
    fn apply(&self, value: Value) -> Result<u32, TestError> {
        if value.version != self.value.get().version {
            return Err(STALE);
        }
        let version = value.version + 1;
        self.value.set(Value { version, ..value });
        Ok(version)
    }

    /// A request that is still on its way arrives.
    pub(crate) fn arrives(&self) {
        if let Some(straggler) = self.straggler.take() {
            let _ = self.apply(straggler);
        }
    }
}

/// What a change tells of its effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Change {
    /// It recognises its own effect in a value, and then changes nothing.
    Recognised,
    /// It cannot tell.
    Blind,
    /// It cannot tell, but the values have versions.
    Versioned,
}

/// Changes the value unless it was changed before.
pub(crate) fn add(value: &mut Value) -> bool {
    let is_new = value.mine == 0;
    value.mine = 1;
    is_new
}

/// Changes the value whenever it is called.
pub(crate) fn increase(value: &mut Value) {
    value.mine += 1;
}

pub(crate) type Ended =
    Result<(Updated<Value, u32>, UpdateReport), RetryError<TestError, UpdateReport>>;

/// Runs an update of the store, each of whose attempts is cut after a second, and checks its report.
#[allow(
    clippy::result_large_err,
    reason = "the error keeps all that a test can say"
)]
pub(crate) fn update(store: &Store, policy: &Policy, change: Change, is_blocking: bool) -> Ended {
    let (time, events) = (Time::default(), Cell::new(0));
    let before = store.calls.borrow().len();
    let hook = |_: &Event<'_, TestError>| events.set(events.get() + 1);
    macro_rules! run {
        ($change:expr $(, $version:ident)?) => {
            if is_blocking {
                let (read, write) = (|| now(store.get()), |value| now(store.set(value)));
                let update = policy.blocking_update(read, $change, write);
                $(let update = update.version(|value| value.$version);)?
                update.runtime(time.clone()).notify(hook).reported().call()
            } else {
                let (read, write) = (|| store.get(), |value| store.set(value));
                let update = policy.update(read, $change, write);
                $(let update = update.version(|value| value.$version);)?
                let update = update.attempt_timeout(Duration::from_secs(1));
                time.run(update.runtime(time.clone()).notify(hook).reported())
            }
        };
    }
    let ended = match change {
        Change::Recognised => run!(add),
        Change::Blind => run!(increase),
        Change::Versioned => run!(increase, version),
    };
    let (report, is_silent) = match &ended {
        Ok((_, report)) => (report, report.attempts == 1),
        Err(gave_up) => (&gave_up.report, false),
    };
    // One event after each attempt.
    let told = if is_silent { 0 } else { report.attempts };
    assert_eq!(events.get(), told, "{report}");
    let count = |call| store.calls.borrow()[before..].matches(call).count() as u32;
    let counts = [report.attempts, report.reads, report.writes];
    assert_eq!(counts, [count('r'), count('r'), count('w')], "{report}");
    assert_eq!(report.elapsed, time.elapsed(), "{report}");
    ended
}

/// Runs an update of a store of these fates, and tells what came of it: the reads and writes, how it ended,
/// and how often the change was applied: `rwr, 1 conflict; unchanged; applied 1`.
fn story(
    policy: &Policy,
    change: Change,
    [reads, writes]: [&[Fate]; 2],
    is_blocking: bool,
) -> String {
    let store = Store::with(reads, writes);
    let ended = update(&store, policy, change, is_blocking);
    let mut story = store.calls.take();
    let report = match &ended {
        Ok((_, report)) => report,
        Err(gave_up) => &gave_up.report,
    };
    let conflicts = report.conflicts;
    if conflicts > 0 {
        let s = if conflicts == 1 { "" } else { "s" };
        write!(story, ", {conflicts} conflict{s}").unwrap();
    }
    let Value { mine, others, .. } = store.value.get();
    let overtaken = writes.iter().filter(|fate| **fate == Overtaken).count() as u32;
    assert!(others <= overtaken, "nobody's write is lost");
    let end = match ended {
        Ok((updated, _)) if updated.is_written() => "written".to_owned(),
        Ok(_) => "unchanged".to_owned(),
        Err(gave_up) => format!("{}: {}", gave_up.reason.name(), gave_up.error),
    };
    write!(story, "; {end}; applied {mine}").unwrap();
    story
}

/// What befalls reads or writes, in words: `503, gone x3`.
pub(crate) fn fates(words: &str) -> Vec<Fate> {
    let mut fates = Vec::new();
    for word in words.split(", ").filter(|word| !word.is_empty()) {
        let (word, times) = word.split_once(" x").unwrap_or((word, "1"));
        let fate = match word {
            "well" => Well,
            "gone" => Fails(TestError::LOST),
            "lost" => Lost(TestError::LOST),
            "lost 503" => Lost(TestError::status(503)),
            "refused" => Fails(TestError::REFUSED),
            "overtaken" => Overtaken,
            "straggles" => Straggles,
            "hangs" => Hangs,
            "hangs applied" => HangsApplied,
            status => Fails(TestError::status(status.parse().unwrap())),
        };
        fates.extend(vec![fate; times.parse().unwrap()]);
    }
    fates
}

/// Checks a table of what befalls reads and writes, and of what comes of it, in async and in blocking updates.
#[track_caller]
pub(crate) fn check(policy: &Policy, change: Change, table: &str) {
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let columns: Vec<_> = line.split('|').map(str::trim).collect();
        let [reads, writes, expected] = columns[..] else {
            panic!("three columns: {line}");
        };
        let fates = [fates(reads), fates(writes)];
        let [reads, writes] = fates.each_ref().map(Vec::as_slice);
        for is_blocking in [false, true] {
            // Nobody can cut a thread that hangs.
            if !is_blocking || !line.contains("hangs") {
                let story = story(policy, change, [reads, writes], is_blocking);
                assert_eq!(
                    story, expected,
                    "{line}, {change:?}, blocking: {is_blocking}"
                );
            }
        }
    }
}

/// The error and the reason of an update that was given up.
pub(crate) fn gave_up<T: std::fmt::Debug>(
    ended: Result<T, RetryError<TestError, UpdateReport>>,
) -> (TestError, StopReason) {
    let gave_up = ended.unwrap_err();
    (gave_up.error, gave_up.reason)
}

/// The store's futures are ready at once, if they do not hang.
pub(crate) fn now<F: Future>(future: F) -> F::Output {
    Time::default().run(future)
}
