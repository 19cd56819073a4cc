//! Arguments of types that the macro does not know, each consumed by the first attempt.

use std::pin::Pin;

use backoff_core::retry;
use ui::ApiError;

#[derive(Clone)]
struct Request(String);

struct Db(u8);

struct Row<'a>(&'a mut Db);

fn send<T>(value: T) -> Result<(), ApiError> {
    drop(value);
    Ok(())
}

#[retry]
async fn own(request: Request) -> Result<(), ApiError> {
    send(request)
}

#[retry]
fn generic<T: Clone>(value: T) -> Result<(), ApiError> {
    send(value)
}

#[retry]
fn of_a_parameter<T>(values: Option<T>) -> Result<(), ApiError> {
    send(values)
}

#[retry]
async fn function(read: impl Fn() -> u8) -> Result<(), ApiError> {
    send(read)
}

#[retry]
fn no_clone(read: Box<dyn Fn() -> u8>) -> Result<(), ApiError> {
    send(read)
}

#[retry]
fn holds_mut(row: Row<'_>) -> Result<(), ApiError> {
    send(row)
}

#[retry]
fn pinned(future: Pin<&mut Db>) -> Result<(), ApiError> {
    send(future)
}

#[retry]
fn part((request, _n): (Request, u8)) -> Result<(), ApiError> {
    send(request)
}

#[retry]
fn future(request: Request) -> impl Future<Output = Result<(), ApiError>> {
    async move { send(request) }
}

fn main() {
    drop(own(Request(String::new())));
    drop(generic(1));
    drop(of_a_parameter(Some(1)));
    drop(function(|| 1));
    drop(no_clone(Box::new(|| 1)));
    let mut db = Db(1);
    drop(holds_mut(Row(&mut db)));
    drop(pinned(Pin::new(&mut db)));
    drop(part((Request(String::new()), 1)));
    drop(future(Request(db.0.to_string())));
}
