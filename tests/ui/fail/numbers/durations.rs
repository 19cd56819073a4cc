//! Durations without a unit or with a wrong one, and those that contradict each other.

ui::refused! {
    #[retry(base = "64", deadline = 300)]
    #[retry(base = 500, deadline = 5000, timeout = 1.5)]
    #[retry(base = "64sec", deadline = 5parsecs)]
    #[retry(base = "-1s", deadline = -300s)]
    #[retry(base = "2m", max_backoff = "64s", deadline = 1s)]
    #[retry(base = "2m", throttled_base = "2m")]
    #[retry(throttled_base = "2m", max_backoff = "90s")]
    #[retry(attempt_timeout = "20s", timeout = "10s")]
}
