//! Transactions on a real MariaDB, started for each test on a free port and in a new folder.

use backoff_cloud::{Delivery, Fault, FaultKind, Policy, mysql, retry};
use sqlx::{
    Acquire as _, ConnectOptions as _, MySqlConnection, MySqlPool,
    mysql::{MySqlConnectOptions, MySqlDatabaseError, MySqlPoolOptions},
};
use sqlx_08 as sqlx;
use std::{
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};
use tokio::task::JoinSet;

type Tested = Result<(), Box<dyn std::error::Error + Send + Sync>>;

struct Server {
    process: Child,
    port: u16,
    folder: PathBuf,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Server {
    async fn start(name: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Self::start_with(name, &[]).await
    }

    /// A server with these options.
    async fn start_with(
        name: &str,
        options: &[&str],
    ) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let folder = format!("backoff-mysql-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder)?;
        // MariaDB refuses to run as root unless it is told to.
        let is_root = Command::new("id").arg("-u").output()?.stdout == b"0\n";
        let user = if is_root { &["--user=root"][..] } else { &[] };
        // Two servers in one folder for temporary tables disturb each other.
        let folders = [
            format!("--datadir={}", folder.join("data").display()),
            format!("--tmpdir={}", folder.display()),
        ];
        let installed = Command::new("mariadb-install-db")
            .args([
                "--no-defaults",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
            ])
            .args(&folders)
            .args(user)
            .stdin(Stdio::null())
            .output()?;
        assert!(installed.status.success(), "{installed:?}");
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let process = Command::new("mariadbd")
            .args([
                "--no-defaults",
                "--bind-address=127.0.0.1",
                "--innodb-lock-wait-timeout=1",
            ])
            .args(["--max-connections=40", "--skip-name-resolve"])
            .args(options)
            .args(&folders)
            .args([
                format!("--port={port}"),
                format!("--socket={}", folder.join("s").display()),
            ])
            .args(user)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let server = Server {
            process,
            port,
            folder,
        };
        // A refused connection was not sent, so the policy repeats it. The limit of two minutes is a net.
        let come_up = Policy::constant(Duration::from_millis(100));
        let options = server.options();
        let connect = || options.connect();
        let mut connection = come_up
            .retry(connect)
            .timeout(Duration::from_secs(120))
            .await?;
        sqlx::query("CREATE DATABASE bank")
            .execute(&mut connection)
            .await?;
        let pool = server.pool().await?;
        sqlx::query(
            "CREATE TABLE accounts (id INT PRIMARY KEY, money INT NOT NULL, moves INT NOT NULL)",
        )
        .execute(&pool)
        .await?;
        sqlx::query("INSERT INTO accounts VALUES (0, 100, 0), (1, 100, 0)")
            .execute(&pool)
            .await?;
        Ok(server)
    }

    fn options(&self) -> MySqlConnectOptions {
        MySqlConnectOptions::new()
            .host("127.0.0.1")
            .port(self.port)
            .username("root")
    }

    async fn pool(&self) -> sqlx::Result<MySqlPool> {
        let options = MySqlPoolOptions::new().max_connections(16);
        options.connect_with(self.options().database("bank")).await
    }
}

/// Moves one from this account to the other, and locks them in this order: two moves in opposite directions may
/// lock each other out.
#[retry(policy = mysql::TRANSACTION, deadline = "10m")]
async fn transfer(pool: &MySqlPool, from: i32) -> sqlx::Result<()> {
    let mut transaction = pool.begin().await?;
    change(&mut transaction, from, -1).await?;
    tokio::task::yield_now().await;
    change(&mut transaction, 1 - from, 1).await?;
    transaction.commit().await
}

async fn change(connection: &mut MySqlConnection, account: i32, by: i32) -> sqlx::Result<()> {
    let update =
        sqlx::query("UPDATE accounts SET money = money + ?, moves = moves + 1 WHERE id = ?");
    update
        .bind(by)
        .bind(account)
        .execute(connection)
        .await
        .map(|_| ())
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    not(has_mariadb),
    ignore = "MariaDB is not installed: apt-get install mariadb-server"
)]
async fn writers_that_lock_each_other_out_all_arrive() -> Tested {
    const WRITERS: i32 = 8;
    const ROUNDS: i32 = 25;
    let server = Server::start("writers").await?;
    let pool = server.pool().await?;
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let pool = pool.clone();
        writers.spawn(async move {
            for round in 0..ROUNDS {
                transfer(&pool, (writer + round) % 2).await?;
            }
            Ok::<_, sqlx::Error>(())
        });
    }
    while let Some(writer) = writers.join_next().await {
        writer??;
    }
    let rows = sqlx::query_as("SELECT money, moves FROM accounts ORDER BY id");
    let rows: Vec<(i32, i32)> = rows.fetch_all(&pool).await?;
    assert_eq!(rows, [(100, WRITERS * ROUNDS); 2]);
    Ok(())
}

/// What an error says: its number, its kind, whether it was applied, and whether another connection is needed.
fn facts(error: &sqlx::Error) -> (u16, Option<FaultKind>, Option<Delivery>, bool) {
    let database = error.as_database_error().expect("an error of the server");
    let number = database.downcast_ref::<MySqlDatabaseError>().number();
    (
        number,
        Fault::kind(error),
        error.delivery(),
        error.must_reconnect(),
    )
}

