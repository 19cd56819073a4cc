//! The calls for an instance, an operation, or all of a location.

use serde_json::{Map, Value};

use crate::emulator::fault::Call;

/// A call and its arguments.
#[derive(Debug, PartialEq)]
pub(in crate::emulator) enum Action {
    List(Page),
    Get,
    Create {
        instance: Map<String, Value>,
        request_id: Option<String>,
    },
    Delete {
        request_id: Option<String>,
    },
    ListOperations(Page),
    GetOperation,
    CancelOperation,
    DeleteOperation,
}

/// The prefix of a page token. The last name of the page before follows.
pub(super) const TOKEN: &str = "after:";

/// The part of a list that a call asks for.
#[derive(Debug, PartialEq)]
pub(in crate::emulator) struct Page {
    pub(super) size: usize,
    /// The last name of the page before.
    pub(super) after: Option<String>,
}

impl Action {
    pub(in crate::emulator) fn call(&self) -> Call {
        match self {
            Self::List(_) => Call::ListInstances,
            Self::Get => Call::GetInstance,
            Self::Create { .. } => Call::CreateInstance,
            Self::Delete { .. } => Call::DeleteInstance,
            Self::ListOperations(_) => Call::ListOperations,
            Self::GetOperation => Call::GetOperation,
            Self::CancelOperation => Call::CancelOperation,
            Self::DeleteOperation => Call::DeleteOperation,
        }
    }
}
