//! How an attempt of an annotated function ended, or why it did not begin.

use crate::{
    call::before::End,
    stage::{EndedBy, Stage},
};

/// How an attempt of an annotated function ended, or why it did not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The function returned.
    Returned,
    /// The value is not yet the awaited one.
    Value,
    /// The time of the attempt was over.
    Clock,
    /// A signal cut the attempt.
    Signal,
    /// The attempt did not begin, because no time was left.
    Late,
    /// The attempt did not begin, because the call waited too long for its turn at its rate.
    Queued,
    /// The attempt did not begin, because the breaker is open.
    Refused,
    /// The attempt did not begin, because a signal had come.
    Stopped,
}

impl Ending {
    /// The stage of an attempt, and why it ended; or why the call ends before the attempt.
    pub(super) const fn of_attempt(self) -> Result<(Stage, EndedBy), End> {
        match self {
            Ending::Returned => Ok((Stage::Whole, EndedBy::Operation)),
            Ending::Value => Ok((Stage::Value, EndedBy::Operation)),
            Ending::Clock => Ok((Stage::Whole, EndedBy::Clock)),
            Ending::Signal => Ok((Stage::Whole, EndedBy::Signal)),
            Ending::Late => Err(End::Expired),
            Ending::Queued => Err(End::Queued),
            Ending::Refused => Err(End::Refused),
            Ending::Stopped => Err(End::Stopped),
        }
    }
}
