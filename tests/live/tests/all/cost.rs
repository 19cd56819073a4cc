//! The memory that an annotated function needs.

use crate::server::runtime;
use allocation_counter::measure;
use backoff_core::{Fault, retry};
use std::{
    future::{Future, ready},
    hint::black_box,
};

#[derive(Debug)]
struct Busy;

impl Fault for Busy {
    fn status(&self) -> Option<u16> {
        Some(503)
    }
}

/// Fails `n` times, counting down through memory that is allocated before.
#[retry(max_backoff = "64s", deadline = "3000s", on = [429, 500..=504])]
async fn fails(n: u64) -> Result<u64, Busy> {
    countdown(n)
}

#[retry(base = "1us", max_attempts = 10, on = [503])]
fn fails_blocking(n: u64) -> Result<u64, Busy> {
    countdown(n)
}

thread_local! {
    static LEFT: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

fn countdown(n: u64) -> Result<u64, Busy> {
    match LEFT.get() {
        0 => Ok(black_box(n)),
        left => {
            LEFT.set(left - 1);
            Err(Busy)
        }
    }
}

/// How often `future` allocates, over what the runtime allocates for a future that waits as often.
fn allocations<F: Future>(make: impl Fn() -> F) -> u64 {
    let runtime = runtime(true);
    // The first time, tokio makes what belongs to its threads.
    runtime.block_on(make());
    measure(|| {
        runtime.block_on(make());
    })
    .count_total
}

#[test]
fn the_future_of_a_small_annotated_function_fits_tokios_small_task() {
    let size = size_of_val(&fails(1));
    assert!(size <= 144, "{size} bytes");
}

#[test]
fn neither_a_success_nor_five_failures_allocate() {
    for failures in [0, 5] {
        let fail = || LEFT.set(failures);
        let policy = backoff_core::Policy::exponential().max_attempts(6);
        let annotated = allocations(|| {
            fail();
            fails(1)
        });
        let function = allocations(|| {
            fail();
            let call = policy.retry(|| ready(countdown(1)));
            call.owned().reported()
        });
        let update = allocations(|| {
            fail();
            let (read, write) = (|| ready(Ok(1)), |number| ready(countdown(number)));
            let call = policy.update(read, |number| *number += 1, write);
            call.owned().reported()
        });
        let counts = [annotated, function, update];
        assert_eq!(
            counts, [0; 3],
            "{failures} failures: annotated, function, update"
        );
    }
}

#[test]
fn neither_does_a_blocking_function() {
    for failures in [0, 5] {
        let count = || {
            LEFT.set(failures);
            assert!(fails_blocking(1).is_ok());
        };
        count();
        assert_eq!(measure(count).count_total, 0, "{failures} failures");
    }
}

#[test]
fn the_counter_does_count() {
    assert!(allocations(|| async { black_box(Box::new(1)) }) > 0);
}
