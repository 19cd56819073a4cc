//! The facts in the errors of both clients. Each error is caused on a real server.

use std::time::{Duration, Instant};

use backoff_cloud::{Fault as _, FaultKind, Policy, postgres, retry};
use databases::{Tested, deaf};

use crate::link::Link;
use crate::server::{GUARDED, Postgres};
use crate::session::{Says, Session, pool_options, sqlx_options};
use crate::{sqlx, tokio_postgres};

/// The policy that is tested, with a deadline that no machine is too slow for.
const TRANSACTION: Policy = postgres::TRANSACTION.deadline(Duration::from_secs(600));

/// What a session on a replica is like.
const BECOME_REPLICA: &str = "SET default_transaction_read_only = on";

pub(crate) async fn of_sqlx() -> Tested {
    all_answers::<sqlx::PgConnection>().await
}

pub(crate) async fn of_tokio_postgres() -> Tested {
    all_answers::<tokio_postgres::Client>().await
}

async fn all_answers<S: Session>() -> Tested {
    let server = Postgres::start(&[]).await?;
    statements::<S>(server.port).await?;
    a_deadlock_is_a_conflict::<S>(server.port).await?;
    a_session_that_was_terminated_is_perhaps_applied::<S>(server.port).await?;
    what_cannot_connect_was_not_applied::<S>(server.port).await?;
    a_commit_without_a_reply_is_perhaps_applied::<S>(server.port).await?;
    a_crash_is_perhaps_applied_and_a_stop_is_not::<S>().await
}

fn conflict(code: &str) -> Says {
    Says::not_applied(code, FaultKind::Conflict, false)
}

const TABLE: &str =
    "CREATE TABLE t (id int PRIMARY KEY, amount int); INSERT INTO t VALUES (1, 0), (2, 0)";

/// Which of two sessions says what, and what comes of it.
type Step<'a> = (usize, &'a str, Option<Says>);

async fn statements<S: Session>(port: u16) -> Tested {
    S::open(port).await?.say(TABLE).await?;
    let read = "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT * FROM t";
    let [one, two] = [1, 2].map(|id| format!("UPDATE t SET amount = amount + 1 WHERE id = {id}"));
    let lock = "SELECT * FROM t FOR UPDATE";
    let (at_once, begin) = (format!("{lock} NOWAIT"), format!("BEGIN; {lock}"));
    let soon = format!("SET lock_timeout = '20ms'; {lock}");
    let limited = "SET statement_timeout = '20ms'; SELECT pg_sleep(600)";
    let permanent = |code| Some(Says::permanent(code));
    let not_free = || Some(Says::not_applied("55P03", FaultKind::Transient, false));
    let read_only = Says::not_applied("25006", FaultKind::Transient, true);
    let scenarios: [Vec<Step<'_>>; 5] = [
        // Another one was faster with the same row.
        vec![
            (0, read, None),
            (1, &one, None),
            (0, &one, Some(conflict("40001"))),
        ],
        // Each writes what the other one has read: only the commit tells.
        vec![
            (0, read, None),
            (1, read, None),
            (0, &one, None),
            (1, &two, None),
            (0, "COMMIT", None),
            (1, "COMMIT", Some(conflict("40001"))),
        ],
        // A lock is not free.
        vec![
            (0, &begin, None),
            (1, &at_once, not_free()),
            (1, &soon, not_free()),
        ],
        vec![
            (0, "INSERT INTO t VALUES (1, 0)", permanent("23505")),
            (0, "SELEKT 1", permanent("42601")),
            (0, "SELECT 1 / 0", permanent("22012")),
            (0, limited, permanent("57014")),
            // What hides a conflict from the policy: an error that was passed over.
            (0, "BEGIN; SELECT 1 / 0", permanent("22012")),
            (0, "SELECT 1", permanent("25P02")),
        ],
        // A server that is read-only is left.
        vec![
            (0, BECOME_REPLICA, None),
            (0, "DELETE FROM t", Some(read_only)),
        ],
    ];
    for steps in scenarios {
        let mut sessions = [S::open(port).await?, S::open(port).await?];
        for (session, sql, says) in steps {
            let outcome = sessions[session].say(sql).await;
            match says {
                Some(says) => says.told_by::<S, _>(outcome),
                None => outcome?,
            }
        }
    }
    Ok(())
}

