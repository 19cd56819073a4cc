//! The cases of `cases`, compiled in edition 2024.

#![deny(warnings, unused, rust_2018_idioms)]
#![allow(
    clippy::double_must_use,
    clippy::erasing_op,
    clippy::manual_async_fn,
    clippy::match_single_binding,
    clippy::needless_ifs,
    clippy::needless_return,
    clippy::never_loop,
    clippy::redundant_allocation,
    clippy::redundant_locals,
    clippy::unit_arg,
    clippy::wrong_self_convention,
    reason = "the functions are odd on purpose"
)]

#[path = "../../cases/mod.rs"]
mod cases;
