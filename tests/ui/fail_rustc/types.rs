//! Types that do not agree: of a return and a tail, of a judge, of a pattern, of a number. The mistake in a
//! key does not hide the mistake in the body.

use backoff_core::{NotYet, Policy, retry};
use ui::ApiError;

#[retry]
async fn in_return() -> Result<(), ApiError> {
    if true {
        return Ok("text");
    }
    Ok(())
}

#[retry]
async fn in_tail() -> Result<(), ApiError> {
    Ok("text")
}

#[retry(when = |error: &String| error.is_empty())]
async fn of_judge() -> Result<(), ApiError> {
    Ok(())
}

enum Other {
    Busy,
}

#[retry(on = [Other::Busy])]
async fn of_pattern() -> Result<(), ApiError> {
    Ok(())
}

#[retry(until = |visible| *visible, consecutive = values)]
async fn of_number(values: usize) -> Result<bool, NotYet> {
    Ok(true)
}

#[retry(tries = 3, attempt = n)]
async fn beside_a_wrong_key() -> Result<u64, ApiError> {
    let number: u64 = n.number();
    Ok(number)
}

fn main() {
    // A count without `until`.
    let _ = Policy::exponential()
        .retry(|| std::future::ready(Ok::<_, NotYet>(true)))
        .consecutive(3);
}
