//! The facts in the errors of clients. Each failure is caused on a real loopback socket. Each test has the
//! name of its failure.

mod azure_core;
#[path = "../../../live/tests/all/clients/facts.rs"]
mod facts;
#[cfg(feature = "kube")]
mod kube;
#[cfg(feature = "object-store")]
mod object_store;
mod server;
mod ureq;

/// The facts of a reply that has only this status.
fn status(status: u16) -> facts::Facts {
    facts::Facts {
        status: Some(status),
        ..facts::NOTHING
    }
}

/// Installs a provider for TLS, which every client of reqwest asks for where object_store is built
/// together with it, even on `http://`.
fn install_tls() {
    // Fails where a test before has done it.
    #[cfg(feature = "object-store")]
    drop(rustls::crypto::ring::default_provider().install_default());
}
