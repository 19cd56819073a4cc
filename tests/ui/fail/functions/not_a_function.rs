//! Something that is no function.

use backoff_core::retry;

#[retry]
struct Client;

#[retry(base = "1s")]
impl Client {
    fn get(&self) {}
}

fn main() {
    // Both are still there: no second error.
    Client.get();
}
