//! Blocks that borrow what is behind an argument, and not the argument. In edition 2018 they borrow the argument, and
//! the compiler refuses them without the attribute, too.

#![allow(clippy::manual_async_fn, reason = "a block is what is checked")]

use crate::cases::*;

#[derive(Clone, Copy)]
struct Shared<'a>(&'a Cell<u32>);

fn third(calls: &mut u32) -> Result<u32, ApiError> {
    *calls += 1;
    if *calls < 3 {
        return Err(ApiError(503));
    }
    Ok(*calls)
}

#[retry(base = "1ms")]
fn mutable<'a>(calls: &'a mut u32) -> impl Future<Output = Result<u32, ApiError>> + 'a {
    async { third(calls) }
}

#[retry(base = "1ms")]
fn shared<'a>(calls: Shared<'a>) -> impl Future<Output = Result<u32, ApiError>> + 'a {
    async {
        let mut number = calls.0.get();
        calls.0.set(number + 1);
        third(&mut number)
    }
}

#[test]
fn blocks_that_borrow_what_is_behind_an_argument() {
    assert_eq!(run(mutable(&mut 0)), Ok(3));
    assert_eq!(run(shared(Shared(&Cell::new(0)))), Ok(3));
}
