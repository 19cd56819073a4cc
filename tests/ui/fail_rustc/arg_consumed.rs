//! A value that the first attempt would consume: an argument, `self`, a variable around a block.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use backoff_core::{retry, retry_block};
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

    #[retry]
    fn of_a_field(self) -> Result<(), ApiError> {
        send(self.0)
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
fn given_back(request: Request) -> Result<Request, ApiError> {
    Ok(request)
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

async fn in_blocks(request: Request, text: String, pair: (Request, u8)) -> Result<(), ApiError> {
    retry_block!(max_attempts = 3, async { send(request) }).await?;
    retry_block!(on = [503], async move {
        send(Box::<str>::from(""))?;
        send::<Box<str>>(text.into())
    })
    .await?;
    retry_block!(max_attempts = 3, {
        assert!(pair.1 > 0);
        send(pair.0)
    })
}

impl Request {
    async fn send(self) -> Result<usize, ApiError> {
        Ok(self.0.len())
    }
}

#[retry]
async fn by_the_name_of_the_method(request: Request) -> Result<usize, ApiError> {
    request.send().await
}

enum Range {
    Of(String, u64),
    Whole,
}

impl Range {
    #[retry]
    fn matched(self) -> Result<String, ApiError> {
        match self {
            Range::Of(text, _) => Ok(text),
            Range::Whole => Ok(String::new()),
        }
    }
}

#[retry]
async fn under_a_cfg(request: Request) -> Result<usize, ApiError> {
    match request.0.len() {
        #[cfg(unix)]
        0 => request.send().await,
        size => Ok(size),
    }
}

#[retry]
fn called_once<F>(make: F) -> Result<u8, ApiError>
where
    F: Send + FnOnce(u8) -> u8,
{
    Ok(make(1))
}

#[retry(keep(seen))]
async fn given_away(mut seen: Vec<u8>) -> Result<Vec<u8>, ApiError> {
    seen.push(1);
    Ok(seen)
}

impl Db {
    #[retry]
    fn of_a_pin(self: Pin<&mut Self>) -> Result<u8, ApiError> {
        let db = self.get_mut();
        Ok(db.0)
    }
}

fn main() {}
