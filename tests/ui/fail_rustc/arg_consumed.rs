//! An argument, or `self`, that the first attempt would consume.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use backoff_core::retry;
use ui::ApiError;

#[derive(Clone)]
struct Request(String);

struct Db(u8);

struct Row<'a>(&'a mut Db);

struct Client(String);

fn send<T>(value: T) -> Result<(), ApiError> {
    drop(value);
    Ok(())
}

impl Client {
    #[retry]
    fn close(self) -> Result<(), ApiError> {
        send(self)
    }

    #[retry]
    async fn shared(self: Arc<Self>) -> Result<(), ApiError> {
        drop(self);
        Ok(())
    }

    // A method that takes `self` by value is not seen by the macro.
    fn into_text(self) -> String {
        self.0
    }

    #[retry]
    fn text(self) -> Result<String, ApiError> {
        Ok(self.into_text())
    }
}

#[async_trait::async_trait]
trait Close {
    async fn close_it(self) -> Result<(), ApiError>;
}

#[async_trait::async_trait]
impl Close for Client {
    #[retry]
    async fn close_it(self) -> Result<(), ApiError> {
        send(self)
    }
}

#[retry]
async fn known(body: Vec<u8>) -> Result<(), ApiError> {
    send(body)
}

#[retry]
async fn by_method(body: Vec<u8>) -> Result<Box<[u8]>, ApiError> {
    Ok(body.into_boxed_slice())
}

#[retry]
fn given_back(request: Request) -> Result<Request, ApiError> {
    Ok(request)
}

#[retry]
async fn by_loop(numbers: Vec<u32>) -> Result<u32, ApiError> {
    let mut sum = 0;
    for number in numbers {
        sum += number;
    }
    Ok(sum)
}

#[retry]
fn shared(path: Arc<str>) -> Result<(), ApiError> {
    drop(path);
    Ok(())
}

// Types that the macro does not know.
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

fn main() {}
