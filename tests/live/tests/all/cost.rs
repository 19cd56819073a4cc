//! The memory that an annotated function needs. `benches/check` has the other forms.

use crate::server::runtime;
use allocation_counter::measure;
use backoff_core::{Fault, retry};
use std::{cell::Cell, hint::black_box};

#[derive(Debug, Fault)]
#[fault(status = 503)]
struct Busy;

#[retry(max_backoff = "64s", deadline = "3000s", on = [429, 500..=504])]
async fn fails(n: u64) -> Result<u64, Busy> {
    countdown(n)
}

#[retry(base = "1us", max_attempts = 10, on = [503])]
fn fails_blocking(n: u64) -> Result<u64, Busy> {
    countdown(n)
}

thread_local! {
    static LEFT: Cell<u64> = const { Cell::new(0) };
}

/// Fails as often as is left, counting down through memory that is allocated before.
fn countdown(n: u64) -> Result<u64, Busy> {
    match LEFT.get() {
        0 => Ok(black_box(n)),
        left => {
            LEFT.set(left - 1);
            Err(Busy)
        }
    }
}

/// How often a call that fails so often allocates.
fn allocations(failures: u64, call: impl Fn()) -> u64 {
    let failing = || {
        LEFT.set(failures);
        call();
    };
    // The first time, tokio makes what belongs to its threads.
    failing();
    measure(failing).count_total
}

#[test]
fn the_future_of_a_small_annotated_function_fits_tokios_small_task() {
    let size = size_of_val(&fails(1));
    assert!(size <= 144, "{size} bytes");
}

#[test]
fn neither_a_success_nor_five_failures_allocate() {
    let runtime = runtime(true);
    for failures in [0, 5] {
        let annotated = || drop(runtime.block_on(fails(1)));
        let blocking = || drop(fails_blocking(1));
        let allocated = [
            allocations(failures, annotated),
            allocations(failures, blocking),
        ];
        assert_eq!(allocated, [0, 0], "{failures} failures");
    }
    assert!(
        allocations(0, || drop(black_box(Box::new(1)))) > 0,
        "it counts"
    );
}
