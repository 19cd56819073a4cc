//! `self` that the first attempt consumes.

use std::sync::Arc;

use backoff_core::retry;
use ui::ApiError;

struct Client(String);

impl Client {
    #[retry]
    fn close(self) -> Result<(), ApiError> {
        drop(self);
        Ok(())
    }

    #[retry]
    async fn shared(self: Arc<Self>) -> Result<(), ApiError> {
        drop(self);
        Ok(())
    }
}

#[async_trait::async_trait]
trait Close {
    async fn close_it(self) -> Result<(), ApiError>;
}

#[async_trait::async_trait]
impl Close for Client {
    #[retry]
    async fn close_it(self) -> Result<(), ApiError> {
        drop(self);
        Ok(())
    }
}

fn main() {
    drop(Client(String::new()).close());
    drop(Arc::new(Client(String::new())).shared());
    drop(Client(String::new()).close_it());
}
