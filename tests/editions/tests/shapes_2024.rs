//! The cases of `cases`, compiled in edition 2024.

#![deny(warnings, unused, rust_2018_idioms)]

#[path = "../cases/mod.rs"]
mod cases;
