//! Tells an attempt that is dropped because its time is over from one that its caller drops.
//!
//! A future is not told why it is dropped. `Reconnect` has to know: a connection may be the reason
//! why the time of an attempt is over, and has no part in it when the caller goes away.

#[cfg(feature = "reconnect")]
use core::cell::Cell;

#[cfg(feature = "reconnect")]
std::thread_local! {
    static IS_CUTTING: Cell<bool> = const { Cell::new(false) };
}

/// Drops something because its time is over. What is dropped meanwhile can ask [`is_cutting`].
#[inline]
pub(crate) fn cutting(drop_it: impl FnOnce()) {
    #[cfg(feature = "reconnect")]
    let _scope = Scope(IS_CUTTING.replace(true));
    drop_it();
}

/// Whether this thread is dropping something because its time is over.
#[cfg(feature = "reconnect")]
pub(crate) fn is_cutting() -> bool {
    IS_CUTTING.get()
}

/// Restores what was before, also where a destructor panics.
#[cfg(feature = "reconnect")]
struct Scope(bool);

#[cfg(feature = "reconnect")]
impl Drop for Scope {
    fn drop(&mut self) {
        IS_CUTTING.set(self.0);
    }
}

#[cfg(all(test, feature = "reconnect"))]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_dropped_meanwhile_is_cut() {
        assert!(!is_cutting());
        cutting(|| {
            cutting(|| assert!(is_cutting()));
            assert!(is_cutting());
            let elsewhere = std::thread::spawn(is_cutting).join();
            assert!(!elsewhere.unwrap());
        });
        assert!(!is_cutting());
    }

    #[test]
    fn a_destructor_that_panics_leaves_no_mark() {
        let panicked = std::panic::catch_unwind(|| cutting(|| panic!("in a destructor")));
        assert!(panicked.is_err());
        assert!(!is_cutting());
    }
}
