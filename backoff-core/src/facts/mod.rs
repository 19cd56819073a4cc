//! The facts about a failed attempt. A policy judges the facts.

pub(crate) mod aws;
pub(crate) mod codes;
pub(crate) mod fault;
#[cfg(feature = "std")]
pub(crate) mod google;
pub(crate) mod grpc;
#[cfg(feature = "hint")]
pub mod hint;
pub(crate) mod idempotence;
#[cfg(feature = "http-1")]
pub(crate) mod method;
pub(crate) mod not_applied;
pub(crate) mod not_opened;
#[cfg(feature = "rate")]
pub(crate) mod quota;
