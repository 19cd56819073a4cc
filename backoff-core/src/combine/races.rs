//! Two callers of one resource on two threads, in every order that loom finds.

use super::*;
use crate::sync::Mutex;
use crate::{
    report::Updated,
    runtime::{Clock, Random, Sleep},
    test_error::TestError,
};
use core::{
    future::{Ready, poll_fn, ready},
    pin::pin,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    task::{Context, Poll, Waker},
};
use loom::{future::block_on, thread};
use std::collections::BTreeSet;

/// The clock stands still, and a wait is over at once.
struct Still;

impl Clock for Still {
    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

impl Sleep for Still {
    type Sleep = Ready<()>;
    fn sleep(&self, _wait: Duration) -> Ready<()> {
        ready(())
    }
}

impl Random for Still {
    fn random(&self) -> u64 {
        0
    }
}

/// The members in the order in which they were added, and the version that a write must name.
#[derive(Clone, Debug, Default)]
struct Names {
    names: Vec<u32>,
    version: usize,
}

/// The resource, and the reply that its reads wait for.
#[derive(Default)]
struct Server {
    stored: std::sync::Mutex<Names>,
    is_busy: AtomicBool,
    /// The number of steps that were dropped before they ended, and the part of them before the last write
    /// ended.
    dropped: AtomicUsize,
    dropped_before_write: AtomicUsize,
    has_replied: Mutex<bool>,
    asks: Mutex<Option<Waker>>,
}

type Combined = Combining<u8, Names, (), TestError, Still>;
type Update = Updating<u8, Names, (), TestError, Still>;

impl Server {
    /// Wakes like the thread of a runtime when a socket is ready to be read.
    fn replies(&self) {
        *self.has_replied.lock().unwrap() = true;
        let waker = self.asks.lock().unwrap().take();
        waker.into_iter().for_each(Waker::wake);
    }

    fn poll_reply(&self, cx: &mut Context<'_>) -> Poll<()> {
        let before = self.asks.lock().unwrap().replace(cx.waker().clone());
        drop(before);
        match *self.has_replied.lock().unwrap() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    fn write(&self, names: Names) -> Result<(), TestError> {
        let mut stored = self.stored.lock().unwrap();
        if stored.version != names.version {
            return Err(TestError::CONFLICT);
        }
        let dropped = self.dropped.load(Relaxed);
        self.dropped_before_write.store(dropped, Relaxed);
        let version = names.version + 1;
        *stored = Names { version, ..names };
        Ok(())
    }

    /// Steps that were dropped although a caller waited that was written later.
    fn dropped(&self) -> usize {
        self.dropped_before_write.load(Relaxed)
    }

    fn writes(&self) -> usize {
        self.stored.lock().unwrap().version
    }

    /// The members, sorted: the member of a change that was applied twice is in the list twice.
    fn names(&self) -> Vec<u32> {
        let mut names = self.stored.lock().unwrap().names.clone();
        names.sort_unstable();
        names
    }
}

/// A running read or write.
struct Step<'s> {
    server: &'s Server,
    has_ended: bool,
}

impl<'s> Step<'s> {
    fn begins(server: &'s Server) -> Self {
        let is_busy = server.is_busy.swap(true, Relaxed);
        assert!(!is_busy, "two steps of one resource are under way");
        let has_ended = false;
        Step { server, has_ended }
    }
}

impl Drop for Step<'_> {
    fn drop(&mut self) {
        self.server.is_busy.store(false, Relaxed);
        let is_dropped = usize::from(!self.has_ended);
        self.server.dropped.fetch_add(is_dropped, Relaxed);
    }
}

/// Pending once, and woken at once.
async fn yields() {
    let mut has_yielded = false;
    let yields = poll_fn(|cx| {
        if core::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    });
    yields.await;
}

fn combine(server: &Arc<Server>) -> Combined {
    let (reads, writes) = (Arc::clone(server), Arc::clone(server));
    Policy::constant(Duration::ZERO)
        .max_attempts(5)
        .combine(
            move |_| {
                let server = Arc::clone(&reads);
                async move {
                    let mut step = Step::begins(&server);
                    poll_fn(|cx| server.poll_reply(cx)).await;
                    step.has_ended = true;
                    Ok(server.stored.lock().unwrap().clone())
                }
            },
            move |_, names| {
                let server = Arc::clone(&writes);
                async move {
                    let mut step = Step::begins(&server);
                    yields().await;
                    step.has_ended = true;
                    server.write(names)
                }
            },
        )
        .runtime(Still)
}

/// Adds a name, even if it is in the list already.
fn append(combined: &Combined, name: u32) -> Update {
    combined.update(0, move |names: &mut Names| names.names.push(name))
}

#[track_caller]
fn is_written(update: Update) {
    let told = block_on(update);
    assert!(matches!(told, Ok(Updated::Written(()))), "{told:?}");
}

