//! The macros in a crate that names the library `again` in its `Cargo.toml`.
