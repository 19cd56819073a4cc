//! What an attempt borrows of a `&mut` argument cannot leave the attempt.

use backoff_core::retry;
use ui::ApiError;

#[retry(base = "1ms")]
async fn f(numbers: &mut Vec<u32>) -> Result<&mut u32, ApiError> {
    numbers.last_mut().ok_or(ApiError(503))
}

struct Reader(Vec<u8>);

impl Reader {
    #[retry(base = "1ms")]
    async fn fill(&mut self, key: &str) -> Result<&[u8], ApiError> {
        self.0.extend(key.bytes());
        Ok(&self.0)
    }

    #[retry(base = "1ms")]
    fn elided(&mut self) -> Result<&u8, ApiError> {
        self.0.last().ok_or(ApiError(503))
    }

    #[retry(base = "1ms")]
    fn blocking<'a>(&'a mut self, key: &str) -> Result<Option<&'a [u8]>, ApiError> {
        self.0.extend(key.bytes());
        Ok(Some(&self.0))
    }
}

fn main() {
    let mut reader = Reader(Vec::new());
    drop(reader.elided().copied());
    drop(reader.fill(""));
}
