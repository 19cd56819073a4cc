//! Many writers of one resource: combined into one read-modify-write, and waits that follow from how
//! busy the resource is.

mod combining;

pub use combining::{CombineError, Combining, Updating, UpdatingReported};
