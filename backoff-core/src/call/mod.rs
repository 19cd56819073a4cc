//! The types behind the methods of [`Policy`](crate::Policy): a call ([`Retrying`]), its parts, and its
//! operations. To retry an operation you need none of these names. They are public for programs that keep
//! a call in a struct of their own.

#![allow(
    clippy::type_complexity,
    reason = "the type of a call names each of its settings"
)]

pub(crate) mod blocking;
pub(crate) mod builder;
#[allow(
    clippy::module_inception,
    reason = "the room has the name of its main type"
)]
pub(crate) mod call;
pub(crate) mod call_info;
pub(crate) mod call_state;
pub(crate) mod cut_flag;
pub(crate) mod entry;
pub(crate) mod foreign;
pub(crate) mod operation;
pub(crate) mod parts;
pub(crate) mod plan;
pub(crate) mod race;
pub(crate) mod report;
pub(crate) mod resume;
pub(crate) mod retrying;
pub(crate) mod setting;
pub(crate) mod settings;
pub(crate) mod signal;
pub(crate) mod timer;
#[cfg(feature = "tower")]
pub mod tower;
pub(crate) mod turn;
pub(crate) mod update;
pub(crate) mod version;
pub(crate) mod write_outcome;

pub use entry::{Async, Blocking, Judged};
pub use plan::With;
pub use report::Reported;
pub use resume::Resuming;
pub use retrying::Retrying;
pub use settings::judges::{ByCodes, When, WhenAny};
pub use update::{Changed, Update};
pub use version::{Version, VersionedUpdate};

#[doc(no_inline)]
pub use crate::report::Reporting;

// No program names these. They are public, because the types above have them in their bounds.
#[doc(hidden)]
pub use self::{
    blocking::OnThread,
    builder::{CutsAttempts, Hedges, MakesAttempts, Replaced},
    call::Call,
    call_info::CallInfo,
    operation::{
        Awaits, Blocks, CallOf, Closure, Failed, Failing, Memory, Named, Operation, Plain,
        Remembers, Run, RunsTwice, WithAttempt,
    },
    plan::Plan,
    race::{Hedging, Second, Unhedged},
    resume::{ByCaller, Resumed},
    retrying::{Awaited, Driver, Phase},
    setting::{Setting, Surrounds},
    settings::{
        judges::{By, Judge},
        limits::{AttemptTimeout, MaxQueueTime, Timeout},
        others::{Delays, Kept, Notify},
        report::Measured,
        until::{ConsecutiveCount, Counts, Until},
        values::{ConflictIf, Responses},
    },
    signal::{Once, Signal, StoppedBy, Stops, Unstopped},
    timer::{Limit, Timer},
    turn::Wait,
    update::{NoWriteMemory, Running, WriteMemory},
    version::Versioned,
    write_outcome::WriteOutcome,
};
#[doc(hidden)]
pub use crate::{
    event::attempt_event::{AttemptEvent, Started},
    judge::{Ruling, Stage},
    report::Measures,
    state::{Decision, Rules},
};
#[cfg(feature = "tracing")]
#[doc(hidden)]
pub use settings::spans::Spans;
