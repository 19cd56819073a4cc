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

    fn into_text(self) -> String {
        self.0
    }

    #[retry]
    fn text(self) -> Result<String, ApiError> {
        Ok(self.into_text())
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

struct Letter {
    body: Request,
    copies: u8,
}

#[retry]
async fn into(text: String) -> Result<Box<str>, ApiError> {
    Ok(text.into())
}

#[retry]
async fn in_a_task(request: Request) -> Result<usize, ApiError> {
    let task = async move { request.0.len() + size(&request) };
    Ok(task.await)
}

#[retry]
async fn in_a_closure(request: Request) -> Result<usize, ApiError> {
    let size = move || size(&request);
    Ok(size())
}

#[retry]
async fn bound(request: Request) -> Result<usize, ApiError> {
    let other: Request = request;
    Ok(size(&other))
}

#[retry]
async fn in_a_struct(request: Request, body: Request) -> Result<(Letter, Letter), ApiError> {
    let letter = Letter { body: request, copies: 1 };
    Ok((letter, Letter { body, copies: 2 }))
}

#[retry]
async fn in_a_tuple(request: Request) -> Result<(u8, Request), ApiError> {
    Ok((1, request))
}

#[retry]
async fn in_an_array(request: Request) -> Result<[Request; 1], ApiError> {
    Ok([request])
}

fn size(request: &Request) -> usize {
    request.0.len()
}

async fn in_blocks(request: Request, text: String, letter: Letter) -> Result<(), ApiError> {
    retry_block!(max_attempts = 3, async { send(request) }).await?;
    retry_block!(on = [503], async move {
        send(Box::<str>::from(""))?;
        send::<Box<str>>(text.into())
    })
    .await?;
    retry_block!(max_attempts = 3, {
        assert!(letter.copies > 0);
        send(letter.body)
    })
}

impl Request {
    async fn send(self) -> Result<usize, ApiError> {
        Ok(self.0.len())
    }

    fn commit(self) -> Result<(), ApiError> {
        Ok(())
    }
}

#[retry]
async fn by_the_name_of_the_method(request: Request) -> Result<usize, ApiError> {
    request.send().await
}

#[retry]
fn by_another(request: Request, text: Option<String>) -> Result<usize, ApiError> {
    let text = text.unwrap_or_default();
    request.commit()?;
    Ok(text.len())
}

enum Range {
    Of(String, u64),
    Whole,
}

struct Options {
    range: Range,
    name: String,
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
async fn by_a_match(options: Options) -> Result<String, ApiError> {
    match options.range {
        Range::Of(text, _) => Ok(text),
        Range::Whole => Ok(options.name.clone()),
    }
}

#[retry]
async fn by_a_let(options: Options) -> Result<String, ApiError> {
    let Options { name, .. } = options;
    Ok(name)
}

#[retry]
async fn by_an_if(text: Option<String>) -> Result<String, ApiError> {
    if let Some(text) = text {
        return Ok(text);
    }
    Ok(String::new())
}

#[retry]
async fn bound_again_later(request: Request) -> Result<usize, ApiError> {
    let request = Request(request.0);
    Ok(size(&request))
}

#[retry]
async fn beside_a_cfg(request: Request) -> Result<(), ApiError> {
    #[cfg(unix)]
    let _is_unix = true;
    send(request)
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
