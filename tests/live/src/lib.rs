//! Tests that cross crates and talk to real servers. The page below is tested as well.
#![cfg_attr(doctest, doc = include_str!("../../../README.md"))]
