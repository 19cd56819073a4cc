//! Memorystore: instances, and the operations that create and delete them.

pub(super) mod action;
mod operation;
pub(super) mod product;
pub(super) mod request;
pub(super) mod store;
#[cfg(test)]
mod tests;
