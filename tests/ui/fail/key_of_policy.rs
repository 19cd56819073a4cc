use backoff_core::retry;

#[retry(on = [503], idempotent = false)]
async fn f() -> Result<(), ui::ApiError> {
    Ok(())
}

fn main() {}
