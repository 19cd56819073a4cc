//! The locks of this module: the standard library's, and loom's when loom explores the races.

#[cfg(all(test, loom))]
pub(super) use loom::sync::{Mutex, MutexGuard};
#[cfg(not(all(test, loom)))]
pub(super) use std::sync::{Mutex, MutexGuard};
