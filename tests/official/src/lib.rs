//! The helpers of the tests with Google's own clients. The tests need the feature `google`.
#![cfg(feature = "google")]

use google_cloud_auth::credentials::{Credentials, anonymous};

/// Installs a TLS provider. Together with Google's crates, every client needs one, even for `http://`.
pub fn install_tls() {
    // Fails where a test before has done it.
    drop(rustls::crypto::ring::default_provider().install_default());
}

/// Credentials for a loopback server. Installs a TLS provider first.
pub fn credentials() -> Credentials {
    install_tls();
    anonymous::Builder::new().build()
}

/// A client of this type for this address, built with these words.
#[macro_export]
macro_rules! client {
    ($client:ty, $url:expr $(, $word:ident($($value:expr),*))*) => {
        <$client>::builder()
            .with_endpoint($url)
            .with_credentials($crate::credentials())
            $(.$word($($value),*))*
            .build()
            .await
            .expect("nothing is sent yet")
    };
}
