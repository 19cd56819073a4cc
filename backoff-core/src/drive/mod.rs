//! The types behind the methods of [`Policy`](crate::Policy): the operations that can be attempted, the
//! settings of a call, and the async and the blocking loop. To retry an operation you need none of
//! these names. They are public for programs that keep a call in a struct of their own.

pub(crate) mod attempt;
pub(crate) mod blocking;
pub(crate) mod bounded;
pub(crate) mod consecutive;
pub(crate) mod course;
pub(crate) mod deposit;
pub(crate) mod ending;
pub(crate) mod entry;
pub(crate) mod foreign;
pub(crate) mod future;
pub(crate) mod handler;
pub(crate) mod mark;
#[cfg(feature = "metrics")]
mod meter;
#[cfg(feature = "tokio")]
mod mutable;
mod purse;
pub(crate) mod recall;
pub(crate) mod resume;
#[cfg(feature = "tracing")]
pub(crate) mod spans;
mod stop_on;
pub(crate) mod stopping;
#[cfg(feature = "tower")]
pub mod tower;
pub(crate) mod until;
pub(crate) mod update;
pub(crate) mod version;
pub(crate) mod write_outcome;

pub use attempt::{At, Call, Failed, Operation, Plain, Reports, Run, WithAttempt};
pub use blocking::{Blocked, Blocking};
pub use bounded::{Bounded, Limited};
pub use consecutive::{Consecutive, Row};
pub use course::Course;
pub use deposit::{Borrowed, Deposit, Payer, Unfunded};
pub use ending::Ending;
pub use entry::Judged;
pub use future::{Reported, Retrying};
pub use handler::{
    ByCodes, Delayed, Funded, Handle, Handler, Measured, Notified, Owning, Under, When, WhenAny,
};
#[cfg(feature = "tokio")]
pub use mutable::{Cut, Finished, Stopping, WhatIsRunning};
pub use recall::Recall;
pub use resume::Resuming;
#[cfg(feature = "tracing")]
pub use spans::Spanned;
#[cfg(feature = "std")]
pub use stop_on::Stoppable;
pub use stopping::{BlockingSignal, Once, Signal, StoppedBy, Unstopped};
pub use until::{ConflictIf, Responding, Responses, Until};
pub use update::{Changed, Forgets, Memory, Running, Update};
pub use version::{Version, Versioned, VersionedUpdate};
pub use write_outcome::WriteOutcome;

#[doc(no_inline)]
pub use crate::{
    judge::{Ruling, Stage},
    observe::Notify,
    report::{Measures, Reporting},
    state::{Next, Overrides},
};
