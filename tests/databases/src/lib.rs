//! Whole transactions and commands against real servers: PostgreSQL, MariaDB, SQLite and Redis. This is what
//! their tests share: servers that are started for a test, in a new folder and on a free port.

/// An example of the guide, whose client this package has.
#[cfg(feature = "servers")]
#[cfg_attr(doctest, doc = "```no_run\n# use tokio_postgres_07 as tokio_postgres;")]
#[cfg_attr(doctest, doc = include_str!("../../../backoff-cloud/src/guide/examples/tokio_postgres.rs"))]
#[cfg_attr(doctest, doc = "```")]
mod guide {}

#[cfg(feature = "servers")]
mod harness;

#[cfg(feature = "servers")]
pub use harness::*;
