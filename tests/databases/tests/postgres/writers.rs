//! Sixteen writers move money between four accounts, while commits are lost. An annotated function makes each
//! move in a serializable transaction.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use backoff_cloud::{Delivery, Event, Fault, FaultKind, Policy, postgres, retry};
use databases::Tested;
use tokio::task::JoinSet;

use crate::link::Link;
use crate::server::Postgres;
use crate::session::{Session as _, pool_options, sqlx_options};
use crate::sqlx;

const WRITERS: u32 = 16;
const ACCOUNTS: i32 = 4;

/// The policy that is tested, with a deadline that no machine is too slow for.
const TRANSACTION: Policy = postgres::TRANSACTION.deadline(Duration::from_secs(600));

/// So long the writers wait for each trouble. It is a net.
const LONGEST: Duration = Duration::from_secs(300);

/// Of so many commits one loses its reply and one does not arrive, so that a slow machine has as many.
const LOST_OF: u32 = 20;

/// The values that all writers of a run share.
struct Crew {
    policy: Policy,
    /// Whether a transaction looks first whether an earlier attempt has done its work.
    recognises: bool,
    /// How many moves each writer makes, or more, until each trouble has befallen one of them.
    rounds: u32,
    conflicts: AtomicU32,
}

impl Crew {
    fn new(policy: Policy, recognises: bool, rounds: u32) -> Self {
        Crew {
            policy,
            recognises,
            rounds,
            conflicts: AtomicU32::new(0),
        }
    }

    fn hear(&self, event: &Event<'_, sqlx::Error>) {
        let kind = event.fault().and_then(Fault::kind);
        self.conflicts
            .fetch_add((kind == Some(FaultKind::Conflict)).into(), Relaxed);
    }

    /// Whether everything has happened that is to happen.
    fn is_through(&self, link: &Link) -> bool {
        let counts = [self.conflicts.load(Relaxed), link.unheard(), link.untold()];
        counts.iter().all(|count| *count > 0)
    }
}

/// One move of money.
struct Transfer {
    operation: String,
    from: i32,
    to: i32,
}

impl Transfer {
    fn of(writer: u32, round: u32) -> Self {
        let from = (writer + round) as i32 % ACCOUNTS;
        Transfer {
            operation: format!("{writer}-{round}"),
            from,
            to: (from + 1 + round as i32 % (ACCOUNTS - 1)) % ACCOUNTS,
        }
    }

    /// How much goes to which account.
    fn changes(&self) -> [(i32, i64); 2] {
        [(self.from, -1), (self.to, 1)]
    }
}

const TABLES: &str = "
    CREATE TABLE accounts (id int PRIMARY KEY, balance bigint NOT NULL);
    INSERT INTO accounts SELECT id, 0 FROM generate_series(0, 3) AS id;
    CREATE TABLE operations (id text PRIMARY KEY);
    CREATE TABLE moves (operation text NOT NULL, source int NOT NULL, target int NOT NULL)";
const BEGIN: &str = "INSERT INTO operations VALUES ($1) ON CONFLICT DO NOTHING";
const READ: &str = "SELECT balance FROM accounts WHERE id = $1";
const WRITE: &str = "UPDATE accounts SET balance = $2 WHERE id = $1";
const NOTE: &str = "INSERT INTO moves VALUES ($1, $2, $3)";

#[retry(policy = crew.policy, notify = |event| crew.hear(event))]
async fn make_move(crew: &Crew, pool: &sqlx::PgPool, transfer: &Transfer) -> sqlx::Result<()> {
    let mut transaction = pool
        .begin_with("BEGIN ISOLATION LEVEL SERIALIZABLE")
        .await?;
    let operation = &transfer.operation;
    if crew.recognises {
        let begin = sqlx::query(BEGIN).bind(operation);
        if begin.execute(&mut *transaction).await?.rows_affected() == 0 {
            return Ok(());
        }
    }
    for (account, change) in transfer.changes() {
        let read = sqlx::query_scalar(READ).bind(account);
        let balance: i64 = read.fetch_one(&mut *transaction).await?;
        let write = sqlx::query(WRITE).bind(account).bind(balance + change);
        write.execute(&mut *transaction).await?;
    }
    let note = sqlx::query(NOTE).bind(operation);
    let note = note.bind(transfer.from).bind(transfer.to);
    note.execute(&mut *transaction).await?;
    transaction.commit().await
}

/// The result of a run.
struct Ended {
    /// What the writers were told of each operation.
    told: Vec<(String, Told)>,
    /// How often each operation is in the books.
    booked: HashMap<String, i64>,
    crew: Arc<Crew>,
    link: Arc<Link>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    Done,
    /// Given up, because it may have been applied.
    Perhaps,
}

