//! Every operation with every failure.

use super::{
    FAST, error,
    methods::{Idempotent, OPERATIONS, Operation},
};
use crate::send::server::{Act, LIMIT, Server, client};
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
            Reset => Act::Reset,
            Close => Act::Close,
            BrokenStream => Act::BrokenStream,
            Stall => Act::Stall,
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
        let server = Server::start(self.fails.iter().map(|fails| fails.act())).await;
        let request = self
            .operation
            .request(client, &server, self.with_precondition);
        let sending = FAST
            .send(request)
            .idempotent_if(storage::is_idempotent)
            .reply();
        // Only what stalls is cut; the others may be slow.
        let sending = sending
            .attempt_timeout(LIMIT)
            .runtime(server.until_it_stalls());
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
    operations: impl Fn(Operation) -> bool,
    with_precondition: bool,
    fails: &[&[Fails]],
) -> Vec<Case> {
    let chosen = OPERATIONS
        .into_iter()
        .filter(|operation| operations(*operation));
    chosen
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

/// Plays a scenario, in which all cases succeed after the same number of requests, or fail after it.
async fn scenario(cases: Vec<Case>, requests: usize, succeeds: bool) -> usize {
    for case in &cases {
        let (expected, reason) = case.expected();
        assert_eq!(
            (expected, reason.is_none()),
            (requests, succeeds),
            "{case:?}"
        );
    }
    play(cases).await
}

#[tokio::test]
async fn scenario_1_always_idempotent() {
    let always = |operation: Operation| operation.1 == Idempotent::Always;
    assert_eq!(scenario(cases(always, false, &TWICE), 3, true).await, 66);
}

#[tokio::test]
async fn scenario_2_conditionally_idempotent_with_the_precondition() {
    let cases = cases(Operation::is_conditional, true, &TWICE);
    assert_eq!(scenario(cases, 3, true).await, 33);
}

#[tokio::test]
async fn scenario_3_conditionally_idempotent_without_the_precondition() {
    let cases = cases(Operation::is_conditional, false, &ONCE);
    assert_eq!(scenario(cases, 1, false).await, 22);
}

#[tokio::test]
async fn scenario_4_not_idempotent() {
    let never = |operation: Operation| operation.1 == Idempotent::Never;
    assert_eq!(scenario(cases(never, false, &ONCE), 1, false).await, 28);
}

#[tokio::test]
async fn scenario_5_errors_that_no_repetition_cures() {
    let cases = cases(|_| true, false, &[&[Status(400)], &[Status(401)]]);
    assert_eq!(scenario(cases, 1, false).await, 94);
}

#[tokio::test]
async fn scenario_6_an_error_that_passes_and_then_one_that_does_not() {
    let fails: [&[Fails]; 2] = [&[Status(503), Status(400)], &[Reset, Status(401)]];
    let cases = cases(|operation| operation.is_idempotent(true), true, &fails);
    assert_eq!(scenario(cases, 2, false).await, 66);
}

#[tokio::test]
async fn every_operation_and_every_failure() {
    let fails: [&[Fails]; 17] = [
        &[Status(408)],
        &[Status(429)],
        &[Status(500)],
        &[Status(502)],
        &[Status(503)],
        &[Status(504)],
        &[Reset],
        &[Close],
        &[BrokenStream],
        &[Stall],
        &[Status(400)],
        &[Status(401)],
        &[Status(403)],
        &[Status(404)],
        &[Status(409)],
        &[Status(412)],
        &[Status(429), Status(503), BrokenStream],
    ];
    let mut all = cases(|_| true, false, &fails);
    all.extend(cases(Operation::is_conditional, true, &fails));
    assert_eq!(play(all).await, 58 * 17);
}
