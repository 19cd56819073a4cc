//! Transactions under `postgres::TRANSACTION`, against a real Postgres. Sessions are killed and replies are
//! lost.
#![cfg(unix)]

/// Runs each of these where Postgres is installed.
macro_rules! needs_postgres {
    ($($name:ident),+ $(,)?) => {
        mod needs_postgres {
            $(
                #[tokio::test(flavor = "multi_thread")]
                #[cfg_attr(
                    not(has_postgres),
                    ignore = "needs PostgreSQL's server programs: apt-get install postgresql"
                )]
                async fn $name() -> crate::Tested {
                    super::$name().await
                }
            )+
        }
    };
}

/// Runs each of these with both clients.
macro_rules! with_both_clients {
    ($($name:ident),+ $(,)?) => {
        $(
            mod $name {
                needs_postgres![sqlx, tokio_postgres];

                async fn sqlx() -> crate::Tested {
                    super::$name::<crate::sqlx::PgConnection>().await
                }

                async fn tokio_postgres() -> crate::Tested {
                    super::$name::<crate::tokio_postgres::Client>().await
                }
            }
        )+
    };
}

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
type Tested<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
