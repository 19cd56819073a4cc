//! Tests that use several crates and talk to real servers. They also test the page below.
#![cfg_attr(doctest, doc = include_str!("../../../README.md"))]

/// The README of the macros. Its example needs a library that re-exports the macros.
#[cfg_attr(doctest, doc = include_str!("../../../backoff-macros/README.md"))]
mod macros {}
