//! The types behind the methods of [`Policy`](crate::Policy): a call ([`Retrying`](crate::Retrying)), its parts, and its
//! operations. To retry an operation you need none of these names. They are public for programs that keep
//! a call in a struct of their own.

#![allow(
    clippy::type_complexity,
    reason = "the type of a call names each of its settings"
)]

pub(crate) mod admission;
pub(crate) mod after;
pub(crate) mod attempt;
pub(crate) mod before;
pub(crate) mod blocking;
pub(crate) mod builder;
pub(crate) mod call_state;
pub(crate) mod cut_flag;
pub(crate) mod entry;
pub(crate) mod erased;
pub(crate) mod events;
pub(crate) mod feature_off;
pub(crate) mod foreign;
pub(crate) mod hedging;
pub(crate) mod operation;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod resume;
pub(crate) mod retrying;
pub(crate) mod setting;
pub(crate) mod settings;
pub(crate) mod signal;
pub(crate) mod timer;
pub(crate) mod update;
pub(crate) mod version;
pub(crate) mod write_outcome;

pub use entry::{Async, Judged};
pub use plan::With;
pub use report::Reported;
pub use settings::judges::{ByCodes, When, WhenAny};
pub use update::{Changed, ConditionalUpdate, Update};
pub use version::{Version, VersionedUpdate};

pub use crate::report::Reporting;

// No program names these. They are public, because the types above have them in their bounds. Each definition is
// hidden from the pages: for another crate that shows these pages, a hidden `use` would not hide its item.
pub use self::{
    attempt::Phase,
    before::WaitState,
    blocking::OnThread,
    builder::{CutsAttempts, Hedges, MakesAttempts, Replaced},
    call_state::CallInfo,
    erased::Call,
    hedging::{Hedging, Second, Unhedged},
    operation::{
        AnyOperation, Awaits, Blocks, CallOf, Closure, Failed, JudgedFailure, Memory, Operation,
        Plain, Run, RunsTwice, WithAttempt,
    },
    plan::Plan,
    resume::{ByCaller, Resumed},
    retrying::{Awaited, Driver},
    setting::{Setting, Surrounds},
    settings::{
        judges::{By, Judge},
        limits::{AttemptTimeout, Delays, MaxQueueTime, Timeout},
        notify::Notify,
        report::{Kept, Measured},
        until::{ConsecutiveCount, Counts, Until},
        values::{ConflictIf, Responses},
    },
    signal::{BlockingSignal, Once, Signal, StoppedBy, Unstopped},
    timer::{Limit, Timer},
    update::{Conditional, NoWriteMemory, UpdateAttempt, WriteMemory},
    version::Versioned,
    write_outcome::{Remembered, WriteOutcome},
};
pub use crate::{
    event::attempt_event::AttemptEvent,
    report::Measures,
    stage::{EndedBy, Stage},
    state::Rules,
};
#[cfg(feature = "tracing")]
pub use settings::spans::Spans;
