//! beyond
