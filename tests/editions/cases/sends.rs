//! A future is `Send` where that of the plain function is.

use super::*;
use std::rc::Rc;

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

alike! { arguments_that_are_not_sync [base = "1ms"] |flaky| {
        let (cell, other) = (Cell::new(3), Cell::new(4));
        let (generic, opaque) = (move || cell.get(), move || other.get());
        let (list, both) = (std::sync::mpsc::channel().1, RefCell::new(vec![1_u8]));
        run(sent(f(flaky, Box::new(|| 1), Cell::new(0), list, both, generic, opaque)))
    } =>
    #[allow(clippy::too_many_arguments)]
    pub(super) async fn f<T: Send + Copy, J: Send + Fn() -> u32>(
        flaky: &Flaky,
        boxed: Box<dyn Fn() -> u32 + Send>,
        cell: Cell<u32>,
        list: std::sync::mpsc::Receiver<u32>,
        both: RefCell<Vec<T>>,
        generic: J,
        opaque: impl Fn() -> u32 + Send,
    ) -> Result<u32, ApiError> {
        let first = boxed() + generic() + opaque();
        cell.set(cell.get() + 1);
        std::future::ready(()).await;
        flaky.call()?;
        Ok(first + list.recv().unwrap_or(7) + both.borrow().len() as u32 + boxed() + generic() + opaque())
    }
}

alike! { boxed_future [base = "1ms", keep(job)] |flaky| run(sent(f(flaky, Some(Box::pin(async { 1 }))))) =>
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
    same!(|flaky| run(f(Rc::new(flaky), Rc::default())));
    let got = run(retried::f(Rc::new(&Flaky::failing(2)), seen.clone()));
    assert_eq!(got, Ok(2));
    assert_eq!(seen.get(), 3);
}

/// A value that a key borrows for the whole call.
#[test]
fn argument_in_a_timer() {
    #[retry(base = "1ms", sleep = |_| job.wait())]
    async fn f(flaky: &Flaky, job: Counts) -> Result<u32, ApiError> {
        flaky.call()?;
        Ok(job.0.get())
    }
    struct Counts(Cell<u32>);
    impl Counts {
        fn wait(&self) -> std::future::Ready<()> {
            self.0.set(self.0.get() + 1);
            std::future::ready(())
        }
    }
    assert_eq!(run(f(&Flaky::failing(2), Counts(Cell::new(0)))), Ok(2));
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
    same!(|flaky| f(flaky, &shared));
    assert_eq!(*shared.lock().unwrap(), 5);
}

type Job = Box<dyn Fn() -> u32 + Send>;
type List = Vec<Cell<u32>>;

#[async_trait::async_trait]
trait Runs {
    async fn job(&self, flaky: &Flaky, job: Job, list: List) -> Result<u32, ApiError>;
    async fn in_a_span(&self, flaky: &Flaky, job: Cell<u32>) -> Result<u32, ApiError>;
}

#[async_trait::async_trait]
impl Runs for () {
    #[retry(base = "1ms", clone(list))]
    async fn job(&self, flaky: &Flaky, job: Job, mut list: List) -> Result<u32, ApiError> {
        list.push(Cell::new(0));
        let first = job();
        std::future::ready(()).await;
        flaky.call()?;
        Ok(first + job())
    }

    #[tracing::instrument(skip_all)]
    #[retry(base = "1ms", clone(job))]
    async fn in_a_span(&self, flaky: &Flaky, job: Cell<u32>) -> Result<u32, ApiError> {
        job.set(job.get() + 1);
        flaky.call()?;
        Ok(job.get())
    }
}

#[retry(base = "1ms")]
fn future<'a>(flaky: &'a Flaky, job: Job) -> BoxFuture<'a, Result<u32, ApiError>> {
    Box::pin(async move {
        let first = job();
        std::future::ready(()).await;
        flaky.call()?;
        Ok(first + job())
    })
}

#[retry(base = "1ms", keep(more))]
fn rebound<'a>(
    flaky: &'a Flaky,
    job: Cell<u32>,
    mut more: u32,
) -> impl Future<Output = Result<u32, ApiError>> + use<'a> {
    more += 1;
    let job = job;
    async move {
        job.set(job.get() + 1);
        flaky.call()?;
        Ok(job.get() + more)
    }
}

#[test]
fn where_other_attributes_have_moved_the_arguments() {
    same(
        |_| Ok(2),
        |flaky| run(().job(flaky, Box::new(|| 1), Vec::new())),
    );
    same(|_| Ok(2), |flaky| run(().in_a_span(flaky, Cell::new(1))));
    same(|_| Ok(2), |flaky| run(sent(future(flaky, Box::new(|| 1)))));
    assert_eq!(run(rebound(&Flaky::failing(2), Cell::new(0), 1)), Ok(5));
}

/// A type of the user's that has the name of a well-known one.
struct Duration(Cell<u32>);

// An argument that has the name of a key, and one that has the name of a type of std.
alike! { arguments_with_names_of_other_things [base = "1ms", operation = "f"]
    |flaky| run(sent(f(flaky, Cell::new(1), Duration(Cell::new(2))))) =>
    pub(super) async fn f(flaky: &Flaky, base: Cell<u32>, name: Duration) -> Result<u32, ApiError> {
        std::future::ready(()).await;
        flaky.call()?;
        Ok(base.get() + name.0.get())
    }
}

/// A unit struct and a constant in the place of an argument's name are patterns.
#[test]
fn arguments_that_are_no_names() {
    #[derive(PartialEq)]
    pub(super) struct Marker;
    impl Marker {
        fn number(&self) -> u32 {
            7
        }
    }
    #[retry(base = "1ms")]
    async fn f(flaky: &Flaky, Marker: Marker, (): ()) -> Result<u32, ApiError> {
        std::future::ready(()).await;
        flaky.call()?;
        Ok(Marker.number())
    }
    assert_eq!(run(sent(f(&Flaky::failing(2), Marker, ()))), Ok(7));
}

/// An error that is not `Send` does not take `Send` from the future.
#[test]
fn error_that_stays_on_its_thread() {
    #[retry(base = "1ms")]
    async fn f(flaky: &Flaky) -> Result<u32, Rc<str>> {
        flaky.call().map_err(|error| error.to_string().into())
    }
    assert_eq!(run(sent(f(&Flaky::failing(2)))), Ok(3));
}
