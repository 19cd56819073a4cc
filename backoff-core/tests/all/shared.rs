//! What calls share works on when a caller is dropped, is kept and not polled, panics or hangs: every other call ends
//! within its limit.

mod callers;

use backoff_core::{Fault, Jitter, NotOpened, Policy, Reconnect, TimedOut};
use callers::{SECOND, draw, others_end, step};
use std::rc::Rc;

#[derive(Debug, Fault)]
enum Failure {
    #[fault(forward)]
    Broken(TimedOut),
    #[fault(forward)]
    NotOpened(NotOpened<TimedOut>),
}

impl From<NotOpened<TimedOut>> for Failure {
    fn from(error: NotOpened<TimedOut>) -> Self {
        Failure::NotOpened(error)
    }
}

async fn open() -> Result<(), TimedOut> {
    step().await;
    match draw(8) {
        0 => Err(TimedOut::new(SECOND)),
        _ => Ok(()),
    }
}

async fn operate() -> Result<(), Failure> {
    step().await;
    match draw(4) {
        0 => Err(Failure::Broken(TimedOut::new(SECOND))),
        _ => Ok(()),
    }
}

#[test]
fn a_connection() {
    const POLICY: Policy = Policy::exponential()
        .max_backoff(SECOND)
        .max_attempts(100)
        .jitter(Jitter::None);
    for seed in 0..300 {
        others_end(
            seed,
            // An opening holds the others up for a second.
            |misbehaved| SECOND * (20 + misbehaved),
            Rc::new(Reconnect::new(open).opening_backoff(POLICY)),
            |source| async move { POLICY.retry(|| source.with(|()| operate())).await },
        );
    }
}
