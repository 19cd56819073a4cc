//! The key `cut_on` of annotated functions and blocks does what the method does, in every form.
use crate::common::tokens::{cancelled, in_a_minute};
use backoff_core::{
    Budget, Event, Fault, Jitter, NotYet, Policy, StopReason, Stopped, TimedOut, retry, retry_block,
};
use std::{
    cell::{Cell, RefCell},
    future::{Future, pending, ready},
    time::Duration,
};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Failure {
    Busy,
    Stopped,
    TimedOut,
    NotYet,
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

impl From<TimedOut> for Failure {
    fn from(_: TimedOut) -> Self {
        Failure::TimedOut
    }
}

impl From<NotYet> for Failure {
    fn from(_: NotYet) -> Self {
        Failure::NotYet
    }
}

const MINUTE: Duration = Duration::from_secs(60);
const POLICY: Policy = Policy::constant(Duration::from_secs(25))
    .jitter(Jitter::None)
    .max_attempts(9);

/// Why calls ended, and after how many attempts.
#[derive(Default)]
struct Ends(RefCell<Vec<(StopReason, u32)>>);

impl Ends {
    fn hook(&self) -> impl FnMut(&Event<'_, Failure>) {
        |event| {
            if let Event::GaveUp {
                reason, attempts, ..
            } = event
            {
                self.0.borrow_mut().push((*reason, *attempts));
            }
        }
    }
}

/// Fails at once the first `busy` times, and then never ends.
fn busy_then_hangs(calls: &Cell<u32>, busy: u32) -> impl Future<Output = Result<(), Failure>> {
    calls.set(calls.get() + 1);
    let is_busy = calls.get() <= busy;
    async move { if is_busy { Err(Busy) } else { pending().await } }
}

#[retry(policy = POLICY, cut_on = token.cancelled(), notify = ends.hook())]
async fn annotated(
    token: &CancellationToken,
    ends: &Ends,
    calls: &Cell<u32>,
    busy: u32,
) -> Result<(), Failure> {
    busy_then_hangs(calls, busy).await
}

#[tokio::test(start_paused = true)]
async fn the_key_cuts_the_attempt_that_is_running_and_makes_its_error() {
    let (ends, calls, start) = (Ends::default(), Cell::new(0), Instant::now());
    let outcome = annotated(&in_a_minute(), &ends, &calls, 1).await;
    assert_eq!((outcome, calls.get()), (Err(Failure::Stopped), 2));
    assert_eq!(start.elapsed(), MINUTE);
    assert_eq!(ends.0.take(), [(StopReason::Stopped, 2)]);
}

#[tokio::test(start_paused = true)]
async fn the_key_ends_a_wait_with_the_last_error() {
    let (ends, calls, start) = (Ends::default(), Cell::new(0), Instant::now());
    let outcome = annotated(&in_a_minute(), &ends, &calls, 9).await;
    assert_eq!((outcome, calls.get()), (Err(Busy), 3));
    assert_eq!(start.elapsed(), MINUTE);
    assert_eq!(ends.0.take(), [(StopReason::Stopped, 3)]);
}

#[tokio::test(start_paused = true)]
async fn no_attempt_is_made_by_the_key_after_the_signal() {
    let (ends, calls) = (Ends::default(), Cell::new(0));
    let outcome = annotated(&cancelled(), &ends, &calls, 9).await;
    assert_eq!((outcome, calls.get()), (Err(Failure::Stopped), 0));
    assert_eq!(ends.0.take(), [(StopReason::Stopped, 0)]);
}

#[tokio::test(start_paused = true)]
async fn what_is_ready_together_with_the_signal_counts_with_the_key() {
    let token = CancellationToken::new();
    let calls = Cell::new(0);
    let outcome = retry_block!(policy = POLICY, cut_on = token.cancelled(), async {
        calls.set(calls.get() + 1);
        token.cancel();
        tokio::task::coop::unconstrained(tokio::task::yield_now()).await;
        Ok::<_, Failure>(42)
    })
    .await;
    assert_eq!((outcome, calls.get()), (Ok(42), 1));
}

#[tokio::test(start_paused = true)]
async fn a_cut_attempt_that_must_not_be_repeated_may_have_been_applied_with_the_key() {
    let ends = Ends::default();
    let token = in_a_minute();
    let outcome = retry_block!(
        policy = POLICY,
        idempotent = false,
        cut_on = token.cancelled(),
        notify = ends.hook(),
        async { pending::<Result<(), Failure>>().await }
    )
    .await;
    assert_eq!(outcome, Err(Failure::Stopped));
    assert_eq!(ends.0.take(), [(StopReason::MaybeApplied, 1)]);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_is_dropped_before_the_hook_hears_that_it_was_cut() {
    struct Dropped<'a>(&'a Cell<bool>);
    impl Drop for Dropped<'_> {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let (is_dropped, heard, token) = (Cell::new(false), Cell::new(None), in_a_minute());
    let outcome = retry_block!(
        policy = POLICY,
        cut_on = token.cancelled(),
        notify = |_| heard.set(Some(is_dropped.get())),
        async {
            let _guard = Dropped(&is_dropped);
            pending::<Result<(), Failure>>().await
        }
    )
    .await;
    assert_eq!(outcome, Err(Failure::Stopped));
    assert_eq!(heard.get(), Some(true));
}

#[tokio::test(start_paused = true)]
async fn the_key_cut_on_stands_beside_the_keys_of_time() {
    let start = Instant::now();
    let (ends, token) = (Ends::default(), in_a_minute());
    let hangs = || pending::<Result<(), Failure>>();
    // Cut by its limit after 20 s, waits 25 s, and is cut by the signal.
    let outcome = retry_block!(
        policy = POLICY,
        attempt_timeout = "20s",
        cut_on = token.cancelled(),
        notify = ends.hook(),
        async { hangs().await }
    )
    .await;
    assert_eq!(outcome, Err(Failure::Stopped));
    assert_eq!(ends.0.take(), [(StopReason::Stopped, 2)]);
    assert_eq!(start.elapsed(), MINUTE);

    // The signal comes later than the limit of the whole call.
    let token = in_a_minute();
    let outcome = retry_block!(
        policy = POLICY,
        timeout = "30s",
        cut_on = token.cancelled(),
        async { hangs().await }
    )
    .await;
    assert_eq!(outcome, Err(Failure::TimedOut));
}

#[tokio::test(start_paused = true)]
async fn the_key_cut_on_goes_with_every_judge_and_runtime() {
    #[retry(cut_on = token.cancelled())]
    async fn bare(token: &CancellationToken) -> Result<(), Failure> {
        pending().await
    }
    #[retry(when = |error| *error == Busy, cut_on = token.cancelled())]
    async fn judged(token: &CancellationToken) -> Result<(), Failure> {
        pending().await
    }
    #[retry(on = [503, Failure::NotYet], runtime = backoff_core::Tokio, cut_on = token.cancelled())]
    async fn matched(token: &CancellationToken) -> Result<(), Failure> {
        pending().await
    }
    #[retry(policy = *policy, attempt = n, cut_on = token.cancelled())]
    async fn lent(policy: &Policy, token: &CancellationToken) -> Result<(), Failure> {
        assert_eq!(n.number(), 1);
        pending().await
    }
    #[retry(policy = POLICY, clone(name), cut_on = token.cancelled())]
    async fn copied(name: String, token: &CancellationToken) -> Result<(), Failure> {
        drop(name);
        pending().await
    }
    #[retry(until = |_| false, consecutive = 2, cut_on = token.cancelled())]
    async fn awaited(token: &CancellationToken) -> Result<(), Failure> {
        pending().await
    }
    #[retry(policy = POLICY, cut_on = token.cancelled_owned())]
    async fn spawned(token: CancellationToken) -> Result<(), Failure> {
        pending().await
    }
    let token = &in_a_minute();
    let owned = tokio::spawn(spawned(token.clone()));
    let name = "name".to_owned();
    let (a, b, c, d, e, f, g) = tokio::join!(
        bare(token),
        judged(token),
        matched(token),
        lent(&POLICY, token),
        copied(name, token),
        awaited(token),
        owned
    );
    assert_eq!([a, b, c, d, e, f, g.unwrap()], [Err(Failure::Stopped); 7]);
}

#[tokio::test(start_paused = true)]
async fn the_budget_pays_for_a_retry_that_the_key_cuts_and_for_no_wait_that_it_ends() {
    static BUDGET: Budget = Budget::aws();
    const PAID: Policy = POLICY.budget(&BUDGET);
    let (calls, token) = (Cell::new(0), in_a_minute());
    let cut = retry_block!(policy = PAID, cut_on = token.cancelled(), async {
        busy_then_hangs(&calls, 1).await
    });
    assert_eq!(cut.await, Err(Failure::Stopped));
    assert_eq!(BUDGET.tokens(), 500.0 - 14.0);

    let token = in_a_minute();
    let ended = retry_block!(policy = PAID, cut_on = token.cancelled(), async {
        ready(Err::<(), _>(Busy)).await
    });
    assert_eq!(ended.await, Err(Busy));
    // Two more retries were made, and the third wait was ended.
    assert_eq!(BUDGET.tokens(), 500.0 - 3.0 * 14.0);
}

/// The signal is of whatever type, also one that only its bounds are known of.
#[tokio::test(start_paused = true)]
async fn the_keys_take_a_signal_of_any_type() {
    #[retry(policy = POLICY, stop_on = signal)]
    async fn generic<F: Future>(signal: F) -> Result<(), Failure> {
        Err(Busy)
    }
    #[retry(policy = POLICY, cut_on = signal)]
    async fn hidden(signal: impl Future<Output = u32>) -> Result<(), Failure> {
        pending().await
    }
    #[retry(policy = POLICY, stop_on = &mut *signal)]
    async fn lent(signal: &mut (dyn Future<Output = ()> + Unpin)) -> Result<(), Failure> {
        Err(Busy)
    }
    let start = Instant::now();
    let token = in_a_minute();
    let mut pinned = Box::pin(token.cancelled());
    let (generic, hidden, lent) = tokio::join!(
        generic(sleep(MINUTE)),
        hidden(async {
            sleep(MINUTE).await;
            7
        }),
        lent(&mut pinned),
    );
    assert_eq!(generic, Err(Busy));
    assert_eq!(hidden, Err(Failure::Stopped));
    assert_eq!(lent, Err(Busy));
    assert_eq!(start.elapsed(), MINUTE);
}
