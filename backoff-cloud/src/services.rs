//! What the modules of the services tell `http`, which knows no service: one list.

use crate::{aws, azure, openai};
use backoff_core::FaultKind;

/// The tables of codes.
pub(crate) const KINDS: [fn(&str) -> Option<FaultKind>; 3] = [aws::kind, azure::kind, openai::kind];

/// The codes of a signature that the service calls too old, or too young. A call that signs each attempt anew repeats
/// it once.
pub(crate) const STALE_SIGNATURE: &str = aws::STALE_SIGNATURE;
