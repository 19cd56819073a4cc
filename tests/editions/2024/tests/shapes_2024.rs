//! The cases of `cases`, compiled in edition 2024.

#[path = "../../cases/mod.rs"]
mod cases;

#[path = "../../cases/since_2021.rs"]
mod since_2021;
