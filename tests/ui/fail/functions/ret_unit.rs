//! A function without a result.

use backoff_core::retry;

#[retry]
async fn f() {}
