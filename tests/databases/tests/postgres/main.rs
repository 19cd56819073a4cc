//! Transactions under `postgres::TRANSACTION`, against a real Postgres. Sessions are killed and replies are
//! lost.
#![cfg(unix)]

mod answers;
mod link;
mod programs;
mod server;
mod session;
mod severity;
mod writers;

#[cfg(not(feature = "sqlx-09"))]
use sqlx_08 as sqlx;
#[cfg(feature = "sqlx-09")]
use sqlx_09 as sqlx;
use tokio_postgres_07 as tokio_postgres;

/// The error of a test when something else than the tested code fails.
type Tested = Result<(), Box<dyn std::error::Error + Send + Sync>>;
