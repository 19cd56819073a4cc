//! Functions that cannot say that they failed.

use backoff_core::{TimedOut, retry};
use std::pin::Pin;

#[retry]
async fn nothing() {}

#[retry(timeout = "3s")]
async fn unit() -> () {}

#[retry(on = [503], attempt = n)]
fn maybe() -> Option<u32> {
    Some(n.number())
}

#[retry]
fn future() -> impl Future<Output = u32> {
    async { 1 }
}

#[retry]
fn boxed() -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async {})
}

struct Client;

impl Client {
    #[retry]
    async fn text(&self) -> String {
        String::new()
    }
}

#[retry]
async fn reference(text: &str) -> &str {
    text
}

#[retry]
fn right() -> Result<(), TimedOut> {
    Ok(())
}

fn main() {
    drop((nothing(), unit(), maybe(), future(), boxed()));
    drop((Client.text(), reference(""), right()));
}
