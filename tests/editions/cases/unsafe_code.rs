//! What is unsafe in the function is unsafe in its attempts, and nothing else is.

#![deny(unsafe_op_in_unsafe_fn, unused_unsafe, improper_ctypes_definitions)]

use super::*;

#[repr(transparent)]
#[derive(Clone, Copy)]
struct Pointer(*const Flaky);

#[allow(improper_ctypes_definitions)]
#[retry(base = "1ms")]
unsafe extern "C" fn callback(flaky: *const Flaky) -> Result<u32, ApiError> {
    // SAFETY: the caller's promise.
    let flaky = unsafe { &*flaky };
    flaky.call()
}

/// The body of an `unsafe fn` stays one.
#[allow(unsafe_op_in_unsafe_fn)]
#[retry(base = "1ms")]
async unsafe fn loose(flaky: Pointer) -> Result<u32, ApiError> {
    let _first = 1;
    (*flaky.0).call()
}

trait Raw {
    unsafe fn call(&self, flaky: Pointer) -> Result<u32, ApiError>;
}

impl Raw for () {
    #[retry(base = "1ms", max_attempts = 3)]
    unsafe fn call(&self, flaky: Pointer) -> Result<u32, ApiError> {
        // SAFETY: the caller's promise.
        let call = unsafe { (*flaky.0).call()? };
        Ok(call)
    }
}

#[test]
fn unsafe_functions() {
    let callback: unsafe extern "C" fn(*const Flaky) -> Result<u32, ApiError> = callback;
    let flaky = [(); 3].map(|()| Flaky::failing(2));
    // SAFETY: they live to the end.
    unsafe {
        assert_eq!(callback(&flaky[0]), Ok(3));
        assert_eq!(run(loose(Pointer(&flaky[1]))), Ok(3));
        assert_eq!(().call(Pointer(&flaky[2])), Ok(3));
    }
}
