//! Tokens whose cancelling is the signal that ends a call.

use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A token that is cancelled after a minute.
pub(crate) fn in_a_minute() -> CancellationToken {
    let token = CancellationToken::new();
    let later = token.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(60)).await;
        later.cancel();
    });
    token
}

/// A token that is cancelled already.
pub(crate) fn cancelled() -> CancellationToken {
    let token = CancellationToken::new();
    token.cancel();
    token
}
