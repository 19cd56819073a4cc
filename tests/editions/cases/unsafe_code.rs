//! What is unsafe in the function is unsafe in its attempts, and nothing else is.

#![deny(unsafe_op_in_unsafe_fn, unused_unsafe)]

use super::*;

#[repr(transparent)]
#[derive(Clone, Copy)]
struct Pointer(*const Flaky);

impl Pointer {
    #[allow(improper_ctypes_definitions)]
    #[retry(base = "1ms", max_attempts = 3)]
    unsafe extern "C" fn call(self) -> Result<u32, ApiError> {
        // SAFETY: the caller's promise.
        let flaky = unsafe { &*self.0 };
        flaky.call()
    }
}

/// The body of an `unsafe fn` stays one.
#[allow(unsafe_op_in_unsafe_fn)]
#[retry(base = "1ms")]
async unsafe fn loose(flaky: Pointer) -> Result<u32, ApiError> {
    let _first = 1;
    (*flaky.0).call()
}

#[test]
fn unsafe_functions() {
    let flaky = [(); 2].map(|()| Flaky::failing(2));
    // SAFETY: they live to the end.
    unsafe {
        assert_eq!(Pointer(&flaky[0]).call(), Ok(3));
        assert_eq!(run(loose(Pointer(&flaky[1]))), Ok(3));
    }
}
