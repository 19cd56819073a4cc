//! A future is `Send` where that of the plain function is.

use super::*;
use std::rc::Rc;

/// A type of the user's that has the name of a well-known one.
pub(super) struct Duration(Cell<u32>);

// An argument has the name of a key.
alike! { arguments_that_are_not_sync [base = "1ms", operation = "f"] |flaky| {
        let (cell, other) = (Cell::new(3), Cell::new(4));
        let (generic, opaque) = (move || cell.get(), move || other.get());
        let list = std::sync::mpsc::channel().1;
        run(sent(f(flaky, Box::new(|| 1), Cell::new(0), list, RefCell::new(vec![1_u8]), generic, opaque, Duration(Cell::new(2)))))
    } =>
    #[allow(clippy::too_many_arguments)]
    pub(super) async fn f<T: Send + Copy, J: Send + Fn() -> u32>(
        flaky: &Flaky,
        boxed: Box<dyn Fn() -> u32 + Send>,
        base: Cell<u32>,
        list: std::sync::mpsc::Receiver<u32>,
        both: RefCell<Vec<T>>,
        generic: J,
        opaque: impl Fn() -> u32 + Send,
        name: Duration,
    ) -> Result<u32, ApiError> {
        let first = boxed() + generic() + opaque();
        base.set(base.get() + 1);
        std::future::ready(()).await;
        flaky.call()?;
        Ok(first + list.recv().unwrap_or(7) + both.borrow().len() as u32 + boxed() + generic() + opaque() + name.0.get())
    }
}

/// What stays on its thread may do so; an error that is not `Send` does not take `Send` from the future.
#[test]
fn what_stays_on_its_thread() {
    #[retry(base = "1ms")]
    async fn shared(flaky: Rc<Flaky>, seen: Rc<Cell<u32>>) -> Result<u32, ApiError> {
        seen.set(seen.get() + 1);
        std::future::ready(()).await;
        flaky.call().map(|_| seen.get())
    }
    #[retry(base = "1ms")]
    async fn error(flaky: &Flaky) -> Result<u32, Rc<str>> {
        flaky.call().map_err(|error| error.to_string().into())
    }
    // In a blocking function, a guard of std is fine.
    #[retry(base = "1ms")]
    fn guard(flaky: &Flaky, shared: &std::sync::Mutex<u32>) -> Result<u32, ApiError> {
        let mut guard = shared.lock().unwrap();
        *guard += 1;
        flaky.call().map(|_| *guard)
    }
    let seen = Rc::default();
    assert_eq!(run(shared(Flaky::failing(2).into(), seen)), Ok(3));
    assert_eq!(run(sent(error(&Flaky::failing(2)))), Ok(3));
    assert_eq!(guard(&Flaky::failing(2), &0.into()), Ok(3));
}
