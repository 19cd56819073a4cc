//! The facts in the errors of clients. Each failure is caused on a real loopback socket; `tests/support` has the table
//! of failures, of which each client here is a column.

mod azure_core;
#[cfg(feature = "kube")]
mod kube;
#[cfg(feature = "object-store")]
mod object_store;
mod objects;
mod ureq;

/// Installs a provider for TLS, which every client of reqwest asks for where object_store is built
/// together with it, even on `http://`.
fn install_tls() {
    // Fails where a test before has done it.
    #[cfg(feature = "object-store")]
    drop(rustls::crypto::ring::default_provider().install_default());
}
