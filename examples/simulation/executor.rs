//! Runs futures in virtual time, on one thread. Timers are exact to the nanosecond; of two timers that
//! end at the same time, the older one is ready first. Tasks are polled in the order in which they were
//! woken.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use backoff_cloud::{Clock, Sleep};

/// The clock and its timers. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Time(Rc<RefCell<Timers>>);

#[derive(Default)]
struct Timers {
    /// In nanoseconds.
    now: u64,
    number: u64,
    /// By the end and the age of each timer.
    waiting: BTreeMap<(u64, u64), Waker>,
}

impl Time {
    pub(crate) fn nanos(&self) -> u64 {
        self.0.borrow().now
    }

    /// Until this time.
    pub(crate) fn until(&self, end: u64) -> Timer {
        let mut timers = self.0.borrow_mut();
        timers.number += 1;
        let key = (end, timers.number);
        let time = self.clone();
        Timer { time, key }
    }

    pub(crate) fn after(&self, nanos: u64) -> Timer {
        self.until(self.nanos().saturating_add(nanos))
    }

    /// Goes on to the end of the first timer.
    fn advance(&self) -> Option<Waker> {
        let mut timers = self.0.borrow_mut();
        let ((end, _), waker) = timers.waiting.pop_first()?;
        timers.now = timers.now.max(end);
        Some(waker)
    }
}

impl Clock for Time {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.nanos())
    }
}

impl Sleep for Time {
    type Sleep = Timer;

    fn sleep(&self, wait: Duration) -> Timer {
        self.after(wait.as_nanos().try_into().unwrap_or(u64::MAX))
    }
}

pub(crate) struct Timer {
    time: Time,
    key: (u64, u64),
}

impl Future for Timer {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut timers = self.time.0.borrow_mut();
        if timers.now >= self.key.0 {
            return Poll::Ready(());
        }
        timers.waiting.insert(self.key, cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.time.0.borrow_mut().waiting.remove(&self.key);
    }
}

/// Tasks that were woken.
type Ready = Arc<Mutex<VecDeque<usize>>>;

struct Woken {
    task: usize,
    ready: Ready,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        ready.push_back(self.task);
    }
}

/// Runs the tasks until all of them have ended.
///
/// # Panics
/// If a task is left that nobody will wake.
pub(crate) fn run<'a>(time: &Time, tasks: impl IntoIterator<Item = impl Future<Output = ()> + 'a>) {
    let ready = Ready::default();
    let mut tasks: Vec<_> = tasks
        .into_iter()
        .enumerate()
        .map(|(task, future)| {
            let waker = Waker::from(Arc::new(Woken {
                task,
                ready: Arc::clone(&ready),
            }));
            waker.wake_by_ref();
            (Some(Box::pin(future)), waker)
        })
        .collect();
    loop {
        let next = ready
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front();
        let Some(task) = next else {
            match time.advance() {
                Some(waker) => waker.wake(),
                None => break,
            }
            continue;
        };
        let (future, waker) = &mut tasks[task];
        if let Some(running) = future
            && running
                .as_mut()
                .poll(&mut Context::from_waker(waker))
                .is_ready()
        {
            *future = None;
        }
    }
    let left = tasks.iter().filter(|(task, _)| task.is_some()).count();
    assert_eq!(left, 0, "tasks wait for ever");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_run_in_the_order_of_their_timers() {
        let time = Time::default();
        let told = RefCell::new(Vec::new());
        let task = |name, waits: [u64; 2]| {
            let (time, told) = (&time, &told);
            async move {
                for wait in waits {
                    time.after(wait).await;
                    told.borrow_mut().push((time.nanos(), name));
                }
            }
        };
        run(
            &time,
            [task('a', [5, 2]), task('b', [5, 1]), task('c', [0, 5])],
        );
        let expected = [(0, 'c'), (5, 'a'), (5, 'b'), (5, 'c'), (6, 'b'), (7, 'a')];
        assert_eq!(*told.borrow(), expected);
        assert_eq!(time.now(), Duration::from_nanos(7));
    }

    #[test]
    #[should_panic(expected = "tasks wait for ever")]
    fn a_task_that_nobody_wakes_is_an_error() {
        run(&Time::default(), [std::future::pending()]);
    }

    #[test]
    fn a_dropped_timer_moves_no_clock() {
        let time = Time::default();
        let mut forgotten = Box::pin(time.after(100));
        let mut context = Context::from_waker(Waker::noop());
        assert!(forgotten.as_mut().poll(&mut context).is_pending());
        drop(forgotten);
        run(&time, [time.after(3)]);
        assert_eq!(time.nanos(), 3);
    }
}
