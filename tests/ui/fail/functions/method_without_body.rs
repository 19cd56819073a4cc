//! The declaration of a method.

use backoff_core::retry;
use ui::ApiError;

trait Get {
    #[retry]
    fn get(&self) -> Result<(), ApiError>;
}
