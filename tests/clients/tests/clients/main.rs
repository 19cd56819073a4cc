//! The facts in the errors of clients. Each failure is caused on a real loopback socket; `tests/support` has the table
//! of failures, of which each client here is a column.

mod azure_core;
#[cfg(feature = "kube")]
mod kube;
#[cfg(feature = "object-store")]
mod object_store;
mod ureq;

use backoff_core::{Fault, TimedOut};
use std::error::Error;
use support::{MAYBE_SENT, PATIENCE, Repeated::IfIdempotent, assert_row};

/// Installs a provider for TLS, which every client of reqwest asks for where object_store is built
/// together with it, even on `http://`.
fn install_tls() {
    // Fails where a test before has done it.
    #[cfg(feature = "object-store")]
    drop(rustls::crypto::ring::default_provider().install_default());
}

/// An attempt that is cut is an error of the client's own type.
fn assert_cut<E: From<TimedOut> + Fault + Error + Send + Sync + 'static>() {
    let cut = E::from(TimedOut::new(PATIENCE));
    assert_row("cut", cut, MAYBE_SENT, IfIdempotent);
}
