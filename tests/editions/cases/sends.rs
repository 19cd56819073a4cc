//! A future is `Send` where that of the plain function is.

use super::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

#[test]
fn function_in_a_box() {
    both! {
        #[retry(base = "1ms")] =>
        pub(super) async fn f(flaky: &Flaky, job: Box<dyn Fn() -> u32 + Send>) -> Result<u32, ApiError> {
            let first = job();
            flaky.call()?;
            std::future::ready(()).await;
            Ok(first + job())
        }
    }
    same(
        |flaky| run(sent(plain::f(flaky, Box::new(|| 1)))),
        |flaky| run(sent(retried::f(flaky, Box::new(|| 1)))),
    );
}

#[test]
fn cells_and_receivers() {
    both! {
        #[retry(base = "1ms")] =>
        pub(super) async fn f<T: Send + Copy>(
            flaky: &Flaky,
            cell: Cell<u32>,
            list: std::sync::mpsc::Receiver<u32>,
            both: RefCell<Vec<T>>,
        ) -> Result<u32, ApiError> {
            cell.set(cell.get() + 1);
            std::future::ready(()).await;
            flaky.call()?;
            Ok(list.recv().unwrap_or(7) + both.borrow().len() as u32)
        }
    }
    let make = || {
        (
            Cell::new(0),
            std::sync::mpsc::channel().1,
            RefCell::new(vec![1_u8]),
        )
    };
    same(
        |flaky| {
            let (a, b, c) = make();
            run(sent(plain::f(flaky, a, b, c)))
        },
        |flaky| {
            let (a, b, c) = make();
            run(sent(retried::f(flaky, a, b, c)))
        },
    );
}

#[test]
fn boxed_future() {
    both! {
        #[retry(base = "1ms", keep(job))] =>
        pub(super) async fn f(
            flaky: &Flaky,
            mut job: Option<BoxFuture<'static, u32>>,
        ) -> Result<u32, ApiError> {
            flaky.call()?;
            match job.take() {
                Some(job) => Ok(job.await),
                None => Err(ApiError(404)),
            }
        }
    }
    same(
        |flaky| run(sent(plain::f(flaky, Some(Box::pin(async { 1 }))))),
        |flaky| run(sent(retried::f(flaky, Some(Box::pin(async { 1 }))))),
    );
}

#[test]
fn generic_that_is_not_sync() {
    both! {
        #[retry(base = "1ms")] =>
        pub(super) async fn f<T: Send + Fn() -> u32>(flaky: &Flaky, job: T, also: impl Fn() -> u32 + Send) -> Result<u32, ApiError> {
            std::future::ready(()).await;
            flaky.call()?;
            Ok(job() + also())
        }
    }
    let (cell, other) = (Cell::new(3), Cell::new(4));
    let _ = (&cell, &other);
    same(
        |flaky| {
            let (cell, other) = (Cell::new(3), Cell::new(4));
            run(sent(plain::f(
                flaky,
                move || cell.get(),
                move || other.get(),
            )))
        },
        |flaky| {
            let (cell, other) = (Cell::new(3), Cell::new(4));
            run(sent(retried::f(
                flaky,
                move || cell.get(),
                move || other.get(),
            )))
        },
    );
}

/// What stays on its thread may do so.
#[test]
fn rc_on_one_thread() {
    both! {
        #[retry(base = "1ms")] =>
        pub(super) async fn f(flaky: Rc<&Flaky>, seen: Rc<Cell<u32>>) -> Result<u32, ApiError> {
            seen.set(seen.get() + 1);
            std::future::ready(()).await;
            flaky.call()?;
            Ok(Rc::strong_count(&seen) as u32)
        }
    }
    let seen = Rc::new(Cell::new(0));
    same(
        |flaky| run(plain::f(Rc::new(flaky), Rc::default())),
        |flaky| run(retried::f(Rc::new(flaky), Rc::default())),
    );
    assert_eq!(
        run(retried::f(Rc::new(&Flaky::failing(2)), seen.clone())),
        Ok(2)
    );
    assert_eq!(seen.get(), 3);
}

/// A value that a key borrows for the whole call.
#[test]
fn argument_in_a_timer() {
    #[retry(base = "1ms", sleep = |_| job.wait())]
    async fn f(flaky: &Flaky, job: Job) -> Result<u32, ApiError> {
        flaky.call()?;
        Ok(job.0.get())
    }
    struct Job(Cell<u32>);
    impl Job {
        fn wait(&self) -> std::future::Ready<()> {
            self.0.set(self.0.get() + 1);
            std::future::ready(())
        }
    }
    assert_eq!(run(f(&Flaky::failing(2), Job(Cell::new(0)))), Ok(2));
}

/// Holding a guard of std over an await is the user's affair, in a blocking function it is fine.
#[test]
fn guard_in_a_blocking_function() {
    both! {
        #[retry(base = "1ms")] =>
        pub(super) fn f(flaky: &Flaky, shared: &std::sync::Mutex<u32>) -> Result<u32, ApiError> {
            let mut guard = shared.lock().unwrap();
            *guard += 1;
            flaky.call()?;
            Ok(1)
        }
    }
    let shared = std::sync::Mutex::new(0);
    same(
        |flaky| plain::f(flaky, &shared),
        |flaky| retried::f(flaky, &shared),
    );
    assert_eq!(*shared.lock().unwrap(), 5);
}
