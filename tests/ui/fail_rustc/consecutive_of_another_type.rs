//! A number of values in a row that is no `u32`, and a count without `until`.

use backoff_core::{NotYet, Policy, retry};

#[retry(until = |visible| *visible, consecutive = values)]
async fn of_another_type(values: usize) -> Result<bool, NotYet> {
    Ok(true)
}

fn main() {
    let _ = Policy::exponential()
        .retry(|| std::future::ready(Ok::<_, NotYet>(true)))
        .consecutive(3);
}
