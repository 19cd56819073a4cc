//! Allow policies: the calls for them, and the rules for reading and writing them.

pub(super) mod action;
pub(super) mod lag;
mod names;
pub(super) mod policy;
pub(super) mod request;
pub(super) mod store;
