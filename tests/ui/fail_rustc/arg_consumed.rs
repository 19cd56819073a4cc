//! An argument, or `self`, that the first attempt would consume.

use std::sync::Arc;

use backoff_core::retry;
use ui::ApiError;

async fn post(path: &str, body: Vec<u8>) -> Result<(), ApiError> {
    drop((path, body));
    Ok(())
}

struct Request(String);

struct Client(String);

impl Client {
    fn into_text(self) -> String {
        self.0
    }

    #[retry]
    fn close(self) -> Result<(), ApiError> {
        drop(self);
        Ok(())
    }
}

#[retry]
async fn f(path: &str, body: Vec<u8>) -> Result<(), ApiError> {
    post(path, body).await
}

#[retry]
fn g(request: Request) -> Result<Request, ApiError> {
    Ok(request)
}

#[retry]
async fn h(numbers: Vec<u32>) -> Result<u32, ApiError> {
    let mut sum = 0;
    for number in numbers {
        sum += number;
    }
    Ok(sum)
}

#[retry]
fn i(path: Arc<str>) -> Result<(), ApiError> {
    drop(path);
    Ok(())
}

fn main() {
    drop(Client(String::new()).close());
    drop(Client(String::new()).into_text());
    drop(f("", Vec::new()));
    drop(g(Request(String::new())).map(|request| request.0));
    drop(h(Vec::new()));
    drop(i("".into()));
}
