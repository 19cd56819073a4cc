//! Coming from another retry crate.
