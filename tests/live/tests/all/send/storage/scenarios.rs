//! Every operation with every failure.

use super::{
    FAST, error,
    methods::{Idempotent, Operation, operations},
};
use crate::server::{Act, CLOSE, LIMIT, RESET, STALL, Server, broken, client};
use backoff_cloud::{StopReason, http::SendExt as _, storage};
use reqwest::Client;
use std::{sync::Arc, time::Duration};
use tokio::{sync::Semaphore, task::JoinSet, time::timeout};

/// Far above what any case takes.
const NET: Duration = Duration::from_secs(120);

/// How a server fails: the name of the instruction, and what the server does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fails {
    Status(u16),
    Reset,
    Close,
    BrokenStream,
    Stall,
}

use Fails::{BrokenStream, Close, Reset, Stall, Status};

impl Fails {
    fn act(self) -> Act {
        match self {
            Status(status) => error(status),
            Reset => RESET,
            Close => CLOSE,
            BrokenStream => broken(),
            Stall => STALL,
        }
    }

    /// What becomes of an operation that fails so: whether it is made again.
    fn is_repeated(self, is_idempotent: bool) -> Result<(), StopReason> {
        match self {
            // These say that nothing was done.
            Status(408 | 429) => Ok(()),
            Status(400..500) => Err(StopReason::Permanent),
            _ if is_idempotent => Ok(()),
            _ => Err(StopReason::MaybeApplied),
        }
    }
}

/// An operation with its precondition or without, and how the first requests fail.
#[derive(Clone, Debug)]
struct Case {
    operation: Operation,
    with_precondition: bool,
    fails: Vec<Fails>,
}

impl Case {
    /// How many requests come, and why it ends if it does not succeed: by the documented rules.
    fn expected(&self) -> (usize, Option<StopReason>) {
        let is_idempotent = self.operation.is_idempotent(self.with_precondition);
        for (index, fails) in self.fails.iter().enumerate() {
            if let Err(reason) = fails.is_repeated(is_idempotent) {
                return (index + 1, Some(reason));
            }
        }
        (self.fails.len() + 1, None)
    }

    /// What comes of it.
    async fn played(&self, client: &Client) -> (usize, Option<StopReason>) {
        let server = Server::start(self.fails.iter().map(|fails| fails.act()));
        let operation = self.operation;
        let request = operation.request(client, &server, self.with_precondition);
        let sending = FAST.send(request).idempotent_if(storage::is_idempotent);
        // Only what stalls is cut; the others may be slow.
        let sending = sending.reply().attempt_timeout(LIMIT);
        let sending = sending.runtime(server.until_it_stalls());
        let outcome = sending.reported().await;
        (server.requests(), outcome.err().map(|error| error.reason))
    }
}

/// Plays all cases, some at a time, and gives their number.
async fn play(cases: Vec<Case>) -> usize {
    let (client, number) = (client(), cases.len());
    let at_a_time = Arc::new(Semaphore::new(32));
    let mut playing = JoinSet::new();
    for case in cases {
        let (client, at_a_time) = (client.clone(), at_a_time.clone());
        playing.spawn(async move {
            let _permit = at_a_time.acquire().await.expect("it is never closed");
            (case.played(&client).await, case)
        });
    }
    // No limit of time ends an attempt that hangs where the server does not stall.
    while let Some(done) = timeout(NET, playing.join_next()).await.expect("it hangs") {
        let (played, case) = done.expect("no panic");
        assert_eq!(played, case.expected(), "{}: {case:?}", case.operation.0);
    }
    number
}

/// Each of these operations with each of these failures.
fn cases(
    is_chosen: impl Fn(Operation) -> bool,
    with_precondition: bool,
    fails: &[&[Fails]],
) -> Vec<Case> {
    operations()
        .filter(|operation| is_chosen(*operation))
        .flat_map(|operation| {
            fails.iter().map(move |fails| Case {
                operation,
                with_precondition,
                fails: fails.to_vec(),
            })
        })
        .collect()
}

const TWICE: [&[Fails]; 3] = [
    &[Status(503), Status(503)],
    &[Reset, Reset],
    &[Reset, Status(503)],
];
const ONCE: [&[Fails]; 2] = [&[Status(503)], &[Reset]];

/// All cases of a scenario succeed after the same number of requests, or fail after it.
#[tokio::test]
async fn scenarios_1_to_6() {
    let always = |operation: Operation| operation.1 == Idempotent::Always;
    let never = |operation: Operation| operation.1 == Idempotent::Never;
    let conditional = Operation::is_conditional;
    let repeatable = |operation: Operation| operation.is_idempotent(true);
    let passing: [&[Fails]; 2] = [&[Status(503), Status(400)], &[Reset, Status(401)]];
    let permanent: [&[Fails]; 2] = [&[Status(400)], &[Status(401)]];
    // Always, conditionally with and without the precondition, and never idempotent; then errors that no
    // repetition cures, alone and after one that passes.
    for (scenario, cases, number, requests, succeeds) in [
        (1, cases(always, false, &TWICE), 66, 3, true),
        (2, cases(conditional, true, &TWICE), 33, 3, true),
        (3, cases(conditional, false, &ONCE), 22, 1, false),
        (4, cases(never, false, &ONCE), 28, 1, false),
        (5, cases(|_| true, false, &permanent), 94, 1, false),
        (6, cases(repeatable, true, &passing), 66, 2, false),
    ] {
        for case in &cases {
            let (expected, reason) = case.expected();
            let expected = (expected, reason.is_none());
            assert_eq!(expected, (requests, succeeds), "{scenario}: {case:?}");
        }
        assert_eq!(play(cases).await, number, "{scenario}");
    }
}

#[tokio::test]
async fn every_operation_and_every_failure() {
    let mixed = vec![Status(429), Status(503), BrokenStream];
    let statuses = [408, 429, 500, 502, 503, 504, 400, 401, 403, 404, 409, 412];
    let alone = statuses.map(|status| vec![Status(status)]);
    let others = [Reset, Close, BrokenStream, Stall].map(|fails| vec![fails]);
    let fails: Vec<_> = alone.into_iter().chain(others).chain([mixed]).collect();
    let fails: Vec<_> = fails.iter().map(|fails| &fails[..]).collect();
    let mut all = cases(|_| true, false, &fails);
    all.extend(cases(Operation::is_conditional, true, &fails));
    assert_eq!(play(all).await, 58 * 17);
}
