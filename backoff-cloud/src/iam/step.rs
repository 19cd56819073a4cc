//! The steps of a change of a policy, whether it is made alone or with others: the read, the change,
//! the write.

use super::allow::{AllowPolicy, POLICY_VERSION};
use super::grant::Grant;
use super::store::{Failure, PolicyStore};
use std::time::Duration;

/// How long a read and the write after it may take unless the caller says otherwise: a minute,
/// which is how long Google's own clients try.
pub(super) const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(60);

/// Makes the errors of changes known, so that the core finds them behind an `anyhow::Error` or in a
/// box.
pub(super) fn make_known() {
    #[cfg(any(feature = "http", feature = "gax-1"))]
    {
        use backoff_core::__private::know;
        static KNOWN: std::sync::Once = std::sync::Once::new();
        KNOWN.call_once(|| {
            #[cfg(feature = "http")]
            know::<Failure<crate::http::ApiError>>();
            #[cfg(feature = "gax-1")]
            know::<Failure<google_cloud_gax_1::error::Error>>();
        });
    }
}

pub(super) async fn read<S: PolicyStore>(
    store: &S,
    resource: &str,
) -> Result<S::Policy, Failure<S::Error>> {
    store.get(resource).await.map_err(Failure::Client)
}

/// The version of a policy that was read.
pub(super) fn version<P: AllowPolicy>(policy: &P) -> Vec<u8> {
    policy.etag().to_vec()
}

/// Changes what was read; whether there is something to write, and may be.
pub(super) fn apply<P: AllowPolicy, E>(
    grant: Grant<'_>,
    adds: bool,
    resource: &str,
    policy: &mut P,
) -> Result<bool, Failure<E>> {
    let changed = if adds {
        grant.add(policy)
    } else {
        grant.remove(policy)
    };
    if !changed {
        return Ok(false);
    }
    if !policy.has_etag() {
        return Err(Failure::NoEtag {
            resource: resource.to_owned(),
        });
    }
    policy.set_version(POLICY_VERSION);
    Ok(true)
}

pub(super) async fn write<S: PolicyStore>(
    store: &S,
    resource: &str,
    policy: S::Policy,
) -> Result<S::Policy, Failure<S::Error>> {
    let written = store.set(resource, policy).await.map_err(Failure::Client)?;
    if !written.has_etag() {
        let resource = resource.to_owned();
        return Err(Failure::Doubtful { resource });
    }
    Ok(written)
}
