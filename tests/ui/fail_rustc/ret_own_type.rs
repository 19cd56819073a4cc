//! A type of one's own that is no `Result`.

use backoff_core::{Policy, retry};
use ui::ApiError;

struct Reply;

type Answer = Result<u32, ApiError>;

const POLICY: Policy = Policy::exponential();

#[retry]
async fn f() -> Reply {
    Reply
}

#[retry(policy = POLICY, attempt = n)]
fn g() -> Reply {
    let _ = n.number();
    Reply
}

#[retry(when = |_| true)]
async fn h() -> Reply {
    Reply
}

#[retry(timeout = "3s", notify = |_| {})]
async fn i() -> Reply {
    Reply
}

#[retry]
async fn right() -> Answer {
    Ok(1)
}

fn main() {
    drop((f(), g(), h(), i(), right()));
}
