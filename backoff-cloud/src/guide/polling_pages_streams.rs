//! Operations that are polled, lists of many pages, and streams.
