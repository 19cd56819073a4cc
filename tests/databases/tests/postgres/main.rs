//! Transactions under `postgres::TRANSACTION`, against a real Postgres whose sessions are killed and
//! whose replies are lost.
#![cfg(unix)]

mod answers;
mod link;
mod programs;
mod server;
mod session;
mod writers;

/// What a test gives back when it is not the thing tested that fails.
type Tested = Result<(), Box<dyn std::error::Error + Send + Sync>>;
