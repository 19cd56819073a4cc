//! The code that the macros expand to: a few lines around the state of a call. Hidden, because it changes
//! without notice.

pub use crate::{
    call::{
        call_state::CallState, foreign::ForeignCall, plan::Guard, settings::until::ConsecutiveCount,
    },
    codes,
    delay::jitter::Jitter,
    facts::{
        aws::{aws_code, aws_kind, kind_in},
        codes::{Codes, IsCodes, NoCodes},
        idempotence::*,
    },
    judge::Stage,
    policy::{Policy, log_level::LogLevel},
    runtime::{ASYNC, AsyncRuntime, BLOCKING, BlockingRuntime, NoRuntime, nanos},
    state::Attempt,
    text::{Loggable, Rounded, is_secret},
};
pub use core::{option::Option, pin::pin, result::Result, time::Duration};

#[cfg(feature = "macros")]
pub use backoff_macros::__retry_block;

#[cfg(feature = "aws-smithy-1")]
pub use crate::clients::aws_smithy::GivenUp;
#[cfg(all(feature = "http-1", feature = "rate"))]
pub use crate::rate::observe_reply;
#[cfg(feature = "std")]
pub use crate::{clients::boxed::know, facts::google::Reasons};
pub use awaited::*;
pub use context::*;
pub use cut::*;
pub use entering::*;
pub use facts::*;
pub use judges::{BY_CODES, error_of, every, found, notified, or, when};
pub use keys::Keys;
pub use known::{Known, begin, begin_known, known};
pub use made::{FromNotYet, FromStopped, FromTimedOut, LateBy, by_key};
pub use outcome::{Outcome, placeholder};
pub use outcomes::Outcomes;
pub use shared::{Consumed, HandedOver, Kept, Shared, SharedPin, SharedSelf};
#[cfg(feature = "http-1")]
pub use single::may_send_twice;
pub use single::{is_idempotent_policy, retrying};
pub use spans::*;
pub use step::*;
pub use stop::*;
pub use timer::*;

mod awaited;
mod context;
mod cut;
mod entering;
mod facts;
mod judges;
mod keys;
mod known;
mod made;
mod outcome;
mod outcomes;
mod shared;
mod single;
mod spans;
mod step;
mod stop;
mod timer;
