//! Connects Google's client to the emulator.

use emulator::Emulator;
use google_cloud_auth::credentials::anonymous;
use google_cloud_gax_1::{options::RequestOptionsBuilder, retry_policy::NeverRetry};
use google_cloud_secretmanager_v1::builder::secret_manager_service::ClientBuilder;
use google_cloud_secretmanager_v1::client::SecretManagerService;

use crate::Error;

/// A client without credentials. `configure` can add other settings.
pub(crate) async fn connect(
    emulator: &Emulator,
    configure: impl FnOnce(ClientBuilder) -> ClientBuilder,
) -> Result<SecretManagerService, Error> {
    // Google's crates need a TLS provider, even for `http://`. This fails if one is installed already.
    drop(rustls::crypto::ring::default_provider().install_default());
    let builder = SecretManagerService::builder()
        .with_endpoint(emulator.url())
        .with_credentials(anonymous::Builder::new().build());
    Ok(configure(builder).build().await?)
}

/// A request that the client does not retry.
pub(crate) fn once<B: RequestOptionsBuilder>(request: B) -> B {
    request.with_retry_policy(NeverRetry)
}
