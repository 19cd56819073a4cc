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
#[cfg(feature = "http-1")]
pub use crate::facts::method::{OTHER_METHOD, name_of};
#[cfg(all(feature = "http-1", feature = "rate"))]
pub use crate::rate::observe_reply;
#[cfg(feature = "std")]
pub use crate::{clients::boxed::register, facts::google::Reasons};
pub use admission::*;
pub use awaited::*;
pub use constant_context::{ConstantContext, begin, begin_known, known};
pub use context::*;
pub use cut::*;
pub use editor_keys::Keys;
pub use ending::Ending;
pub use facts::*;
pub use judges::{BY_CODES, error_of, every, found, notified, or, when};
pub use made_errors::{FromNotYet, FromStopped, FromTimedOut, LateBy, by_key};
#[cfg(feature = "http-1")]
pub use one_request::may_send_twice;
pub use one_request::{is_idempotent_policy, makes_one_attempt, retrying};
pub use outcome::{Outcome, placeholder};
pub use outcomes::Outcomes;
pub use spans::*;
pub use step::*;
pub use stop::*;
pub use timer::*;

mod admission;
mod awaited;
mod constant_context;
mod context;
mod cut;
mod editor_keys;
mod ending;
mod facts;
mod judges;
mod made_errors;
mod one_request;
mod outcome;
mod outcomes;
mod spans;
mod step;
mod stop;
mod timer;
