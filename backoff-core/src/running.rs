//! What a thread runs, one inside of the other: attempts of which a rate or a breaker wants to know.

use core::cell::RefCell;
use std::thread::LocalKey;

/// What the thread runs.
pub(crate) type Stack<T> = RefCell<Vec<T>>;

/// The thread runs this, until [`leave`]. Returns whether it does: when a thread ends, its values are gone.
pub(crate) fn enter<T>(key: &'static LocalKey<Stack<T>>, attempt: T) -> bool {
    key.try_with(|all| all.borrow_mut().push(attempt)).is_ok()
}

/// The thread does not run the innermost attempt any more.
pub(crate) fn leave<T>(key: &'static LocalKey<Stack<T>>) {
    // Dropped after the borrow: the last reference to a rate may drop other calls.
    let _attempt = key.try_with(|all| all.borrow_mut().pop());
}
