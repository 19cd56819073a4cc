//! The facts in the errors of clients. Each failure is caused on a real loopback socket.

mod azure_core;
#[path = "../../../live/tests/all/clients/facts.rs"]
mod facts;
mod forms;
#[cfg(feature = "kube")]
mod kube;
#[cfg(feature = "object-store")]
mod object_store;
mod server;
mod ureq;

/// Installs a provider for TLS, which every client of reqwest asks for where object_store is built
/// together with it, even on `http://`.
fn install_tls() {
    // Fails where a test before has done it.
    #[cfg(feature = "object-store")]
    drop(rustls::crypto::ring::default_provider().install_default());
}
