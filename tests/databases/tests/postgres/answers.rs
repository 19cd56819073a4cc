//! The facts in the errors of both clients. Each error is caused on a real server.

use std::time::Duration;

use backoff_cloud::{Fault as _, FaultKind, Policy, postgres, retry};
use tokio::net::TcpSocket;

use crate::link::Link;
use crate::server::{GUARDED, Server};
use crate::session::{Says, Session, pool_options, sqlx_options};
use crate::{Tested, sqlx, tokio_postgres};

/// The policy that is tested, with a deadline that no machine is too slow for.
const TRANSACTION: Policy = postgres::TRANSACTION.deadline(Duration::from_secs(600));

/// What a session on a replica is like.
const BECOME_REPLICA: &str = "SET default_transaction_read_only = on";

/// A socket that is bound and does not listen: nobody else can listen on its port.
fn deaf() -> std::io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(([127, 0, 0, 1], 0).into())?;
    Ok(socket)
}

with_both_clients![
    a_transaction_that_cannot_be_serialized_is_a_conflict,
    a_deadlock_is_a_conflict,
    a_lock_that_is_not_free_is_transient,
    a_session_that_was_terminated_is_perhaps_applied,
    limits_and_mistakes_are_permanent,
    a_server_that_is_read_only_is_left,
    what_cannot_connect_was_not_applied,
    a_commit_without_a_reply_is_perhaps_applied,
    a_crash_is_perhaps_applied_and_a_stop_is_not,
];

needs_postgres![
    a_session_that_was_terminated_in_a_prepared_commit_has_committed,
    a_transaction_that_is_cut_is_perhaps_applied,
    a_pool_that_looks_before_it_hands_out_leaves_a_replica,
    a_violation_shows_its_code_and_its_index,
];

