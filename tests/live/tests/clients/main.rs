//! What the errors of real clients say. Each failure is made on a real loopback socket, and each
//! test is named after it.

mod facts;
mod http2;
mod hyper;
mod io;
mod lies;
mod reqwest;
mod reqwest_012;
mod server;
mod tonic;
