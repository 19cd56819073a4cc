//! What is copied and what is kept must be owned arguments; what is changed must be one of both.

use backoff_core::retry;
use ui::ApiError;

#[retry(clone(name, self, bdy, other))]
async fn copied(name: &str, body: Vec<u8>) -> Result<usize, ApiError> {
    Ok(name.len() + body.len())
}

#[retry(clone(a, a), keep(a, b))]
async fn copied_and_kept(mut a: Vec<u8>, b: u32) -> Result<usize, ApiError> {
    a.push(1);
    Ok(a.len() + b as usize)
}

#[retry(keep(mut seen))]
async fn kept(seen: u32) -> Result<u32, ApiError> {
    Ok(seen)
}

#[retry(base = "1ms")]
async fn changed(mut a: Vec<u8>, (mut b, _c): (u32, u32)) -> Result<usize, ApiError> {
    a.push(1);
    b += 1;
    Ok(a.len() + b as usize)
}

#[retry(base = "1ms")]
async fn in_any_letters(mut Seen: Vec<u8>, mut 数: Vec<u8>) -> Result<usize, ApiError> {
    Seen.push(1);
    数.push(1);
    Ok(Seen.len() + 数.len())
}

struct S(u32);

impl S {
    #[retry(base = "1ms")]
    fn changed(mut self) -> Result<u32, ApiError> {
        self.0 += 1;
        Ok(self.0)
    }
}
