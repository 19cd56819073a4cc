//! One error at each use, and none in the body.

use again::{Fault, retry};

#[derive(Debug, Fault)]
#[fault(status = 503)]
struct Busy;

#[retry(max_attempts = 3, attempt = n)]
async fn f() -> Result<u32, Busy> {
    Ok(n.number())
}

fn main() {
    drop(f());
}
