//! Distinguishes an attempt that is dropped because its time is over from an attempt that its caller
//! drops.
//!
//! A future does not learn why it is dropped. `Reconnect` must know the reason: if the time of an
//! attempt is over, the connection may be the cause; if the caller goes away, the connection is not the
//! cause.

#[cfg(feature = "reconnect")]
use core::cell::Cell;

#[cfg(feature = "reconnect")]
std::thread_local! {
    static IS_CUTTING: Cell<bool> = const { Cell::new(false) };
}

/// Drops a value because its time is over. Destructors can ask [`is_cutting`] meanwhile.
#[inline]
pub(crate) fn cutting(drop_it: impl FnOnce()) {
    #[cfg(feature = "reconnect")]
    let _scope = Scope(IS_CUTTING.replace(true));
    drop_it();
}

/// Whether this thread is dropping a value because its time is over.
#[cfg(feature = "reconnect")]
pub(crate) fn is_cutting() -> bool {
    IS_CUTTING.get()
}

/// Restores the earlier value, even if a destructor panics.
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
    fn a_destructor_that_panics_restores_the_flag() {
        let panicked = std::panic::catch_unwind(|| cutting(|| panic!("in a destructor")));
        assert!(panicked.is_err());
        assert!(!is_cutting());
    }
}
