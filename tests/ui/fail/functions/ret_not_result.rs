//! A function that cannot fail.

use backoff_core::retry;

#[retry]
async fn f() -> u32 {
    1
}
