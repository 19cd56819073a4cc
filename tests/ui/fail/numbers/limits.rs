//! No attempt, no time for one, and waits that shrink.

ui::refused! {
    #[retry(max_attempts = 0)]
    #[retry(attempt_timeout = "0s")]
    #[retry(timeout = "0s")]
    #[retry(factor = 0.5)]
}
