//! Rules that nobody asks.

ui::refused! {
    #[retry(idempotent = false)]
    #[retry(when = |_| true, retry_conflicts)]
}
