//! Read, change, write back.
