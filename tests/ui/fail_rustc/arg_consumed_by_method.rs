//! A method that takes `self` by value is not seen by the macro.

use backoff_core::retry;
use ui::ApiError;

struct Client(String);

impl Client {
    fn into_text(self) -> String {
        self.0
    }

    #[retry]
    fn text(self) -> Result<String, ApiError> {
        Ok(self.into_text())
    }
}

#[retry]
async fn f(body: Vec<u8>) -> Result<Box<[u8]>, ApiError> {
    Ok(body.into_boxed_slice())
}

fn main() {
    drop(Client(String::new()).text());
    drop(f(Vec::new()));
}
