//! A signal ends a call of `retry_mut`, whose closure borrows mutably, like any other call.
use crate::common::tokens::in_a_minute;
use backoff_core::{Budget, Fault, Jitter, Policy, Stopped};
use std::{
    cell::Cell,
    future::{pending, ready},
    rc::Rc,
    time::Duration,
};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Failure {
    Busy,
    Stopped,
}
use Failure::Busy;

impl Fault for Failure {
    fn status(&self) -> Option<u16> {
        (*self == Busy).then_some(503)
    }
}

impl From<Stopped> for Failure {
    fn from(_: Stopped) -> Self {
        Failure::Stopped
    }
}

const MINUTE: Duration = Duration::from_secs(60);
const POLICY: Policy = Policy::constant(Duration::from_secs(25))
    .jitter(Jitter::None)
    .max_attempts(9);

/// What each attempt borrows mutably. It is busy the first times, and then it hangs.
struct Client {
    calls: u32,
    busy: u32,
}

impl Client {
    async fn get(&mut self) -> Result<u32, Failure> {
        self.calls += 1;
        if self.calls <= self.busy {
            return Err(Busy);
        }
        pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn stop_on_ends_a_wait_of_retry_mut_with_the_last_error() {
    let (token, start) = (in_a_minute(), Instant::now());
    let mut client = Client { calls: 0, busy: 9 };
    let call = POLICY.stop_on(token.cancelled());
    let ended = call.retry_mut(async || client.get().await).await;
    assert_eq!((ended, client.calls), (Err(Busy), 3));
    assert_eq!(start.elapsed(), MINUTE);

    // It is cancelled already: the first attempt is made.
    let call = POLICY.stop_on(token.cancelled());
    let ended = call.retry_mut(async || client.get().await).await;
    assert_eq!((ended, client.calls), (Err(Busy), 4));
    assert_eq!(start.elapsed(), MINUTE);
}

#[tokio::test(start_paused = true)]
async fn stop_on_finishes_the_attempt_of_retry_mut_and_cut_on_cuts_it() {
    let (token, start) = (in_a_minute(), Instant::now());
    let mut slow = Vec::new();
    let call = POLICY.stop_on(token.cancelled()).retry_mut(async || {
        slow.push(());
        sleep(2 * MINUTE).await;
        Ok::<_, Failure>(42)
    });
    assert_eq!(call.await, Ok(42));
    assert_eq!(start.elapsed(), 2 * MINUTE);

    let (token, start) = (in_a_minute(), Instant::now());
    let mut client = Client { calls: 0, busy: 1 };
    let call = POLICY.cut_on(token.cancelled());
    let ended = call.retry_mut(async || client.get().await).await;
    assert_eq!((ended, client.calls), (Err(Failure::Stopped), 2));
    assert_eq!(start.elapsed(), MINUTE);
}

#[tokio::test(start_paused = true)]
async fn cut_on_ends_a_wait_of_retry_mut_and_makes_no_attempt_after_the_signal() {
    let token = in_a_minute();
    let mut client = Client { calls: 0, busy: 9 };
    let call = POLICY.cut_on(token.cancelled());
    let ended = call.retry_mut(async || client.get().await).await;
    assert_eq!((ended, client.calls), (Err(Busy), 3));

    let call = POLICY.cut_on(token.cancelled());
    let ended = call.retry_mut(async || client.get().await).await;
    assert_eq!((ended, client.calls), (Err(Failure::Stopped), 3));
}

#[tokio::test(start_paused = true)]
async fn what_is_ready_together_with_the_signal_counts_in_retry_mut() {
    let token = CancellationToken::new();
    let mut calls = 0;
    let call = POLICY.cut_on(token.cancelled()).retry_mut(async || {
        calls += 1;
        token.cancel();
        ready(Ok::<_, Failure>(42)).await
    });
    assert_eq!(call.await, Ok(42));
}

#[tokio::test(start_paused = true)]
async fn a_judge_and_a_budget_stand_beside_the_signal_of_retry_mut() {
    static BUDGET: Budget = Budget::aws();
    const PAID: Policy = POLICY.budget(&BUDGET);
    let token = in_a_minute();
    let asked = Cell::new(0);
    let mut client = Client { calls: 0, busy: 9 };
    let call = PAID.when(|error: &Failure| {
        asked.set(asked.get() + 1);
        *error == Busy
    });
    let call = call.stop_on(token.cancelled());
    let ended = call.retry_mut(async || client.get().await).await;
    assert_eq!((ended, asked.get()), (Err(Busy), 3));
    // The wait that was ended costs nothing.
    assert_eq!(BUDGET.tokens(), 500.0 - 2.0 * 14.0);
}

/// An error may hold something that the next attempt needs, such as a connection of a pool.
#[tokio::test(start_paused = true)]
async fn retry_mut_with_a_signal_drops_the_last_error_before_the_next_attempt() {
    #[derive(Debug)]
    struct Holding(#[expect(dead_code, reason = "it is held until the error is dropped")] Rc<()>);
    impl Fault for Holding {
        fn status(&self) -> Option<u16> {
            Some(503)
        }
    }
    const THREE: Policy = POLICY.max_attempts(3);
    let held = Rc::new(());
    let mut holders = Vec::new();
    let call = THREE.stop_on(pending::<()>());
    let call = call.retry_mut(async || {
        holders.push(Rc::strong_count(&held));
        Err::<(), _>(Holding(held.clone()))
    });
    assert!(call.await.is_err());
    assert_eq!(holders, [1; 3]);
}

/// Without a signal the last error is not kept over a wait, so that it need not be `Send`.
#[tokio::test(start_paused = true)]
async fn retry_mut_is_send_also_where_its_error_is_not() {
    #[derive(Debug)]
    struct Local(#[expect(dead_code, reason = "makes it no `Send`")] Rc<()>);
    impl Fault for Local {
        fn status(&self) -> Option<u16> {
            Some(503)
        }
    }
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    let call = POLICY.retry_mut(async || Err::<(), _>(Local(Rc::default())));
    assert!(is_send(call).await.is_err());
}
