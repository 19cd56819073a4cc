use backoff_core::retry;

#[retry(on = [503], retry_after_slack = "5s", scaled = 0.1)]
async fn f() -> Result<(), ui::ApiError> {
    Ok(())
}