async fn a_deadlock_is_a_conflict<S: Session>(port: u16) -> Tested {
    let (mut one, mut other) = (S::open(port).await?, S::open(port).await?);
    let [first, second] = [1, 2].map(|id| format!("UPDATE t SET amount = 1 WHERE id = {id}"));
    one.say(&format!("BEGIN; {first}")).await?;
    other.say(&format!("BEGIN; {second}")).await?;
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

/// A session of this name in a transaction.
async fn in_transaction<S: Session>(port: u16, name: &str) -> Result<S, S::Error> {
    let mut session = S::open(port).await?;
    let begin = format!("BEGIN; SET application_name = '{name}'");
    session.say(&begin).await?;
    Ok(session)
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

async fn a_session_that_was_terminated_is_perhaps_applied<S: Session>(port: u16) -> Tested {
    let mut session = in_transaction::<S>(port, "victim").await?;
    let (outcome, ended) = tokio::join!(
        session.say("SELECT pg_sleep(600)"),
        terminate::<S>(port, "victim", "wait_event = 'PgSleep'")
    );
    ended?;
    let terminated = || Says::maybe_applied_with("57P01");
    terminated().told_by::<S, _>(outcome);
    // The client of such a session is of no more use.
    Says::maybe_applied().told_by::<S, _>(session.say("SELECT 1").await);

    // Between two statements, sqlx keeps what the server says for the next one.
    let mut session = in_transaction::<S>(port, "victim").await?;
    terminate::<S>(port, "victim", "state = 'idle in transaction'").await?;
    let says = match S::CLIENT {
        "sqlx" => terminated(),
        _ => Says::maybe_applied(),
    };
    says.told_by::<S, _>(session.say("COMMIT").await);
    Ok(())
}

async fn what_cannot_connect_was_not_applied<S: Session>(port: u16) -> Tested {
    let (_deaf, nobody) = deaf()?;
    let refused = S::open(nobody).await;
    Says::not_applied("", FaultKind::Transient, true).told_by::<S, _>(refused);

    let create = "CREATE ROLE crowded LOGIN CONNECTION LIMIT 1; \
                  CREATE ROLE guarded LOGIN PASSWORD 'right'";
    S::open(port).await?.say(create).await?;
    let _first = S::open_as(port, "crowded", "").await?;
    let second = S::open_as(port, "crowded", "").await;
    Says::not_applied("53300", FaultKind::Throttled, true).told_by::<S, _>(second);
    S::open_as(port, GUARDED, "right").await?;
    for (role, code) in [(GUARDED, "28P01"), ("nobody", "28000")] {
        let refused = Says {
            // Only tokio-postgres tells that the answer has ended the session.
            must_reconnect: S::CLIENT == "tokio-postgres",
            ..Says::permanent(code)
        };
        refused.told_by::<S, _>(S::open_as(port, role, "wrong").await);
    }
    Ok(())
}

async fn a_commit_without_a_reply_is_perhaps_applied<S: Session>(port: u16) -> Tested {
    let link = Link::to(port, 2).await?;
    for table in ["untold", "unheard"] {
        let mut session = S::open(link.port()).await?;
        session
            .say(&format!("BEGIN; CREATE TABLE {table} ()"))
            .await?;
        // Both look the same.
        Says::maybe_applied().told_by::<S, _>(session.say("COMMIT").await);
    }
    assert_eq!((link.unheard(), link.untold()), (1, 1));
    let mut session = S::open(port).await?;
    session.say("SELECT * FROM unheard").await?;
    let missing = session.say("SELECT * FROM untold").await;
    Says::permanent("42P01").told_by::<S, _>(missing);
    Ok(())
}

async fn a_crash_is_perhaps_applied_and_a_stop_is_not<S: Session>() -> Tested {
    let settings = ["max_connections=3", "superuser_reserved_connections=0"];
    let server = Postgres::start(&settings).await?;
    let open = async || S::open(server.port).await;
    // The session that has seen the server come up may not have ended yet.
    let (mut crashed, mut bystander) = (
        TRANSACTION.retry(open).await?,
        TRANSACTION.retry(open).await?,
    );
    let _third = TRANSACTION.retry(open).await?;
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

    // It waits for those who are there, and lets nobody in any more. The signal takes a moment. Until then,
    // sessions that have just ended may take all places.
    server.begin_to_stop()?;
    let begun = Instant::now();
    let stopping = loop {
        let outcome = open().await;
        let code = outcome
            .as_ref()
            .err()
            .and_then(|error| error.service_code());
        let is_up = outcome.is_ok() || code == Some("53300");
        if !is_up || begun.elapsed() > Duration::from_secs(120) {
            break outcome;
        }
        drop(outcome);
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    Says::not_applied("57P03", FaultKind::Transient, true).told_by::<S, _>(stopping);
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

pub(crate) async fn of_pools_and_prepared_statements() -> Tested {
    // The server waits before it flushes a commit, and hears nothing meanwhile. It does so only with
    // `fsync`.
    let slow = ["fsync=on", "commit_siblings=0", "commit_delay=100000"];
    let server = Postgres::start(&slow).await?;
    let (port, options) = (server.port, sqlx_options(server.port));
    let (one, twelve) = (pool_options().max_connections(1), pool_options());

    // A pool that looks before it hands out leaves a replica, as the page of `sqlx::Error`'s `Fault` says.
    let looks = one.clone().before_acquire(|connection, _| {
        Box::pin(async move {
            let ask = sqlx::query_scalar("SHOW transaction_read_only");
            let answer: String = ask.fetch_one(connection).await?;
            Ok(answer == "off")
        })
    });
    let pool = looks.connect_with(options.clone()).await?;
    sqlx::query(BECOME_REPLICA).execute(&pool).await?;
    let write = || sqlx::query("CREATE TABLE on_the_primary ()").execute(&pool);
    TRANSACTION.retry(write).await?;

    let pool = twelve.clone().connect_with(options.clone()).await?;
    Says::maybe_applied().told_by::<sqlx::PgConnection, _>(sleep(&pool).await);

    // `backoff_cloud::apalis` reads these two fields of a storage's error, whose type it does not know.
    let mut session = sqlx::PgConnection::open(port).await?;
    let table = "CREATE TABLE violated (idempotency_key text); \
                 CREATE UNIQUE INDEX idx_violated ON violated (idempotency_key)";
    session.say(table).await?;
    let insert = "INSERT INTO violated VALUES ('first/1')";
    session.say(insert).await?;
    let error = session.say(insert).await.expect_err("inserted twice");
    let shown = format!("{error:?}");
    for field in [r#"code: "23505""#, r#"constraint: Some("idx_violated")"#] {
        assert!(shown.contains(field), "{shown}");
    }

    // A pool without a free connection was not applied, nor is one to a server that is down.
    let (_deaf, nobody) = deaf()?;
    let soon = one.acquire_timeout(Duration::from_millis(300));
    let down = soon.clone().connect_lazy_with(sqlx_options(nobody));
    let full = soon.connect_lazy_with(options);
    let _held = TRANSACTION.retry(|| full.acquire()).await?;
    for pool in [&full, &down] {
        let says = Says::not_applied("", FaultKind::Transient, false);
        says.told_by::<sqlx::PgConnection, _>(pool.acquire().await);
    }
    Ok(())
}
