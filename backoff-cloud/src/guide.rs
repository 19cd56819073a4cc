//! The guide, one page for each task.

// Some links lead to items that exist with their feature only.
#![cfg_attr(
    not(all(feature = "reconnect", feature = "tower")),
    allow(rustdoc::broken_intra_doc_links)
)]

/// Many writers.
pub mod many_writers {}
/// Traps.
pub mod traps {}

pub mod beyond;
pub mod coming_from;
pub mod databases;
pub mod executors;
pub mod polling_pages_streams;
pub mod telemetry_and_shutdown;
pub mod testing;
pub mod tower;
