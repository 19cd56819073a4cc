//! What is asked of an instance, an operation, or all of a location.

use serde_json::{Map, Value};

use crate::emulator::fault::Call;

/// A call, with what it brings along.
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

/// What the token of a page begins with; the name that comes before the page follows.
pub(super) const TOKEN: &str = "after:";

/// Which part of a list is asked for.
#[derive(Debug, PartialEq)]
pub(in crate::emulator) struct Page {
    pub(super) size: usize,
    /// The name that comes before the first of the page.
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
