//! What an attempt borrows of a `&mut` argument cannot leave the attempt.

use backoff_core::retry;
use ui::ApiError;

struct Client {
    names: Vec<String>,
}

impl Client {
    #[retry(base = "1ms")]
    async fn newest(&mut self) -> Result<&String, ApiError> {
        self.names.push(String::new());
        self.names.last().ok_or(ApiError(503))
    }

    #[retry(base = "1ms")]
    fn text(&mut self) -> Result<&str, ApiError> {
        self.names.push(String::new());
        Ok(&self.names[0])
    }
}

fn main() {
    let mut client = Client { names: Vec::new() };
    drop(client.text().map(str::len));
    drop(client.newest());
}
