//! The calls for a resource's policy.

use super::policy::{Update, Version};
use crate::emulator::fault::Call;

/// A call and its arguments.
#[derive(Debug, PartialEq)]
pub(in crate::emulator) enum Action {
    Get(Version),
    Set(Update),
    /// The permissions to test.
    Test(Vec<String>),
}

impl Action {
    pub(in crate::emulator) fn call(&self) -> Call {
        match self {
            Self::Get(_) => Call::GetIamPolicy,
            Self::Set(_) => Call::SetIamPolicy,
            Self::Test(_) => Call::TestIamPermissions,
        }
    }
}
