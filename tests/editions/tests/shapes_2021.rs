//! The cases of `cases`, compiled in edition 2021.

#[path = "../cases/mod.rs"]
mod cases;

#[path = "../cases/uses/mod.rs"]
mod uses;
