//! The parsed form of a well-formed request.

use super::fault::Call;
use super::iam::action::Action as PolicyAction;
use super::instances::action::Action as InstanceAction;

/// The method and the resource of a request.
#[derive(Debug, PartialEq)]
pub(super) struct Demand {
    pub(super) resource: String,
    pub(super) action: Action,
    /// Whether enumerations are numbers in the reply.
    pub(super) numbers: bool,
}

/// The service and its method.
#[derive(Debug, PartialEq)]
pub(super) enum Action {
    Policy(PolicyAction),
    Instances(InstanceAction),
}

impl Demand {
    pub(super) fn policy(resource: &str, action: PolicyAction) -> Self {
        Self {
            resource: resource.to_owned(),
            action: Action::Policy(action),
            numbers: false,
        }
    }

    pub(super) fn call(&self) -> Call {
        match &self.action {
            Action::Policy(action) => action.call(),
            Action::Instances(action) => action.call(),
        }
    }
}
