//! What one attempt changes, the next one would see.

use backoff_core::retry;
use ui::ApiError;

#[retry(base = "1ms")]
async fn f(mut a: Vec<u8>, (mut b, _c): (u32, u32)) -> Result<usize, ApiError> {
    a.push(1);
    b += 1;
    Ok(a.len() + b as usize)
}

struct S(u32);

impl S {
    #[retry(base = "1ms")]
    fn g(mut self) -> Result<u32, ApiError> {
        self.0 += 1;
        Ok(self.0)
    }
}
