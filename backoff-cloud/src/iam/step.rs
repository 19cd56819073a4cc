//! The steps of a change of a policy: the read, the change, the write. `iam::add` and `Members` share them.

use super::allow::{AllowPolicy, POLICY_VERSION};
use super::grant::Grant;
use super::store::{Failure, PolicyStore};
use std::{borrow::Borrow, time::Duration};

/// How long a read and the write after it may take, unless the caller sets another time. Google's own
/// clients try for a minute too.
pub(super) const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(60);

/// Registers the types of the errors of changes, so that the core finds them inside an `anyhow::Error` or a
/// box.
pub(super) fn make_known() {
    #[cfg(any(feature = "http", feature = "gax-1"))]
    {
        use backoff_core::__private::register;
        static KNOWN: std::sync::Once = std::sync::Once::new();
        KNOWN.call_once(|| {
            #[cfg(feature = "http")]
            register::<Failure<crate::http::ApiError>>();
            #[cfg(feature = "gax-1")]
            register::<Failure<google_cloud_gax_1::error::Error>>();
        });
    }
}

pub(super) async fn read<S: PolicyStore>(
    store: &S,
    resource: &str,
) -> Result<S::Policy, Failure<S::Error>> {
    store.get(resource).await.map_err(Failure::Client)
}

/// The version of a policy: its etag.
pub(super) fn version<P: AllowPolicy>(policy: &P) -> Vec<u8> {
    policy.etag().to_vec()
}

/// Changes a policy that needs the change and may be written. Returns whether the policy changed. `to_mut` makes
/// the policy mutable, which copies a shared one.
pub(super) fn change<P: AllowPolicy, T: Borrow<P>, E>(
    grant: &Grant,
    resource: &str,
    policy: &mut T,
    to_mut: fn(&mut T) -> &mut P,
) -> Result<bool, Failure<E>> {
    let read: &P = (*policy).borrow();
    if !grant.is_needed(read) {
        return Ok(false);
    }
    if !read.has_etag() {
        return Err(Failure::NoEtag {
            resource: resource.to_owned(),
        });
    }
    let policy = to_mut(policy);
    grant.apply(policy);
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
        return Err(Failure::MaybeWritten { resource });
    }
    Ok(written)
}
