//! Memorystore: instances, and the operations that create and delete them.

mod operation;
mod product;
mod request;
mod store;
#[cfg(test)]
mod tests;

pub use self::product::Memorystore;
pub(super) use self::request::parse;
pub(super) use self::store::{Done, Instances};

use serde_json::{Map, Value};

use super::fault::Call;

/// What is asked of an instance, an operation, or all of a location.
#[derive(Debug, PartialEq)]
pub(super) enum Action {
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

/// Which part of a list is asked for.
#[derive(Debug, PartialEq)]
pub(super) struct Page {
    pub(super) size: usize,
    /// The name that comes before the first of the page.
    pub(super) after: Option<String>,
}

impl Action {
    pub(super) fn call(&self) -> Call {
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
