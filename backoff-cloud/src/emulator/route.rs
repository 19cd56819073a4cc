//! Chooses the service for a request.

use super::demand::Demand;
use super::iam;
use super::instances::{self, product::Memorystore};
use super::refusal::Refusal;
use super::request::Request;

/// Reads a request: for Memorystore if its path names an instance or an operation, otherwise for IAM.
pub(super) fn demand(request: &Request<'_>, product: Memorystore) -> Result<Demand, Refusal> {
    instances::request::parse(request, product).unwrap_or_else(|| iam::request::parse(request))
}
