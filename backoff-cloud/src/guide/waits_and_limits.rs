//! Waits and limits.
