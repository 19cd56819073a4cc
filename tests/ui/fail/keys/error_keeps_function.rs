//! One mistake is one error: the function stays.

use backoff_core::retry;
use ui::ApiError;

#[retry(bse = "1s")]
async fn f() -> Result<(), ApiError> {
    Ok(())
}

struct Client;

impl Client {
    #[retry(colour = "blue")]
    fn get(&self) -> Result<(), ApiError> {
        Ok(())
    }
}

fn main() {
    let _ = f();
    let _ = Client.get();
}
