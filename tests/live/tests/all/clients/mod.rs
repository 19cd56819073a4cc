//! The facts in the errors of real clients. Each failure is caused on a real loopback socket.

mod configuration;
mod failures;
mod hyper;
mod hyper_util;
mod reqwest;
pub(crate) mod tonic;
