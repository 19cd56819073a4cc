//! A guard borrowed from `&mut self`: a type with a lifetime does not show whether it borrows
//! mutably, so the compiler says it.

use backoff_core::retry;
use ui::ApiError;

struct Guard<'a>(&'a mut u32);

struct Client(u32);

impl Client {
    #[retry]
    async fn guard(&mut self) -> Result<Guard<'_>, ApiError> {
        Ok(Guard(&mut self.0))
    }

    #[retry]
    fn blocking(&mut self) -> Result<Guard<'_>, ApiError> {
        Ok(Guard(&mut self.0))
    }
}

fn main() {
    drop(Client(0).blocking().map(|guard| *guard.0));
}
