//! The delays, pure: integer nanoseconds in, integer nanoseconds out. One file an algorithm.

pub(crate) mod exponential;
pub(crate) mod jitter;
