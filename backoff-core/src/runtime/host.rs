//! The clock and the randomness of an operating system, and the runtime of async calls there. In a browser, `browser.rs`
//! is in the place of this file.

#[cfg(not(any(feature = "smol", feature = "tokio")))]
pub use super::NoRuntime as AsyncRuntime;
#[cfg(all(feature = "smol", not(feature = "tokio")))]
pub use super::Std as AsyncRuntime;
#[cfg(feature = "tokio")]
pub use super::Tokio as AsyncRuntime;

#[cfg(feature = "std")]
#[inline]
pub(super) fn now() -> core::time::Duration {
    super::origin::since_origin(std::time::Instant::now())
}

/// Each `RandomState` has different keys, which come from the operating system.
#[cfg(feature = "std")]
pub(super) fn seed() -> [u64; 4] {
    let state = std::hash::RandomState::new();
    [0, 1, 2, 3].map(|i| std::hash::BuildHasher::hash_one(&state, i))
}

/// The task runs on the tokio runtime of this thread.
#[cfg(all(feature = "combine", feature = "tokio", not(feature = "smol")))]
pub(crate) fn spawn(task: super::Task) {
    super::with_tokio::needs_runtime();
    drop(tokio::spawn(task));
}

/// The task runs on the tokio runtime of this thread; outside of one, on a thread of its own.
#[cfg(all(feature = "combine", feature = "smol"))]
pub(crate) fn spawn(task: super::Task) {
    #[cfg(feature = "tokio")]
    if super::with_tokio::is_in_tokio() {
        drop(tokio::spawn(task));
        return;
    }
    std::thread::spawn(|| async_io::block_on(task));
}

#[cfg(feature = "http-1")]
pub(crate) fn date() -> std::time::SystemTime {
    std::time::SystemTime::now()
}
