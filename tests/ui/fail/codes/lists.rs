//! What is no list, and lists as other languages write them.

ui::refused! {
    #[retry(on = 429)]
    #[retry(on = "503")]
    #[retry(on = (429, 503))]
    #[retry(on = {429, 503})]
    #[retry(on = [429 | 503 | 500..=502])]
    #[retry(on = [500...504, 429])]
    #[retry(on = ["429", "500..=504", "busy"])]
    #[retry(on = 500..=504)]
    #[retry(on = 429 | 503)]
    #[retry(on(429, 503))]
    #[retry(on = [429 503])]
}
