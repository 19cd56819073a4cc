//! Two callers of one resource and its tasks on threads of their own, in every order that loom finds.

use super::*;
use crate::{
    policy::Policy, report::Updated, sync::Mutex, test_error::TestError, testing::VirtualTime,
};
use core::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::atomic::AtomicBool,
    task::{Context, Poll, Waker},
    time::Duration,
};
use loom::{future::block_on, thread};
use std::collections::BTreeSet;

/// The members in the order in which they were added, and the version that a write must name.
#[derive(Clone, Debug, Default)]
struct Names {
    names: Vec<u32>,
    version: usize,
}

#[derive(Default)]
struct Server {
    stored: std::sync::Mutex<Names>,
    is_busy: AtomicBool,
    /// Each task has a thread.
    tasks: Arc<std::sync::Mutex<Vec<thread::JoinHandle<()>>>>,
}

type Combined = Combining<u8, Names, (), TestError>;
type Pending = Changing<u8, Names, (), TestError>;

impl Server {
    async fn read(&self) -> Names {
        let _step = Step::begins(self);
        yields().await;
        self.stored.lock().unwrap().clone()
    }

    async fn write(&self, names: Names) -> Result<(), TestError> {
        let _step = Step::begins(self);
        yields().await;
        let mut stored = self.stored.lock().unwrap();
        if stored.version != names.version {
            return Err(TestError::CONFLICT);
        }
        let version = names.version + 1;
        *stored = Names { version, ..names };
        Ok(())
    }

    /// The members, sorted: the member of a change that was applied twice is in the list twice.
    fn names(&self) -> Vec<u32> {
        let mut names = self.stored.lock().unwrap().names.clone();
        names.sort_unstable();
        names
    }

    fn writes(&self) -> usize {
        self.stored.lock().unwrap().version
    }
}

/// A running read or write.
struct Step<'s>(&'s Server);

impl<'s> Step<'s> {
    fn begins(server: &'s Server) -> Self {
        let is_busy = server.is_busy.swap(true, Relaxed);
        assert!(!is_busy, "two steps of one resource are under way");
        Step(server)
    }
}

impl Drop for Step<'_> {
    fn drop(&mut self) {
        self.0.is_busy.store(false, Relaxed);
    }
}

/// Pending once, and woken at once.
async fn yields() {
    let mut has_yielded = false;
    poll_fn(|cx| {
        if core::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

fn combine(server: &Arc<Server>) -> Combined {
    let (server, tasks) = (Arc::clone(server), Arc::clone(&server.tasks));
    Combining::on(
        move |task| tasks.lock().unwrap().push(thread::spawn(|| block_on(task))),
        move |_, group: Group<Names, (), TestError>| {
            let server = Arc::clone(&server);
            async move {
                Policy::constant(Duration::ZERO)
                    .max_attempts(5)
                    .update(
                        || group.read(async { Ok(server.read().await) }),
                        |_| group.has_changed(),
                        |names| group.write(server.write(names)),
                    )
                    .runtime(VirtualTime::new())
                    .reported()
                    .await
            }
        },
    )
}

/// Adds a name, even if it is in the list already.
fn append(combined: &Combined, name: u32) -> Pending {
    combined.update(0, move |names: &mut Names| names.names.push(name))
}

#[track_caller]
fn is_written(update: Pending) {
    let told = block_on(update);
    assert!(matches!(told, Ok(Updated::Written(()))), "{told:?}");
}

/// Polls a caller whose future is not polled again when it is woken.
fn poll_once(update: &mut Pending) -> bool {
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
        while let Some(task) = { server.tasks.lock().unwrap().pop() } {
            task.join().unwrap();
        }
        assert_eq!(combined.busy(), 0, "a resource is left behind");
        outcomes.lock().unwrap().insert(outcome);
    });
    core::mem::take(&mut all.lock().unwrap())
}

#[test]
fn both_are_written_whoever_begins_the_task() {
    let writes = explore(2, |server, combined| {
        let second = append(combined, 2);
        let second = thread::spawn(move || is_written(second));
        is_written(append(combined, 1));
        second.join().unwrap();
        assert_eq!(server.names(), [1, 2]);
        server.writes()
    });
    assert_eq!(writes, [1, 2].into(), "together, and one after the other");
}

/// A caller is polled once and dropped while the other caller is polled to its end. The change of a caller that was
/// dropped may have been applied.
#[test]
fn a_caller_that_is_dropped_takes_nothing_along() {
    for has_come_before in [false, true] {
        let outcomes = explore(2, move |server, combined| {
            let mut stays = append(combined, 2);
            assert!(!(has_come_before && poll_once(&mut stays)));
            let mut dropped = append(combined, 1);
            let dropping = thread::spawn(move || poll_once(&mut dropped));
            is_written(stays);
            dropping.join().unwrap();
            server.names()
        });
        assert_eq!(outcomes, [vec![1, 2], vec![2]].into());
    }
}

#[test]
fn the_last_caller_that_is_dropped_ends_the_task() {
    explore(2, |_, combined| {
        let mut dropped = append(combined, 1);
        let dropping = thread::spawn(move || poll_once(&mut dropped));
        let mut kept = append(combined, 2);
        poll_once(&mut kept);
        dropping.join().unwrap();
    });
}

/// A signal that another thread gives.
#[derive(Default)]
struct Signal(Mutex<(bool, Option<Waker>)>);

impl Signal {
    fn comes(&self) {
        let waker = {
            let mut state = self.0.lock().unwrap();
            state.0 = true;
            state.1.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock().unwrap();
        state.1 = Some(cx.waker().clone());
        match state.0 {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

#[test]
fn a_change_that_is_stopped_is_written_and_told_so_or_never_written() {
    let outcomes = explore(2, |server, combined| {
        let signal = Arc::new(Signal::default());
        let asked = Arc::clone(&signal);
        let mut stops = append(combined, 1);
        let stops = poll_fn(move |cx| {
            let polled = Pin::new(&mut stops).poll(cx);
            if polled.is_pending() && asked.poll(cx).is_ready() {
                stops.leave();
                return Pin::new(&mut stops).poll(cx);
            }
            polled
        });
        let second = append(combined, 2);
        let second = thread::spawn(move || {
            signal.comes();
            is_written(second);
        });
        let told = block_on(stops);
        second.join().unwrap();
        let is_stopped = match told {
            Ok(Updated::Written(())) => false,
            Err(CombineError::Left { may_be_applied }) => {
                assert!(!may_be_applied, "a write that it is part of is finished");
                true
            }
            other => panic!("{other:?}"),
        };
        (is_stopped, server.names())
    });
    assert_eq!(outcomes, [(false, vec![1, 2]), (true, vec![2])].into());
}

#[test]
fn a_change_that_is_withdrawn_says_whether_it_may_be_applied() {
    let outcomes = explore(2, |server, combined| {
        let mut first = append(combined, 1);
        let is_told = poll_once(&mut first);
        let second = append(combined, 2);
        let second = thread::spawn(move || is_written(second));
        let may_be_applied = is_told || first.withdraw();
        second.join().unwrap();
        (may_be_applied, server.names())
    });
    assert!(!outcomes.contains(&(false, vec![1, 2])), "{outcomes:?}");
}
