//! The code gives the library its own name back.

extern crate again as backoff_core;

use backoff_core::{Fault, retry};

#[derive(Debug, Fault)]
#[fault(status = 503)]
struct Busy;

#[retry(max_attempts = 3, base = "1ms", attempt = n)]
async fn f() -> Result<u32, Busy> {
    if n.number() < 3 {
        Err(Busy)
    } else {
        Ok(n.number())
    }
}

#[tokio::test]
async fn works() {
    assert_eq!(f().await.unwrap(), 3);
}
