//! What the tests with Google's own clients share.

use google_cloud_auth::credentials::{Credentials, anonymous};

/// Credentials for a loopback server. Installs a TLS provider first, which Google's crates ask for
/// even on `http://`.
pub fn credentials() -> Credentials {
    // Fails where a test before has done it.
    drop(rustls::crypto::ring::default_provider().install_default());
    anonymous::Builder::new().build()
}
