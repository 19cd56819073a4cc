//! Which errors are retried.
