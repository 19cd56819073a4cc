//! The features of this crate: what each one adds, and which other features it turns on.
//!
//! ```toml
//! [dependencies]
//! backoff-core = { version = "0.1", features = ["reqwest-013", "tracing"] }
//! ```
//!
//! A feature needs Rust 1.90, unless its row names a newer version.
//!
#![doc = include_str!("features.md")]
//!
//! # Without features
//!
//! The crate is `no_std` then, and calls take a runtime of your own, made of [`Clock`](crate::Clock),
//! [`Sleep`](crate::Sleep) or [`BlockingSleep`](crate::BlockingSleep), and [`Random`](crate::Random).
// Some links lead to items that exist with their feature only. The page is checked with all features; few programs
// have both of these.
#![cfg_attr(
    not(all(feature = "reconnect", feature = "tower")),
    allow(rustdoc::broken_intra_doc_links)
)]
