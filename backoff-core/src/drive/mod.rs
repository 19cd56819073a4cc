//! The types behind the methods of [`Policy`](crate::Policy): the operations that can be attempted, the
//! settings of a call, and the async and the blocking loop. To retry an operation you need none of
//! these names. They are public for programs that keep a call in a struct of their own.

#![allow(
    clippy::type_complexity,
    reason = "the type of a call names each of its slots"
)]

pub(crate) mod admission;
pub(crate) mod around;
pub(crate) mod attempt_failure;
pub(crate) mod blocking;
pub(crate) mod call_info;
#[cfg(feature = "metrics")]
mod call_metrics;
pub(crate) mod call_state;
pub(crate) mod consecutive;
pub(crate) mod context;
pub(crate) mod cut_flag;
pub(crate) mod entry;
pub(crate) mod foreign;
pub(crate) mod future;
pub(crate) mod handler;
pub(crate) mod judges;
pub(crate) mod limit;
mod opaque;
pub(crate) mod operation;
pub(crate) mod plan;
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

pub use blocking::Blocking;
pub use entry::Judged;
pub use future::{Reported, Retrying};
pub use judges::{ByCodes, When, WhenAny};
pub use limit::{Limited, MaxWait};
pub use operation::{Awaits, Blocks, Plain, WithAttempt};
#[cfg(feature = "rate")]
pub use plan::Rated;
pub use plan::{Funded, Named};
pub use resume::Resuming;
pub use rules::{ConflictIf, Responses, Until};
pub use settings::Settings;
#[cfg(feature = "tracing")]
pub use spans::Spans;
pub use stopping::{StoppedBy, Unstopped};
pub use update::{Changed, Update};
pub use version::{Version, Versioned, VersionedUpdate};
pub use watch::Measured;

#[doc(no_inline)]
pub use crate::{observe::Notify, report::Reporting};

// No program names these. They are public, because the types above have them in their bounds.
#[doc(hidden)]
pub use self::{
    around::Around,
    attempt_failure::AttemptFailure,
    call_info::CallInfo,
    call_state::CallState,
    consecutive::ConsecutiveCount,
    context::{Called, Context, OnHost},
    handler::Handler,
    judges::Judge,
    limit::{Expires, Limit, Timer},
    operation::{At, Closure, Failed, Operation, Run},
    plan::{Borrowed, Guard, Pays, Plan, Unfunded},
    rules::{Codes, Counts, Rules},
    settings::{AttemptTypes, Delays},
    stopping::{BlockingSignal, Once, Signal},
    update::{Forgets, Memory, Running},
    watch::Watch,
    write_outcome::WriteOutcome,
};
#[doc(hidden)]
pub use crate::{
    judge::{Ruling, Stage},
    report::Measures,
    state::{Decision, Overrides},
};
