//! The errors of a real MariaDB, started on a free port and in a new folder.

use backoff_cloud::{Delivery, Fault, FaultKind, Policy};
use databases::{Folder, Server, Tested, free_port, needs};
use sqlx::{
    Acquire as _, ConnectOptions as _, MySqlConnection, MySqlPool,
    mysql::{MySqlConnectOptions, MySqlDatabaseError, MySqlPoolOptions},
};
use sqlx_08 as sqlx;
use std::{process::Command, time::Duration};

needs![has_mariadb, "MariaDB is not installed: apt-get install mariadb-server": the_numbers_of_a_real_server];

/// A server with a bank of two accounts.
struct Bank {
    _server: Server,
    options: MySqlConnectOptions,
    pool: MySqlPool,
}

impl Bank {
    async fn open() -> Tested<Self> {
        let (folder, port) = (Folder::new("mysql")?, free_port()?);
        // MariaDB refuses to run as root unless it is told to.
        let is_root = Command::new("id").arg("-u").output()?.stdout == b"0\n";
        let user = is_root.then_some("--user=root");
        // Two servers in one folder for temporary tables disturb each other.
        let folders = [
            format!("--datadir={}", folder.file("data")),
            format!("--tmpdir={}", folder.path().display()),
        ];
        let mut install = Command::new("mariadb-install-db");
        install.arg("--no-defaults").args(&folders).args(user);
        install.args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
        let installed = install.output()?;
        assert!(installed.status.success(), "{installed:?}");
        let mut program = Command::new("mariadbd");
        program
            .arg("--no-defaults")
            .args(&folders)
            .args(user)
            .args([
                "--bind-address=127.0.0.1",
                "--innodb-lock-wait-timeout=1",
                // The default since version 11.6.2.
                "--innodb-snapshot-isolation=ON",
                "--max-connections=40",
                "--skip-name-resolve",
                &format!("--secure-file-priv={}", folder.path().display()),
                &format!("--port={port}"),
                &format!("--socket={}", folder.file("s")),
            ]);
        let server = Server::start(program, folder)?;
        let options = MySqlConnectOptions::new().host("127.0.0.1").port(port);
        let options = options.username("root");
        // A refused connection was not sent, so the policy repeats it. The limit of two minutes is a net.
        let come_up = Policy::constant(Duration::from_millis(100));
        let connected = come_up
            .retry(|| options.connect())
            .timeout(Duration::from_secs(120));
        say(&mut connected.await?, "CREATE DATABASE bank").await?;
        let options = options.database("bank");
        let pool = MySqlPoolOptions::new().max_connections(16);
        let pool = pool.connect_with(options.clone()).await?;
        for statement in [
            "CREATE TABLE accounts (id INT PRIMARY KEY, money INT NOT NULL, moves INT NOT NULL)",
            "INSERT INTO accounts VALUES (0, 100, 0), (1, 100, 0)",
        ] {
            sqlx::query(statement).execute(&pool).await?;
        }
        let _server = server;
        Ok(Bank {
            _server,
            options,
            pool,
        })
    }
}

async fn say(connection: &mut MySqlConnection, statement: &'static str) -> sqlx::Result<()> {
    sqlx::query(statement).execute(connection).await.map(drop)
}

async fn change(connection: &mut MySqlConnection, account: i32, by: i32) -> sqlx::Result<()> {
    let update = "UPDATE accounts SET money = money + ?, moves = moves + 1 WHERE id = ?";
    let update = sqlx::query(update).bind(by).bind(account);
    update.execute(connection).await.map(drop)
}

/// What an error says: its number, its kind, whether it was applied, and whether another connection is needed.
fn facts<T>(outcome: sqlx::Result<T>) -> (u16, Option<FaultKind>, Option<Delivery>, bool) {
    let error = outcome.err().expect("the failure");
    let database = error.as_database_error().expect("an error of the server");
    let number = database.downcast_ref::<MySqlDatabaseError>().number();
    let kind = Fault::kind(&error);
    (number, kind, error.delivery(), error.must_reconnect())
}

async fn the_numbers_of_a_real_server() -> Tested {
    let Bank {
        _server,
        options,
        pool,
    } = Bank::open().await?;
    let (mut one, mut two) = (pool.acquire().await?, pool.acquire().await?);
    let nothing = Some(Delivery::NotSent);
    let conflict = |number| (number, Some(FaultKind::Conflict), nothing, false);
    let permanent = |number| (number, Some(FaultKind::Permanent), None, false);

    // The server waits a second for a lock.
    let mut holds = one.begin().await?;
    change(&mut holds, 0, 0).await?;
    let mut waits = two.begin().await?;
    change(&mut waits, 1, 0).await?;
    assert_eq!(facts(change(&mut waits, 0, 0).await), conflict(1205));
    // Each waits for the other, and one of them is the victim.
    let (first, second) = tokio::join!(change(&mut holds, 1, 0), change(&mut waits, 0, 0));
    assert_ne!(first.is_ok(), second.is_ok());
    assert_eq!(facts(first.and(second)), conflict(1213));
    holds.rollback().await?;
    waits.rollback().await?;

    // Another connection writes what a transaction has read.
    let mut stale = one.begin().await?;
    say(&mut stale, "SELECT moves FROM accounts WHERE id = 0").await?;
    change(&mut two, 0, 0).await?;
    assert_eq!(facts(change(&mut stale, 0, 0).await), conflict(1020));
    stale.rollback().await?;

    let twice = say(&mut one, "INSERT INTO accounts VALUES (0, 0, 0)").await;
    assert_eq!(facts(twice), permanent(1062));
    // The same number says that an option forbids a statement, and that the server is read-only.
    let outside = say(
        &mut one,
        "SELECT * FROM accounts INTO OUTFILE '/nowhere/at/all'",
    )
    .await;
    assert_eq!(facts(outside), permanent(1290));
    for statement in [
        "CREATE USER reader IDENTIFIED BY ''",
        "GRANT ALL ON bank.* TO reader",
        "SET GLOBAL read_only = ON",
        "SET GLOBAL max_connections = 10",
    ] {
        say(&mut one, statement).await?;
    }
    let mut reader = options.clone().username("reader").connect().await?;
    let refused = facts(change(&mut reader, 0, 0).await);
    assert_eq!(refused, (1290, Some(FaultKind::Transient), nothing, true));

    let mut open = Vec::new();
    let full = loop {
        match options.connect().await {
            Ok(connection) => open.push(connection),
            error => break error,
        }
    };
    let throttled = Some(FaultKind::Throttled);
    assert_eq!(facts(full), (1040, throttled, nothing, true));
    Ok(())
}
