//! The measured crates: each file writes the same policy and the same operation with one crate.
//!
//! Each file has functions with these names, if the crate can do this:
//!
//! - `success`: an operation that succeeds, retried under a policy known at compile time;
//! - `success_by`: the same under a policy that was made before, at run time;
//! - `flaky`: an operation that fails a few times, with tokio's timer;
//! - `flaky_ready`: the same with a timer that is ready at once;
//! - `failing`: an operation that always fails, with tokio's timer; its future can be spawned;
//! - `blocking`, `blocking_by`: like the first two, in a blocking call;
//! - `delays`: only the waits.

pub mod backoff_04;
pub mod backon;
pub mod bare;
pub mod by_hand;
pub mod gax;
pub mod ours;
pub mod ours_members;
pub mod ours_rules;
pub mod retry;
pub mod sent;
pub mod tokio_retry;
pub mod tokio_retry2;
pub mod tower;
pub mod tower_layer;
pub mod tryhard;