#[tokio::test]
#[cfg_attr(
    not(has_mariadb),
    ignore = "MariaDB is not installed: apt-get install mariadb-server"
)]
async fn the_numbers_of_a_real_server() -> Tested {
    let server = Server::start("facts").await?;
    let pool = server.pool().await?;
    let (mut one, mut two) = (pool.acquire().await?, pool.acquire().await?);
    let nothing = Some(Delivery::NotSent);

    // The server waits a second for a lock.
    let mut holds = one.begin().await?;
    change(&mut holds, 0, 0).await?;
    let mut waits = two.begin().await?;
    change(&mut waits, 1, 0).await?;
    let late = change(&mut waits, 0, 0).await.unwrap_err();
    assert_eq!(
        facts(&late),
        (1205, Some(FaultKind::Conflict), nothing, false)
    );

    // Each waits for the other.
    let (first, second) = tokio::join!(change(&mut holds, 1, 0), change(&mut waits, 0, 0));
    let victims: Vec<_> = [first, second]
        .into_iter()
        .filter_map(Result::err)
        .collect();
    assert_eq!(victims.len(), 1, "{victims:?}");
    assert_eq!(
        facts(&victims[0]),
        (1213, Some(FaultKind::Conflict), nothing, false)
    );
    holds.rollback().await?;
    waits.rollback().await?;

    let twice = sqlx::query("INSERT INTO accounts VALUES (0, 0, 0)");
    let refused = twice.execute(&mut *one).await.unwrap_err();
    assert_eq!(
        facts(&refused),
        (1062, Some(FaultKind::Permanent), None, false)
    );

    sqlx::query("SET GLOBAL max_connections = 10")
        .execute(&mut *one)
        .await?;
    let mut open = Vec::new();
    let full = loop {
        match server.options().connect().await {
            Ok(connection) => open.push(connection),
            Err(error) => break error,
        }
    };
    assert_eq!(
        facts(&full),
        (1040, Some(FaultKind::Throttled), nothing, true)
    );
    Ok(())
}

/// Reads the counter and writes it as one more, without a lock between.
#[retry(policy = mysql::TRANSACTION, deadline = "10m")]
async fn count(pool: &MySqlPool) -> sqlx::Result<()> {
    let mut transaction = pool.begin().await?;
    let read = sqlx::query_as("SELECT moves FROM accounts WHERE id = 0");
    let (moves,): (i32,) = read.fetch_one(&mut *transaction).await?;
    tokio::task::yield_now().await;
    let write = sqlx::query("UPDATE accounts SET moves = ? WHERE id = 0");
    write.bind(moves + 1).execute(&mut *transaction).await?;
    transaction.commit().await
}

/// MariaDB refuses to write a row that has changed since it was read, with the default since version 11.6.2.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    not(has_mariadb),
    ignore = "MariaDB is not installed: apt-get install mariadb-server"
)]
async fn a_snapshot_that_is_no_longer_true_is_read_again() -> Tested {
    const WRITERS: i32 = 8;
    const ROUNDS: i32 = 10;
    let server = Server::start_with("snapshot", &["--innodb-snapshot-isolation=ON"]).await?;
    let pool = server.pool().await?;

    // Another connection writes what a transaction has read.
    let (mut one, mut two) = (pool.begin().await?, pool.acquire().await?);
    let read = sqlx::query("SELECT moves FROM accounts WHERE id = 0");
    read.fetch_one(&mut *one).await?;
    change(&mut two, 0, 0).await?;
    let stale = change(&mut one, 0, 0).await.unwrap_err();
    let nothing = Some(Delivery::NotSent);
    assert_eq!(
        facts(&stale),
        (1020, Some(FaultKind::Conflict), nothing, false)
    );
    one.rollback().await?;
    let begun = sqlx::query("UPDATE accounts SET moves = 0");
    begun.execute(&mut *two).await?;

    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let pool = pool.clone();
        writers.spawn(async move {
            for _ in 0..ROUNDS {
                count(&pool).await?;
            }
            Ok::<_, sqlx::Error>(())
        });
    }
    while let Some(writer) = writers.join_next().await {
        writer??;
    }
    let counted = sqlx::query_as("SELECT moves FROM accounts WHERE id = 0");
    let (counted,): (i32,) = counted.fetch_one(&pool).await?;
    assert_eq!(counted, WRITERS * ROUNDS);
    Ok(())
}

/// The same number says that the server is read-only, and that an option forbids a statement.
#[tokio::test]
#[cfg_attr(
    not(has_mariadb),
    ignore = "MariaDB is not installed: apt-get install mariadb-server"
)]
async fn an_option_that_forbids_a_statement_is_permanent() -> Tested {
    let folder = std::env::temp_dir();
    let option = format!("--secure-file-priv={}", folder.display());
    let server = Server::start_with("option", &[&option]).await?;
    let pool = server.pool().await?;
    let outside = sqlx::query("SELECT * FROM accounts INTO OUTFILE '/nowhere/at/all'");
    let refused = outside.execute(&pool).await.unwrap_err();
    assert_eq!(
        facts(&refused),
        (1290, Some(FaultKind::Permanent), None, false)
    );

    let reader = "CREATE USER reader IDENTIFIED BY ''";
    for statement in [
        reader,
        "GRANT ALL ON bank.* TO reader",
        "SET GLOBAL read_only = ON",
    ] {
        sqlx::query(statement).execute(&pool).await?;
    }
    let options = server.options().username("reader").database("bank");
    let mut reader = options.connect().await?;
    let refused = change(&mut reader, 0, 0).await.unwrap_err();
    let nothing = Some(Delivery::NotSent);
    assert_eq!(
        facts(&refused),
        (1290, Some(FaultKind::Transient), nothing, true)
    );
    Ok(())
}
