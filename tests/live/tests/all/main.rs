//! Tests of all crates together, on real sockets. One binary, because each costs a link.

mod bodies;
mod clients;
mod cost;
mod emulator;
mod h2;
mod http;
mod iam;
mod middleware;
mod quotas;
mod send;
mod server;
mod tower;
mod tracing;
