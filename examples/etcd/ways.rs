//! Four ways to add a name to a list that other writers change too.

use std::time::Duration;

use backoff_cloud::{Policy, http::ApiError};

use crate::store::Store;

/// The waits are short because etcd is near and fast. The deadline is long, so that every name arrives from a
/// slow machine too.
const UPDATE: Policy = Policy::exponential()
    .base(Duration::from_millis(20))
    .max_backoff(Duration::from_millis(500))
    .deadline(Duration::from_secs(600));

/// The result of one writer.
#[derive(Clone, Copy, Default)]
pub(crate) struct Outcome {
    /// Whether the writer believes that its name is in the list.
    pub(crate) believes: bool,
    /// How many conflicts the writer noticed.
    pub(crate) conflicts: u32,
}

/// 1. Reads and writes without a compare: nobody notices when a name is overwritten.
pub(crate) async fn no_compare(store: Store, name: String) -> Result<Outcome, ApiError> {
    let mut names = store.read().await?;
    names.add(&name);
    store.put(&names).await?;
    Ok(Outcome {
        believes: true,
        conflicts: 0,
    })
}

/// 2. Compares, and gives up after a conflict.
pub(crate) async fn once(store: Store, name: String) -> Result<Outcome, ApiError> {
    at_once_again(store, name, 1).await
}

/// 3. Compares, and begins again without a wait, up to five times: the loop that many guides show.
pub(crate) async fn five_times(store: Store, name: String) -> Result<Outcome, ApiError> {
    at_once_again(store, name, 5).await
}

async fn at_once_again(store: Store, name: String, attempts: u32) -> Result<Outcome, ApiError> {
    for conflicts in 0..attempts {
        let mut names = store.read().await?;
        names.add(&name);
        if store.swap(&names).await?.succeeded {
            return Ok(Outcome {
                believes: true,
                conflicts,
            });
        }
    }
    Ok(Outcome {
        believes: false,
        conflicts: attempts,
    })
}

/// 4. Compares, and begins again after a random wait: `Policy::update` goes back to the read after a
///    conflict.
pub(crate) async fn update(store: Store, name: String) -> Result<Outcome, ApiError> {
    let (_, report) = UPDATE
        .update(
            || store.read(),
            |names| names.add(&name),
            async |names| store.swap(&names).await,
        )
        .conflict_if(|reply| !reply.succeeded)
        .attempt_timeout(Duration::from_secs(60))
        .reported()
        .await
        .map_err(|given_up| given_up.into_error())?;
    Ok(Outcome {
        believes: true,
        conflicts: report.conflicts,
    })
}
