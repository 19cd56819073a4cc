//! One mistake is one error: the body finds the attempt.
#![allow(unused)]

mod rules {
    use backoff_core::{Budget, Policy};
    use ui::ApiError;

    pub const POLICY: Policy = Policy::exponential();
    pub static BUDGET: Budget = Budget::grpc(10, 0.1);
    pub const MOST: u32 = 5;

    pub fn is_busy(error: &ApiError) -> bool {
        error.0 == 429
    }

    pub fn log(text: &str) {
        println!("{text}");
    }
}

use backoff_core::{Verdict, retry, retry_block};
use rules::{BUDGET, MOST, POLICY, is_busy, log};
use std::time::Duration;
use ui::ApiError;

#[retry(policy = POLICY, budget = BUDGET, when = is_busy, attempt = n, bse = 3)]
async fn f() -> Result<u32, ApiError> {
    let number: u32 = n.number();
    Ok(number)
}

struct Client {
    limit: u32,
}

impl Client {
    #[retry(
        tries = MOST,
        max_attempts = self.limit,
        base = Duration::from_secs(1),
        when = |error| Verdict::from(error.0 == 429),
        notify = |event| log(&format!("{event}")),
        attempt = n
    )]
    fn g(&self) -> Result<u32, ApiError> {
        Ok(n.number())
    }
}

fn main() {
    let _ = f();
    let _ = Client { limit: 3 }.g();
    let waited = 3;
    let _: Result<u32, ApiError> =
        retry_block!(max_attempts = waited, attempt = n, bse = 3, { Ok(n.number()) });
}
