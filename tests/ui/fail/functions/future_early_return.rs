//! A future that is given back early would be tried once only.

use backoff_core::retry;
use std::pin::Pin;
use ui::ApiError;

#[retry(max_attempts = 3)]
fn f(fast: bool) -> Pin<Box<dyn Future<Output = Result<(), ApiError>> + Send>> {
    let closure = || {
        return 1;
    };
    let typed = || -> u8 { return 1 };
    if fast && closure() + typed() == 2 {
        return Box::pin(async { Ok(()) });
    }
    Box::pin(async move { Ok(()) })
}
