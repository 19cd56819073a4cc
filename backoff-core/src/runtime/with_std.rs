//! The clock and the timer of the standard library, and random numbers.

use super::{BlockingSleep, Clock, Duration, Random, Stop, host};
use rand::{Rng as _, SeedableRng, rngs::SmallRng};
use std::{
    cell::{Cell, RefCell},
    sync::{Mutex, PoisonError},
};

/// The clock and the timer of the standard library: the runtime of blocking calls. The feature `smol` adds a timer
/// for async calls, which runs on any executor. In a browser, the feature `wasm` brings the browser's clock, timer
/// and randomness instead. With one of the two, and without `tokio`, this is the runtime of async calls. In a
/// browser with `wasm` this is always so.
///
/// Random numbers come from a small generator of the thread (`rand`'s `SmallRng`). The standard
/// library's `RandomState` seeds the generator from the operating system's randomness, with a
/// different seed for each thread. On `wasm32-unknown-unknown` without the feature `wasm`, the clock panics, and
/// all processes draw the same numbers: pass a runtime of your own there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Std;

impl Clock for Std {
    #[inline]
    fn now(&self) -> Duration {
        host::now()
    }
}

impl BlockingSleep for Std {
    fn sleep_blocking(&self, wait: Duration) {
        std::thread::sleep(wait);
    }

    fn sleep_or_stop(&self, wait: Duration, stop: &Stop) -> bool {
        stop.wait(wait)
    }
}

impl Random for Std {
    #[inline]
    fn random(&self) -> u64 {
        OF_THREAD.with(|generator| match generator.take() {
            Some(mut seeded) => {
                let random = seeded.next_u64();
                generator.set(Some(seeded));
                random
            }
            None => first(generator),
        })
    }
}

thread_local! {
    static OF_THREAD: Cell<Option<SmallRng>> = const { Cell::new(None) };
}

/// Seeds a thread's generator, and draws from it.
#[cold]
#[inline(never)]
fn first(generator: &Cell<Option<SmallRng>>) -> u64 {
    let mut seeded = seeded();
    let random = seeded.next_u64();
    generator.set(Some(seeded));
    random
}

/// A new generator.
fn seeded() -> SmallRng {
    let mut seed = [0; 32];
    for (bytes, number) in seed.chunks_exact_mut(8).zip(host::seed()) {
        bytes.copy_from_slice(&number.to_le_bytes());
    }
    SmallRng::from_seed(seed)
}

/// Any generator of the crate `rand` (0.10), on one thread.
impl<G: rand::Rng> Random for RefCell<G> {
    #[inline]
    fn random(&self) -> u64 {
        self.borrow_mut().next_u64()
    }
}

/// Any generator of the crate `rand` (0.10), shared by threads.
impl<G: rand::Rng> Random for Mutex<G> {
    fn random(&self) -> u64 {
        // A generator is still usable after a panic in another thread.
        let mut generator = self.lock().unwrap_or_else(PoisonError::into_inner);
        generator.next_u64()
    }
}
