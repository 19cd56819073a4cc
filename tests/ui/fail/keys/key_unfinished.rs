//! A key that is not yet written out: what an editor reads beside the error is not seen here.

#![forbid(unexpected_cfgs, warnings)]

use backoff_core::{retry, retry_block};
use ui::ApiError;

#[retry(policy = backoff_core::Policy::exponential(), max_back)]
async fn f() -> Result<(), ApiError> {
    Ok(())
}

struct Client;

impl Client {
    #[retry(max_attempts = 3, deadline =)]
    fn g(&self) -> Result<(), ApiError> {
        Ok(())
    }
}

fn main() {
    let _ = f();
    let _ = Client.g();
    let _ = retry_block!(max_back, async { Ok::<_, ApiError>(1) });
}
