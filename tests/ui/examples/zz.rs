use backoff_core::{Policy, retry, retry_block};
use ui::ApiError;
ui::refused! {
    #[retry(idempotent = "no")]
    #[retry(responses = 3)]
    #[retry(on=[503], responses = 3)]
    #[retry(max_attempts(3))]
    #[retry(P)]
    #[retry(Policy::exponential())]
    #[retry(Policy::exponential().base("1s"))]
    #[retry(no_jitter)]
    #[retry(!idempotent)]
    #[retry(non_idempotent)]
    #[retry(throttled_base = "2m")]
}
async fn call() -> Result<u32, ApiError> { Ok(3) }
fn main() {
    let _ = retry_block!(async { call().await }, max_attempts = 3);
    let _ = retry_block!(async move { call().await }, max_attempts = 3, base = "1s");
    let _ = retry_block!({ Ok::<_, ApiError>(3) }, max_attempts = 3);
}