impl Ended {
    /// Of the operations whose writers were told this, those that are in the books so often.
    fn of(&self, told: Told, booked: impl Fn(i64) -> bool) -> usize {
        let is_so = |(operation, it): &&(String, Told)| {
            let times = self.booked.get(operation).copied().unwrap_or(0);
            *it == told && booked(times)
        };
        self.told.iter().filter(is_so).count()
    }
}

/// Runs begun so far. Each has a database of its own.
static RUNS: AtomicU32 = AtomicU32::new(0);

/// Has all writers make all their moves.
async fn run(server: &Postgres, crew: Crew) -> Tested<Ended> {
    let crew = Arc::new(crew);
    let database = format!("books_{}", RUNS.fetch_add(1, Relaxed));
    let mut outside = sqlx::PgConnection::open(server.port).await?;
    outside.say(&format!("CREATE DATABASE {database}")).await?;
    let options = sqlx_options(server.port).database(&database);
    let books = pool_options().connect_with(options).await?;
    sqlx::raw_sql(TABLES).execute(&books).await?;
    let link = Link::to(server.port, LOST_OF).await?;

    let begun = Instant::now();
    let pool = pool_options().max_connections(WRITERS);
    let options = sqlx_options(link.port());
    let pool = pool.connect_lazy_with(options.database(&database));
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let (crew, pool, link) = (Arc::clone(&crew), pool.clone(), Arc::clone(&link));
        writers.spawn(async move {
            let mut told = Vec::new();
            let waits = || !crew.is_through(&link) && begun.elapsed() < LONGEST;
            let goes_on = |round| round < crew.rounds || waits();
            for round in (0..).take_while(|round| goes_on(*round)) {
                let transfer = Transfer::of(writer, round);
                let is_done = is_done(make_move(&crew, &pool, &transfer).await);
                told.push((transfer.operation, is_done));
            }
            told
        });
    }
    let told = writers.join_all().await.concat();

    let moves = "SELECT operation, count(*) FROM moves GROUP BY operation";
    let booked: Vec<(String, i64)> = sqlx::query_as(moves).fetch_all(&books).await?;
    let wrong = "SELECT count(*) FROM accounts WHERE balance <>
        (SELECT count(*) FROM moves WHERE target = accounts.id)
        - (SELECT count(*) FROM moves WHERE source = accounts.id)";
    let wrong: i64 = sqlx::query_scalar(wrong).fetch_one(&books).await?;
    assert_eq!(wrong, 0, "a balance is not what the moves make it");
    let booked = booked.into_iter().collect();
    Ok(Ended {
        told,
        booked,
        crew,
        link,
    })
}

/// What the writer is told; everything but success and doubt fails the test.
fn is_done(outcome: sqlx::Result<()>) -> Told {
    match outcome {
        Ok(()) => Told::Done,
        Err(error) => {
            assert_eq!(error.delivery(), Some(Delivery::MaybeSent), "{error:?}");
            Told::Perhaps
        }
    }
}

pub(crate) async fn moves_are_made_once_where_the_policy_fits() -> Tested {
    let server = Postgres::start(&[]).await?;
    let again = TRANSACTION.idempotent(true);
    let rows: [(_, _, _, _, fn(&Ended)); 3] = [
        // Transactions that recognise their own effect: everything is retried.
        ("with ids", again, true, 20, |ended| {
            let once = ended.of(Told::Done, |times| times == 1);
            assert_eq!(once, ended.told.len());
            assert!(once >= 16 * 20);
        }),
        // The ids are not for show: without them, each lost reply is a move more.
        ("without ids", again, false, 10, |ended| {
            let more: i64 = ended.booked.values().map(|times| times - 1).sum();
            assert_eq!(more, i64::from(ended.link.unheard()));
        }),
        // As it is, the policy gives up where a move may have been made: whoever was not heard is in doubt.
        ("not idempotent", TRANSACTION, false, 10, |ended| {
            assert_eq!(ended.of(Told::Done, |times| times != 1), 0);
            assert_eq!(ended.of(Told::Perhaps, |times| times > 1), 0);
            let made = ended.of(Told::Perhaps, |times| times == 1);
            assert_eq!(made, ended.link.unheard() as usize);
        }),
    ];
    for (what, policy, recognises, rounds, holds) in rows {
        let ended = run(&server, Crew::new(policy, recognises, rounds)).await?;
        assert!(ended.crew.is_through(&ended.link), "{what}");
        holds(&ended);
    }
    Ok(())
}
