//! gRPC codes as other crates name them.

use backoff_core::{GrpcCode, retry};
use ui::ApiError;

#[retry(on = [ABORTED, UNAVAILABLE])]
async fn f() -> Result<(), ApiError> {
    Ok(())
}

#[retry(on = [GrpcCode::DeadlineExceeded])]
async fn g() -> Result<(), ApiError> {
    Ok(())
}
