//! Whose a request is.

use super::demand::Demand;
use super::iam;
use super::instances::{self, product::Memorystore};
use super::refusal::Refusal;
use super::request::Request;

/// What a request asks for: of Memorystore, if its path names an instance or an operation, or else
/// of IAM.
pub(super) fn demand(request: &Request<'_>, product: Memorystore) -> Result<Demand, Refusal> {
    instances::request::parse(request, product).unwrap_or_else(|| iam::request::parse(request))
}
