//! The cases of `cases`, compiled in edition 2018.

#[path = "../../cases/mod.rs"]
mod cases;
