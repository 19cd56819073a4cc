//! The first retry.
