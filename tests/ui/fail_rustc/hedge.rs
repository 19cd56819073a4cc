//! Only an async read gets a second request.

use backoff_core::{Hedge, Policy};
use std::future::ready;
use ui::ApiError;

static READS: Hedge = Hedge::p95();
const POLICY: Policy = Policy::exponential();

fn main() {
    let _ = POLICY.blocking(|| Ok::<_, ApiError>(1)).hedge(&READS);
    let _ = POLICY
        .update(|| ready(Ok::<_, ApiError>(1)), |_| (), |_| ready(Ok(())))
        .hedge(&READS);
}
