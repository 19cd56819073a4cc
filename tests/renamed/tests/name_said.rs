//! The name is said; the block macro needs none.

use again::{Fault, retry, retry_block};

#[derive(Debug, Fault)]
#[fault(crate = again, status = 503)]
struct Busy;

#[retry(crate = again, max_attempts = 3, base = "1ms", attempt = n)]
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
    let block = retry_block!(max_attempts = 2, async { Ok::<_, Busy>(1) });
    assert_eq!(block.await.unwrap(), 1);
}
