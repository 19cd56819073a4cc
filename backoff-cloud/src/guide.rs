//! The guide, one page for each task.

pub mod beyond;
pub mod coming_from;
pub mod databases;
pub mod executors;
pub mod polling_pages_streams;
pub mod telemetry_and_shutdown;
pub mod testing;
pub mod tower;