/// Polls a caller whose task is not polled again when it is woken.
fn poll_once(update: &mut Update) -> bool {
    let polled = pin!(update).poll(&mut Context::from_waker(Waker::noop()));
    polled.is_ready()
}

/// Runs every order of the threads with at most this many preemptions. Returns the results.
fn explore<T: Ord + Send + 'static>(
    preemptions: usize,
    race: impl Fn(&Arc<Server>, &Combined) -> T + Send + Sync + 'static,
) -> BTreeSet<T> {
    let all = Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    let outcomes = Arc::clone(&all);
    model.check(move || {
        let server = Arc::new(Server::default());
        let combined = combine(&server);
        let outcome = race(&server, &combined);
        assert_eq!(combined.busy(), 0, "a resource is left behind");
        outcomes.lock().unwrap().insert(outcome);
    });
    core::mem::take(&mut all.lock().unwrap())
}

fn replying(server: &Arc<Server>) -> thread::JoinHandle<()> {
    let server = Arc::clone(server);
    thread::spawn(move || server.replies())
}

#[test]
fn both_end_whoever_polls() {
    let writes = explore(2, |server, combined| {
        let network = replying(server);
        let second = append(combined, 2);
        let second = thread::spawn(move || is_written(second));
        is_written(append(combined, 1));
        second.join().unwrap();
        network.join().unwrap();
        assert_eq!((server.names(), server.dropped()), (vec![1, 2], 0));
        server.writes()
    });
    assert_eq!(writes, [1, 2].into(), "together, and one after the other");
}

#[test]
fn who_comes_while_another_leaves_is_not_forgotten() {
    let writes = explore(3, |server, combined| {
        server.replies();
        let second = append(combined, 2);
        let second = thread::spawn(move || is_written(second));
        is_written(append(combined, 1));
        is_written(append(combined, 3));
        second.join().unwrap();
        assert_eq!(server.names(), [1, 2, 3]);
        assert_eq!(server.dropped(), 0);
        server.writes()
    });
    assert_eq!(writes, [2, 3].into(), "together, and one after the other");
}

#[test]
fn a_caller_that_is_kept_and_not_polled_holds_nobody_up() {
    let outcomes = explore(3, |server, combined| {
        let network = replying(server);
        let mut kept = append(combined, 1);
        let keeping = thread::spawn(move || (poll_once(&mut kept), kept));
        is_written(append(combined, 2));
        let (has_ended, kept) = keeping.join().unwrap();
        network.join().unwrap();
        if !has_ended {
            is_written(kept);
        }
        assert_eq!((server.names(), server.dropped()), (vec![1, 2], 0));
        (has_ended, server.writes())
    });
    let all = [false, true].map(|has_ended| [(has_ended, 1), (has_ended, 2)]);
    assert_eq!(outcomes, all.into_iter().flatten().collect());
}

/// A caller is polled once and dropped while the other caller is polled to its end. A caller that got a
/// success was added; a caller that was dropped earlier may have been added.
#[test]
fn a_caller_that_is_dropped_takes_nothing_along_and_drops_no_step_while_the_other_waits() {
    for has_come_before in [false, true] {
        let outcomes = explore(3, move |server, combined| {
            let mut stays = append(combined, 2);
            assert!(!(has_come_before && poll_once(&mut stays)));
            let network = replying(server);
            let mut dropped = append(combined, 1);
            let dropping = thread::spawn(move || poll_once(&mut dropped));
            is_written(stays);
            let has_ended = dropping.join().unwrap();
            network.join().unwrap();
            assert!(!has_come_before || server.dropped() == 0);
            (has_ended, server.names())
        });
        let all = [(true, vec![1, 2]), (false, vec![1, 2]), (false, vec![2])];
        assert_eq!(outcomes, all.into());
    }
}

#[test]
fn a_change_that_is_stopped_is_written_and_told_so_or_never_written() {
    let outcomes = explore(3, |server, combined| {
        server.replies();
        let signal = Arc::new(Server::default());
        let asked = Arc::clone(&signal);
        let stops = append(combined, 1).stop_on(async move {
            poll_fn(|cx| asked.poll_reply(cx)).await;
        });
        let second = append(combined, 2);
        let second = thread::spawn(move || {
            signal.replies();
            is_written(second);
        });
        let told = block_on(stops);
        second.join().unwrap();
        assert_eq!(server.dropped(), 0);
        let is_stopped = match told {
            Ok(Updated::Written(())) => false,
            Err(CombineError::Stopped { may_be_applied }) => {
                assert!(!may_be_applied, "a write that it is part of is finished");
                true
            }
            other => panic!("{other:?}"),
        };
        (is_stopped, server.names())
    });
    assert_eq!(outcomes, [(false, vec![1, 2]), (true, vec![2])].into());
}
