//! What a thread runs, one inside of the other: attempts of which a rate or a breaker wants to know.

use core::cell::RefCell;
use std::thread::LocalKey;

/// What the thread runs.
pub(crate) type Stack<T> = RefCell<Vec<T>>;

/// Until this is dropped, the thread runs the attempt.
pub(crate) struct Runs<T: 'static>(&'static LocalKey<Stack<T>>);

impl<T> Runs<T> {
    /// Nothing if the thread ends: then its values are gone.
    pub(crate) fn enter(key: &'static LocalKey<Stack<T>>, attempt: T) -> Option<Self> {
        let entered = key.try_with(|all| all.borrow_mut().push(attempt));
        entered.is_ok().then_some(Runs(key))
    }
}

impl<T> Drop for Runs<T> {
    fn drop(&mut self) {
        // Dropped after the borrow: the last reference to a rate may drop other calls.
        let _attempt = self.0.try_with(|all| all.borrow_mut().pop());
    }
}
