//! Locks: the standard library's, and loom's when loom explores the races.

#[cfg(all(test, loom))]
pub(crate) use loom::sync::{Mutex, MutexGuard};
#[cfg(not(all(test, loom)))]
pub(crate) use std::sync::{Mutex, MutexGuard};

/// Takes the lock, also after a panic under it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    let locked = mutex.lock();
    locked.unwrap_or_else(std::sync::PoisonError::into_inner)
}
