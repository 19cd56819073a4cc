//! One connection with one of the two clients, and the facts in its errors.

use std::time::Duration;

use crate::{sqlx, tokio_postgres};
use backoff_cloud::{Delivery, Fault, FaultKind, Verdict, postgres};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _};

/// A connection to a server. Both clients are asked the same questions.
pub(crate) trait Session: Sized {
    type Error: Fault + std::error::Error + Send + Sync + 'static;

    /// The name of the client, for messages.
    const CLIENT: &'static str;

    /// Opens one as this user, with this password.
    async fn open_as(port: u16, user: &str, password: &str) -> Result<Self, Self::Error>;

    /// Runs statements, and leaves what they return.
    async fn say(&mut self, sql: &str) -> Result<(), Self::Error>;

    async fn open(port: u16) -> Result<Self, Self::Error> {
        Self::open_as(port, "postgres", "").await
    }
}

/// The address of a server.
pub(crate) fn sqlx_options(port: u16) -> sqlx::postgres::PgConnectOptions {
    sqlx::postgres::PgConnectOptions::new_without_pgpass()
        .host("127.0.0.1")
        .port(port)
        .username("postgres")
        .database("postgres")
        .ssl_mode(sqlx::postgres::PgSslMode::Disable)
        .disable_statement_logging()
}

/// A pool that waits so long for a connection that no machine is too slow.
pub(crate) fn pool_options() -> sqlx::postgres::PgPoolOptions {
    sqlx::postgres::PgPoolOptions::new().acquire_timeout(Duration::from_secs(120))
}

impl Session for sqlx::PgConnection {
    type Error = sqlx::Error;

    const CLIENT: &'static str = "sqlx";

    async fn open_as(port: u16, user: &str, password: &str) -> sqlx::Result<Self> {
        let options = sqlx_options(port).username(user).password(password);
        Self::connect_with(&options).await
    }

    async fn say(&mut self, sql: &str) -> sqlx::Result<()> {
        #[cfg(feature = "sqlx-09")]
        let sql = sqlx::AssertSqlSafe(sql.to_owned());
        self.execute(sqlx::raw_sql(sql)).await.map(drop)
    }
}

/// The address of a server.
pub(crate) fn tokio_postgres_config(port: u16) -> tokio_postgres::Config {
    let mut config = tokio_postgres::Config::new();
    config.host("127.0.0.1").port(port).dbname("postgres");
    config.user("postgres").password("");
    config
}

impl Session for tokio_postgres::Client {
    type Error = tokio_postgres::Error;

    const CLIENT: &'static str = "tokio-postgres";

    async fn open_as(port: u16, user: &str, password: &str) -> Result<Self, Self::Error> {
        let mut config = tokio_postgres_config(port);
        config.user(user).password(password);
        let (client, connection) = config.connect(tokio_postgres::NoTls).await?;
        // Its error is what the client is told as well, or that it is closed.
        tokio::spawn(connection);
        Ok(client)
    }

    async fn say(&mut self, sql: &str) -> Result<(), Self::Error> {
        self.batch_execute(sql).await
    }
}

/// The facts that an error must have.
#[derive(Debug, PartialEq)]
pub(crate) struct Says {
    /// The SQLSTATE, if the server has answered.
    pub(crate) code: Option<String>,
    pub(crate) kind: Option<FaultKind>,
    pub(crate) delivery: Option<Delivery>,
    pub(crate) must_reconnect: bool,
    /// What the policy for transactions, which are not idempotent, makes of it.
    pub(crate) verdict: Verdict,
}

impl Says {
    fn of<S: Session>(error: &S::Error) -> Self {
        Says {
            code: error.service_code().map(str::to_owned),
            kind: error.kind(),
            delivery: error.delivery(),
            must_reconnect: error.must_reconnect(),
            verdict: postgres::TRANSACTION.judge(error),
        }
    }

    /// Surely not applied, and retried.
    pub(crate) fn not_applied(code: &str, kind: FaultKind, must_reconnect: bool) -> Self {
        Says {
            code: (!code.is_empty()).then(|| code.to_owned()),
            kind: Some(kind),
            delivery: Some(Delivery::NotSent),
            must_reconnect,
            verdict: Verdict::Retry {
                kind,
                retry_after: None,
            },
        }
    }

    /// Perhaps applied, and not retried unless the transaction is idempotent.
    pub(crate) fn maybe_applied() -> Self {
        Says {
            code: None,
            kind: Some(FaultKind::Transient),
            delivery: Some(Delivery::MaybeSent),
            must_reconnect: true,
            verdict: Verdict::MaybeApplied,
        }
    }

    /// The same, by an answer of the server.
    pub(crate) fn maybe_applied_with(code: &str) -> Self {
        Says {
            code: Some(code.to_owned()),
            ..Says::maybe_applied()
        }
    }

    pub(crate) fn permanent(code: &str) -> Self {
        Says {
            code: Some(code.to_owned()),
            kind: Some(FaultKind::Permanent),
            delivery: None,
            must_reconnect: false,
            verdict: Verdict::Permanent,
        }
    }

    /// Fails unless the outcome is an error that says this.
    #[track_caller]
    pub(crate) fn told_by<S: Session, T>(self, outcome: Result<T, S::Error>) {
        let Err(error) = outcome else {
            panic!("{}: a success, not {self:?}", S::CLIENT);
        };
        let text = || error.message().expect("a text").to_string();
        let shown = error.service_message().map_or_else(text, str::to_owned);
        assert_eq!(Says::of::<S>(&error), self, "{}: {shown}", S::CLIENT);
        // tokio-postgres' own text, and the details, which quote values of rows.
        assert!(shown != "db error" && !shown.contains("DETAIL"), "{shown}");
    }
}
