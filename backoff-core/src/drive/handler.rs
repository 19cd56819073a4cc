//! The trait by which the state of a call reads its settings.

use super::attempt_failure::AttemptFailure;
use crate::{
    delay::Delay,
    facts::fault::Fault,
    judge::{Ruling, Stage},
    observe::Event,
    policy::Policy,
    state::Decision,
};
use core::time::Duration;

/// The settings of a call, as the state of the call sees them, for errors of the type `E`.
pub trait Handler<E> {
    /// Whether a hook is called.
    const LISTENS: bool;
    /// Whether [`judged`](Self::judged) is called.
    const WANTS_RULINGS: bool;

    /// As [`Judge::judge`](super::judges::Judge::judge).
    fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Ruling;

    /// As [`Judge::fault`](super::judges::Judge::fault).
    fn fault<'e>(&self, error: &'e E) -> Option<&'e dyn Fault>;

    /// The caller's own waits.
    fn delays(&self) -> Option<&dyn Delay>;

    /// As [`Watch::judged`](super::watch::Watch::judged).
    fn judged(&mut self, stage: Stage, ruling: Ruling, fault: Option<&dyn Fault>);

    /// As [`Watch::measure`](super::watch::Watch::measure).
    fn measure(
        &mut self,
        attempt_failure: AttemptFailure<'_>,
        is_conflict: bool,
        next: Decision,
        elapsed: impl FnOnce() -> Duration,
    );

    /// An attempt succeeded.
    fn succeeded(&mut self);

    /// Called before each wait, when the operation is given up, and when it succeeds after retries.
    fn notify(&mut self, event: &Event<'_, E>);
}