/// `backoff_cloud::apalis` reads these two fields of a storage's error, whose type it does not know.
async fn a_violation_shows_its_code_and_its_index() -> Tested {
    let mut session = sqlx::PgConnection::open(Server::shared()?.port()).await?;
    let index = "CREATE UNIQUE INDEX idx_violated_idempotency_key ON violated (idempotency_key)";
    let table = format!("CREATE TABLE violated (idempotency_key text); {index}");
    session.say(&table).await?;
    let insert = "INSERT INTO violated (idempotency_key) VALUES ('first/1')";
    session.say(insert).await?;
    let error = session.say(insert).await.err().ok_or("inserted twice")?;
    let shown = format!("{error:?}");
    assert!(shown.contains(r#"code: "23505""#), "{shown}");
    let index = r#"constraint: Some("idx_violated_idempotency_key")"#;
    assert!(shown.contains(index), "{shown}");
    Ok(())
}

/// A session, and a table of two rows that no other test has.
async fn table<S: Session>(name: &str) -> Tested<(S, String)> {
    let mut session = S::open(Server::shared()?.port()).await?;
    let table = table_name::<S>(name);
    let rows = "(id int PRIMARY KEY, amount int)";
    let sql = format!("CREATE TABLE {table} {rows}; INSERT INTO {table} VALUES (1, 0), (2, 0)");
    session.say(&sql).await?;
    Ok((session, table))
}

fn table_name<S: Session>(name: &str) -> String {
    format!("{name}_{}", S::CLIENT.replace('-', "_"))
}

/// Two sessions with a table.
async fn pair<S: Session>(name: &str) -> Tested<(S, S, String)> {
    let (one, table) = table::<S>(name).await?;
    Ok((one, S::open(Server::shared()?.port()).await?, table))
}

/// A session of this name in a transaction.
async fn in_transaction<S: Session>(port: u16, name: &str) -> Result<S, S::Error> {
    let mut session = S::open(port).await?;
    let begin = format!("BEGIN; SET application_name = '{name}'");
    session.say(&begin).await?;
    Ok(session)
}

fn conflict(code: &str) -> Says {
    Says::not_applied(code, FaultKind::Conflict, false)
}

async fn a_transaction_that_cannot_be_serialized_is_a_conflict<S: Session>() -> Tested {
    let (mut one, mut other, table) = pair::<S>("serialized").await?;

    // Another one was faster with the same row.
    let add = format!("UPDATE {table} SET amount = amount + 1 WHERE id = 1");
    one.say("BEGIN ISOLATION LEVEL SERIALIZABLE").await?;
    one.say(&format!("SELECT * FROM {table}")).await?;
    other.say(&add).await?;
    conflict("40001").told_by::<S, _>(one.say(&add).await);
    one.say("ROLLBACK").await?;

    // Each writes what the other one has read: only the commit tells.
    for session in [&mut one, &mut other] {
        session.say("BEGIN ISOLATION LEVEL SERIALIZABLE").await?;
        session.say(&format!("SELECT * FROM {table}")).await?;
    }
    one.say(&add).await?;
    other.say(&add.replace("id = 1", "id = 2")).await?;
    one.say("COMMIT").await?;
    conflict("40001").told_by::<S, _>(other.say("COMMIT").await);
    Ok(())
}

async fn a_deadlock_is_a_conflict<S: Session>() -> Tested {
    let (mut one, mut other, table) = pair::<S>("deadlock").await?;
    let lock = |id| format!("UPDATE {table} SET amount = 1 WHERE id = {id}");
    one.say(&format!("BEGIN; {}", lock(1))).await?;
    other.say(&format!("BEGIN; {}", lock(2))).await?;
    let (second, first) = (lock(2), lock(1));
    let (one, other) = tokio::join!(one.say(&second), other.say(&first));
    // The server ends one of the two, and the other one goes on.
    let (ended, went_on) = if one.is_err() {
        (one, other)
    } else {
        (other, one)
    };
    went_on?;
    conflict("40P01").told_by::<S, _>(ended);
    Ok(())
}

async fn a_lock_that_is_not_free_is_transient<S: Session>() -> Tested {
    let (mut one, mut other, table) = pair::<S>("locked").await?;
    let lock = format!("SELECT * FROM {table} FOR UPDATE");
    one.say(&format!("BEGIN; {lock}")).await?;
    let not_free = || Says::not_applied("55P03", FaultKind::Transient, false);
    let at_once = format!("{lock} NOWAIT");
    not_free().told_by::<S, _>(other.say(&at_once).await);
    other.say("SET lock_timeout = '20ms'").await?;
    not_free().told_by::<S, _>(other.say(&lock).await);
    Ok(())
}

/// Ends the session of this name, as soon as the server sees it do this: a condition on
/// `pg_stat_activity`. Gives up if the session is idle first, which it is outside of a transaction.
async fn terminate<S: Session>(port: u16, name: &str, doing: &str) -> Result<(), S::Error> {
    let mut other = S::open(port).await?;
    // A net.
    other.say("SET statement_timeout = '120s'").await?;
    let is_there = format!("FROM pg_stat_activity WHERE application_name = '{name}' AND");
    for until in [
        format!(
            "PERFORM pg_terminate_backend(pid) {is_there} {doing}; EXIT WHEN FOUND;
            PERFORM {is_there} state = 'idle'; EXIT WHEN FOUND;"
        ),
        format!("PERFORM {is_there} state <> 'idle'; EXIT WHEN NOT FOUND;"),
    ] {
        let again = "PERFORM pg_stat_clear_snapshot(), pg_sleep(0.001)";
        let sql = format!("DO $$ BEGIN LOOP {until} {again}; END LOOP; END $$");
        other.say(&sql).await?;
    }
    Ok(())
}

async fn a_session_that_was_terminated_is_perhaps_applied<S: Session>() -> Tested {
    let server = Server::shared()?;
    let name = format!("victim of {}", S::CLIENT);
    let mut session = in_transaction::<S>(server.port(), &name).await?;
    let (outcome, ended) = tokio::join!(
        session.say("SELECT pg_sleep(600)"),
        terminate::<S>(server.port(), &name, "wait_event = 'PgSleep'")
    );
    ended?;
    let terminated = || Says::maybe_applied_with("57P01");
    terminated().told_by::<S, _>(outcome);
    // The client of such a session is of no more use.
    Says::maybe_applied().told_by::<S, _>(session.say("SELECT 1").await);

    // Between two statements, sqlx keeps what the server says for the next one.
    let mut session = in_transaction::<S>(server.port(), &name).await?;
    let waits = "state = 'idle in transaction'";
    terminate::<S>(server.port(), &name, waits).await?;
    let outcome = session.say("COMMIT").await;
    let says = match S::CLIENT {
        "sqlx" => terminated(),
        _ => Says::maybe_applied(),
    };
    says.told_by::<S, _>(outcome);
    Ok(())
}

/// Why `57P01` is no word on the commit: a prepared `COMMIT` may be done when the session is ended.
async fn a_session_that_was_terminated_in_a_prepared_commit_has_committed() -> Tested {
    // The server waits before it flushes a commit, and hears nothing meanwhile. It does so only with
    // `fsync`.
    let slow = ["fsync=on", "commit_siblings=0", "commit_delay=100000"];
    let server = Server::start(&slow)?;
    let port = server.port();
    let begun = std::time::Instant::now();
    // The server may hear it between two messages of the client, before the commit has begun, or too late.
    for attempt in 0.. {
        let name = format!("committer {attempt}");
        let mut session = in_transaction::<tokio_postgres::Client>(port, &name).await?;
        let create = format!("CREATE TABLE committed_{attempt} ()");
        session.say(&create).await?;
        let commit = session.prepare("COMMIT").await?;
        let doing = "state = 'active' AND query = 'COMMIT'";
        let (outcome, ended) = tokio::join!(
            session.execute(&commit, &[]),
            terminate::<tokio_postgres::Client>(port, &name, doing)
        );
        ended?;
        if outcome.is_err() {
            Says::maybe_applied_with("57P01").told_by::<tokio_postgres::Client, _>(outcome);
            let look = format!("SELECT FROM committed_{attempt}");
            let mut session = tokio_postgres::Client::open(port).await?;
            if session.say(&look).await.is_ok() {
                break;
            }
        }
        let is_in_time = begun.elapsed() < Duration::from_secs(120);
        assert!(is_in_time, "no commit was ended while it was made");
    }
    Ok(())
}

async fn limits_and_mistakes_are_permanent<S: Session>() -> Tested {
    let (mut session, table) = table::<S>("limits").await?;
    let twice = format!("INSERT INTO {table} VALUES (1, 0)");
    let limited = "SET statement_timeout = '20ms'; SELECT pg_sleep(600)";
    for (code, sql) in [
        ("23505", twice.as_str()),
        ("42601", "SELEKT 1"),
        ("22012", "SELECT 1 / 0"),
        ("57014", limited),
        // What hides a conflict from the policy: an error that was passed over.
        ("22012", "BEGIN; SELECT 1 / 0"),
        ("25P02", "SELECT 1"),
    ] {
        Says::permanent(code).told_by::<S, _>(session.say(sql).await);
    }
    Ok(())
}

async fn a_server_that_is_read_only_is_left<S: Session>() -> Tested {
    let (mut session, table) = table::<S>("read_only").await?;
    let delete = format!("DELETE FROM {table}");
    session.say(BECOME_REPLICA).await?;
    let outcome = session.say(&delete).await;
    Says::not_applied("25006", FaultKind::Transient, true).told_by::<S, _>(outcome);
    Ok(())
}

async fn what_cannot_connect_was_not_applied<S: Session>() -> Tested {
    let deaf = deaf()?;
    let refused = S::open(deaf.local_addr()?.port()).await;
    Says::not_applied("", FaultKind::Transient, true).told_by::<S, _>(refused);

    let server = Server::shared()?;
    let mut session = S::open(server.port()).await?;
    let role = format!("crowded_{}", S::CLIENT.replace('-', "_"));
    let create = format!("CREATE ROLE {role} LOGIN CONNECTION LIMIT 1");
    session.say(&create).await?;
    let _first = S::open_as(server.port(), &role, "").await?;
    let second = S::open_as(server.port(), &role, "").await;
    Says::not_applied("53300", FaultKind::Throttled, true).told_by::<S, _>(second);

    let create = "DO $$ BEGIN CREATE ROLE guarded LOGIN PASSWORD 'right'; \
                  EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$";
    session.say(create).await?;
    S::open_as(server.port(), GUARDED, "right").await?;
    // Only tokio-postgres tells that the answer has ended the session.
    let refused = |code| Says {
        must_reconnect: S::CLIENT == "tokio-postgres",
        ..Says::permanent(code)
    };
    let wrong = S::open_as(server.port(), GUARDED, "wrong").await;
    refused("28P01").told_by::<S, _>(wrong);
    let nobody = S::open_as(server.port(), "nobody", "").await;
    refused("28000").told_by::<S, _>(nobody);
    Ok(())
}

async fn a_commit_without_a_reply_is_perhaps_applied<S: Session>() -> Tested {
    let server = Server::shared()?;
    let link = Link::to(server.port(), 2).await?;
    for table in ["untold", "unheard"] {
        let mut session = S::open(link.port()).await?;
        let table = table_name::<S>(table);
        session.say("BEGIN").await?;
        session.say(&format!("CREATE TABLE {table} ()")).await?;
        // Both look the same.
        Says::maybe_applied().told_by::<S, _>(session.say("COMMIT").await);
    }
    assert_eq!((link.unheard(), link.untold()), (1, 1));
    let mut session = S::open(server.port()).await?;
    let select = |table| format!("SELECT * FROM {}", table_name::<S>(table));
    session.say(&select("unheard")).await?;
    let missing = session.say(&select("untold")).await;
    Says::permanent("42P01").told_by::<S, _>(missing);
    Ok(())
}

async fn a_crash_is_perhaps_applied_and_a_stop_is_not<S: Session>() -> Tested {
    let settings = ["max_connections=3", "superuser_reserved_connections=0"];
    let server = Server::start(&settings)?;
    let open = async || S::open(server.port()).await;
    let (mut crashed, mut bystander, _third) = (open().await?, open().await?, open().await?);
    let full = open().await;
    Says::not_applied("53300", FaultKind::Throttled, true).told_by::<S, _>(full);

    // One session crashes, and the server ends all others and recovers.
    let crash = "COPY (SELECT 1) TO PROGRAM 'kill -KILL $PPID'";
    let (sleeps, crashes) = (bystander.say("SELECT pg_sleep(600)"), crashed.say(crash));
    let (bystander, crashed) = tokio::join!(sleeps, crashes);
    Says::maybe_applied().told_by::<S, _>(crashed);
    Says::maybe_applied().told_by::<S, _>(bystander);
    // Whatever the recovering server says meanwhile is retried.
    let _open = TRANSACTION.retry(open).await?;

    // It waits for those who are there, and lets nobody in any more.
    server.begin_to_stop()?;
    let until = tokio::time::Instant::now() + Duration::from_secs(120);
    let stopping = loop {
        let outcome = open().await;
        let code = outcome
            .as_ref()
            .err()
            .and_then(|error| error.service_code());
        // The signal takes a moment. Until then, sessions that have just ended may take all places.
        let is_up = outcome.is_ok() || code == Some("53300");
        if !is_up || tokio::time::Instant::now() > until {
            break outcome;
        }
        drop(outcome);
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    Says::not_applied("57P03", FaultKind::Transient, true).told_by::<S, _>(stopping);
    Ok(())
}

#[tokio::test]
#[cfg_attr(
    not(has_postgres),
    ignore = "needs PostgreSQL's server programs: apt-get install postgresql"
)]
async fn a_pool_without_a_free_connection_was_not_applied() -> Tested {
    let server = Server::shared()?;
    let pool = pool_options().max_connections(1);
    let pool = pool.connect_with(sqlx_options(server.port())).await?;
    let held = pool.acquire().await?;
    // From here on the limit of a pool takes no time.
    tokio::time::pause();
    let says = || Says::not_applied("", FaultKind::Transient, false);
    says().told_by::<sqlx::PgConnection, _>(pool.acquire().await);
    drop(held);
    // Nor is one to a server that is down.
    let deaf = deaf()?;
    let pool = pool_options().connect_lazy_with(sqlx_options(deaf.local_addr()?.port()));
    says().told_by::<sqlx::PgConnection, _>(pool.acquire().await);
    Ok(())
}

/// An attempt that is cut is an error of sqlx as well.
#[retry(policy = postgres::TRANSACTION, timeout = "100ms")]
async fn sleep(pool: &sqlx::PgPool) -> sqlx::Result<()> {
    let mut transaction = pool.begin().await?;
    let sleep = sqlx::query("SELECT pg_sleep(600)");
    sleep.execute(&mut *transaction).await?;
    transaction.commit().await
}

async fn a_transaction_that_is_cut_is_perhaps_applied() -> Tested {
    let server = Server::shared()?;
    let pool = pool_options()
        .connect_with(sqlx_options(server.port()))
        .await?;
    Says::maybe_applied().told_by::<sqlx::PgConnection, _>(sleep(&pool).await);
    Ok(())
}

/// As the page of `sqlx::Error`'s `Fault` says.
async fn a_pool_that_looks_before_it_hands_out_leaves_a_replica() -> Tested {
    let server = Server::shared()?;
    let pool = pool_options()
        .max_connections(1)
        .before_acquire(|connection, _| {
            Box::pin(async move {
                let ask = sqlx::query_scalar("SHOW transaction_read_only");
                let answer: String = ask.fetch_one(connection).await?;
                Ok(answer == "off")
            })
        });
    let pool = pool.connect_with(sqlx_options(server.port())).await?;
    sqlx::query(BECOME_REPLICA).execute(&pool).await?;
    let write = || sqlx::query("CREATE TABLE on_the_primary ()").execute(&pool);
    TRANSACTION.retry(write).await?;
    Ok(())
}
