//! Tests that cross crates and talk to real servers. The page below is tested as well.
#![cfg_attr(doctest, doc = include_str!("../../../README.md"))]

/// The README of the macros, whose example needs the library that brings them.
#[cfg_attr(doctest, doc = include_str!("../../../backoff-macros/README.md"))]
mod macros {}
