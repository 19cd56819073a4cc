//! The types behind the methods of [`Policy`](crate::Policy): the operations that can be attempted, the
//! settings of a call, and the async and the blocking loop. To retry an operation you need none of
//! these names. They are public for programs that keep a call in a struct of their own.

pub(crate) mod around;
pub(crate) mod blocking;
pub(crate) mod consecutive;
pub(crate) mod context;
pub(crate) mod course;
pub(crate) mod ending;
pub(crate) mod entry;
pub(crate) mod foreign;
pub(crate) mod future;
pub(crate) mod handler;
pub(crate) mod judges;
pub(crate) mod limit;
pub(crate) mod mark;
#[cfg(feature = "metrics")]
mod meter;
#[cfg(feature = "tokio")]
mod mutable;
mod opaque;
pub(crate) mod operation;
pub(crate) mod plan;
pub(crate) mod recall;
pub(crate) mod resume;
pub(crate) mod rules;
pub(crate) mod settings;
#[cfg(feature = "tracing")]
pub(crate) mod spans;
mod stop_on;
pub(crate) mod stopping;
#[cfg(feature = "tower")]
pub mod tower;
pub(crate) mod update;
pub(crate) mod version;
pub(crate) mod watch;
pub(crate) mod write_outcome;

pub use around::Around;
pub use blocking::Blocking;
pub use consecutive::ConsecutiveCount;
pub use context::Context;
pub use course::Course;
pub use ending::Ending;
pub use entry::Judged;
pub use future::{Reported, Retrying};
pub use handler::Handler;
pub use judges::{ByCodes, Judge, When, WhenAny};
pub use limit::{Expires, Limit, Limited, Timer};
pub use operation::{At, Awaits, Blocks, Closure, Failed, Operation, Plain, Run, WithAttempt};
pub use plan::{Borrowed, Funded, Guard, Pays, Plan, Unfunded};
pub use recall::Recall;
pub use resume::Resuming;
pub use rules::{ConflictIf, Counts, Responses, Rules, Until};
pub use settings::{Delays, Frame, Settings};
#[cfg(feature = "tracing")]
pub use spans::Spans;
pub use stopping::{BlockingSignal, Once, Signal, StoppedBy, Unstopped};
pub use update::{Changed, Forgets, Memory, Running, Update};
pub use version::{Version, Versioned, VersionedUpdate};
pub use watch::{Measured, Watch};
pub use write_outcome::WriteOutcome;

#[doc(no_inline)]
pub use crate::{
    judge::{Ruling, Stage},
    observe::Notify,
    report::{Measures, Reporting},
    state::{Next, Overrides},
};
