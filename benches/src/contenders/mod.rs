//! Who is measured: the same policy and the same operation in each crate's own words.
//!
//! Each file has the same names, where the crate has such a thing:
//!
//! - `success`: an operation that succeeds, retried under a policy known at compile time;
//! - `success_by`: under a policy that was made before, at run time;
//! - `flaky`: one that fails a few times, on tokio's timer;
//! - `flaky_ready`: the same on a timer that is ready at once;
//! - `failing`: one that fails always, on tokio's timer, and can be spawned;
//! - `blocking`, `blocking_by`: as the first two, on a thread;
//! - `delays`: the waits alone.

pub mod backoff_04;
pub mod backon;
pub mod bare;
pub mod by_hand;
pub mod gax;
pub mod ours;
pub mod ours_members;
pub mod ours_rules;
pub mod retry;
pub mod tokio_retry;
pub mod tokio_retry2;
pub mod tower;
pub mod tryhard;
