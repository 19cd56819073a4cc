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

use answers::{of_pools_and_prepared_statements, of_sqlx, of_tokio_postgres};
use writers::moves_are_made_once_where_the_policy_fits;

databases::needs![has_postgres, "needs PostgreSQL's server programs: apt-get install postgresql":
    of_sqlx,
    of_tokio_postgres,
    of_pools_and_prepared_statements,
    moves_are_made_once_where_the_policy_fits,
];
