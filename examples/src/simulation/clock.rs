//! Runs futures in virtual time, on one thread. Timers are exact to the nanosecond; of two timers that
//! end at the same time, the older one is ready first. Tasks are polled in the order in which they were
//! woken.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use backoff_cloud::{Clock, Sleep};

/// In nanoseconds.
pub const SECOND: u64 = 1_000_000_000;

/// The clock and its timers. Clones share them.
#[derive(Clone, Default)]
pub struct Time(Rc<RefCell<Timers>>);

#[derive(Default)]
struct Timers {
    /// In nanoseconds.
    now: u64,
    number: u64,
    /// By the end and the age of each timer.
    waiting: BTreeMap<(u64, u64), Waker>,
}

impl Time {
    /// The time since the start, in nanoseconds.
    pub fn nanos(&self) -> u64 {
        self.0.borrow().now
    }

    /// A timer until this time, in nanoseconds.
    pub fn until(&self, end: u64) -> Timer {
        let mut timers = self.0.borrow_mut();
        timers.number += 1;
        let key = (end, timers.number);
        let time = self.clone();
        Timer { time, key }
    }

    /// A timer that lasts so long.
    pub fn after(&self, nanos: u64) -> Timer {
        self.until(self.nanos().saturating_add(nanos))
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

/// Ends at its time.
pub struct Timer {
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

/// A task that was woken is put into the queue.
struct Woken(usize, Arc<Mutex<VecDeque<usize>>>);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.1.lock().expect("no panic").push_back(self.0);
    }
}

/// Runs the tasks until all of them have ended, or until they are to stop, which is asked before each step. Each begins at
/// its time; they come in the order of time. Returns whether the run was not stopped. What is left then is dropped, and
/// what waits for the last moment of the clock, after 584 years.
///
/// # Panics
/// If a task is left that nobody will wake.
pub fn run<F: Future<Output = ()>>(
    time: &Time,
    tasks: impl Iterator<Item = (u64, F)>,
    stop: &dyn Fn() -> bool,
) -> bool {
    let ready = Arc::<Mutex<VecDeque<usize>>>::default();
    let mut tasks = tasks.peekable();
    let mut begun: Vec<(Waker, Option<Pin<Box<F>>>)> = Vec::new();
    loop {
        if stop() {
            return false;
        }
        let next = ready.lock().expect("no panic").pop_front();
        if let Some(number) = next {
            let (waker, task) = &mut begun[number];
            let mut cx = Context::from_waker(waker);
            task.take_if(|it| it.as_mut().poll(&mut cx).is_ready());
            continue;
        }
        let mut timers = time.0.borrow_mut();
        let end = timers.waiting.first_key_value().map(|((end, _), _)| *end);
        if let Some((begins, task)) = tasks.next_if(|it| end.is_none_or(|end| it.0 <= end)) {
            timers.now = timers.now.max(begins);
            let waker = Waker::from(Arc::new(Woken(begun.len(), Arc::clone(&ready))));
            waker.wake_by_ref();
            begun.push((waker, Some(Box::pin(task))));
        } else if let Some(((end, _), waker)) = timers.waiting.pop_first() {
            if end == u64::MAX {
                return true;
            }
            timers.now = timers.now.max(end);
            waker.wake();
        } else {
            break;
        }
    }
    let is_over = begun.iter().all(|(_, task)| task.is_none());
    assert!(is_over, "tasks wait for ever");
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::iter;

    #[test]
    fn tasks_begin_and_wait_in_the_order_of_time() {
        let (time, seen) = (Time::default(), RefCell::new(Vec::new()));
        let running = Cell::new(0);
        let task = |number: u64| {
            let (time, seen, running) = (&time, &seen, &running);
            let work = async move {
                running.set(running.get() + 1);
                time.after(30 - 10 * number).await;
                seen.borrow_mut().push((number, time.nanos()));
            };
            (number, work)
        };
        assert!(run(&time, (0..3).map(task), &|| false));
        assert_eq!(running.get(), 3);
        assert_eq!(*seen.borrow(), [(2, 12), (1, 21), (0, 30)]);
    }

    #[test]
    fn a_run_is_stopped_and_ends_with_the_clock() {
        let time = Time::default();
        let for_ever = async |wait| {
            loop {
                time.after(wait).await;
            }
        };
        let steps = Cell::new(0);
        let stop = || steps.replace(steps.get() + 1) == 100;
        assert!(!run(&time, iter::once((0, for_ever(1))), &stop));
        assert!(run(&time, iter::once((0, for_ever(u64::MAX / 2))), &|| {
            false
        }));
    }
}
