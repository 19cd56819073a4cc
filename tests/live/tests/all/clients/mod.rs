//! The facts in the errors of real clients. Each failure is caused on a real loopback socket.

pub(crate) mod failures;
mod hyper;
mod hyper_util;
pub(crate) mod tonic;
