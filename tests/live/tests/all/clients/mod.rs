//! The facts in the errors of real clients. Each failure is caused on a real loopback socket. Each test has
//! the name of its failure.

mod facts;
mod http2;
mod hyper;
mod io;
mod lies;
mod reqwest;
mod reqwest_012;
pub(crate) mod server;
mod tonic;
