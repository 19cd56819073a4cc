//! Tests of all crates together, on real sockets. One binary, because each costs a link.

mod clients;
mod cost;
mod edges;
mod emulator;
mod h2;
mod http;
mod iam;
mod members;
mod readme;
mod send;
mod server;
mod storm;
mod tower;
mod tracing;
