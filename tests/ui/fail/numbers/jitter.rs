//! A jitter that is none, and what other libraries take as jitter.

ui::refused! {
    #[retry(jitter = fulll)]
    #[retry(jitter = 0.2)]
    #[retry(jitter = true)]
    #[retry(jitter = false)]
    #[retry(jitter = "20%")]
    #[retry(jitter = "random")]
    #[retry(jitter = 3)]
    #[retry(jitter)]
    #[retry(log_waits = true)]
}
