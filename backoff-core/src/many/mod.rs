//! Many writers of one resource in one process: their changes are combined into one read-modify-write.

mod combining;

pub use combining::{CombineError, Combining, Updating, UpdatingReported};
