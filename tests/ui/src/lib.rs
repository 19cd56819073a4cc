//! The cases share this operation, which fails a few times.

use std::sync::atomic::{AtomicU32, Ordering};

pub use backoff_core;
use backoff_core::Fault;

/// An error with a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiError(
    /// The HTTP status.
    pub u16,
);

impl Fault for ApiError {
    fn status(&self) -> Option<u16> {
        Some(self.0)
    }
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "status {}", self.0)
    }
}

impl std::error::Error for ApiError {}

/// Fails with the status 503 a number of times, then succeeds.
#[derive(Debug)]
pub struct Flaky {
    failures: u32,
    calls: AtomicU32,
}

impl Flaky {
    /// An operation that fails `failures` times.
    pub const fn failing(failures: u32) -> Self {
        Self {
            failures,
            calls: AtomicU32::new(0),
        }
    }

    /// Calls the operation once. A success returns the number of calls so far.
    pub fn call(&self) -> Result<u32, ApiError> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        if call > self.failures {
            Ok(call)
        } else {
            Err(ApiError(503))
        }
    }

    /// How often the operation was called.
    pub fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }
}

/// Gives each attribute a function of its own. The brackets of an attribute come from the case, so that a message
/// about the whole attribute points to it.
#[macro_export]
macro_rules! refused {
    ($($hash:tt $attribute:tt)*) => {
        $(const _: () = {
            #[allow(unused_imports)]
            use $crate::backoff_core::retry;
            $hash $attribute
            async fn f() -> ::core::result::Result<(), $crate::ApiError> {
                Ok(())
            }
        };)*
    };
}
