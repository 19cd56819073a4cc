//! The id of a call is the same in every attempt, and each call has a different id, in every form.
use backoff_core::{Attempt, Jitter, Policy, RequestId, TimedOut, retry, retry_block};
use std::{cell::RefCell, collections::HashSet, future::ready, time::Duration};

const POLICY: Policy = Policy::exponential()
    .base(Duration::ZERO)
    .jitter(Jitter::None)
    .max_attempts(3);

/// The ids of the attempts of one call, all of which fail.
#[derive(Default)]
struct Seen(RefCell<Vec<RequestId>>);

impl Seen {
    fn fails(&self, attempt: Attempt) -> Result<(), TimedOut> {
        self.0.borrow_mut().push(attempt.id());
        Err(TimedOut::new(Duration::ZERO))
    }
}

#[retry(policy = POLICY, attempt = n)]
async fn annotated(seen: &Seen) -> Result<(), TimedOut> {
    seen.fails(n)
}

#[retry(policy = POLICY, attempt = n)]
fn annotated_blocking(seen: &Seen) -> Result<(), TimedOut> {
    seen.fails(n)
}

#[tokio::test(start_paused = true)]
async fn all_attempts_of_a_call_have_one_id_and_no_two_calls_have_the_same() {
    let mut ids = HashSet::new();
    for _ in 0..100 {
        let forms: [Seen; 6] = Default::default();
        let [a, b, c, d, e, f] = &forms;
        let _ = POLICY.retry_with(|n| ready(a.fails(n))).await;
        let cut = POLICY.retry_with(|n| ready(b.fails(n)));
        let _ = cut.attempt_timeout(Duration::from_secs(1)).await;
        let _ = POLICY.blocking_with(|n| c.fails(n)).call();
        let _ = annotated(d).await;
        let _ = annotated_blocking(e);
        let _ = retry_block!(policy = POLICY, attempt = n, async { f.fails(n) }).await;
        for Seen(seen) in forms {
            let seen = seen.into_inner();
            assert_eq!(seen.len(), 3);
            assert!(seen.iter().all(|id| *id == seen[0]), "{seen:?}");
            assert!(ids.insert(seen[0]), "{} again", seen[0]);
        }
    }
    assert_eq!(ids.len(), 600);
}
