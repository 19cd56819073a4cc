//! Keys and values that are written wrongly. Every mistake of an attribute is reported.

ui::refused! {
    #[retry(5, [429], "1s")]
    #[retry(base, deadline = , jitter: full)]
    #[retry(max_attempts = 3 deadline = "30s"; idempotent)]
    #[retry(base = "1s", factor = 2.0, base = "2s")]
    #[retry(max_attempts(3), base("2s"))]

    // A value without a key.
    #[retry(P)]
    #[retry(Policy::exponential())]
    #[retry(P.base("1s"))]
    #[retry(!idempotent)]

    // One message for one value.
    #[retry(idempotent = "no")]
    #[retry(responses = 3)]
    #[retry(crate = "backoff_core")]
    #[retry(attempt = 3, notify = "log", sleep = 3, budget = 10, operation = 3, clone = a, faults, keep())]
    #[retry(bse = "1s", max_backoff = "64", max_attempts = 0, on = [504..=500], deadline)]
}
