//! Rules that nobody asks, and values in a row that are not counted, or never come.

use ui::ApiError;

ui::refused! {
    #[retry(idempotent = false)]
    #[retry(when = |_| true, retry_conflicts)]
    #[retry(max_queue_time = "5s")]
    #[retry(tokens = 500)]
    #[retry(rate = RATE, tokens = "many")]

    #[retry(consecutive = 3)]
    #[retry(until = |visible| *visible, consecutive = 0)]
    #[retry(until = |visible| *visible, consecutive = "three")]
    #[retry(until = |visible| *visible, consecutive = 3, max_attempts = 2)]
    #[retry(until = |visible| *visible, consecutive = 6)]
}

fn main() {
    let _ = backoff_core::retry_block!(consecutive = 3, async { Ok::<_, ApiError>(true) });
}
