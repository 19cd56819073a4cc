//! Compiles when the visible text of each snippet compiles. `build.rs` writes the modules, and names each
//! one after its page and line.
#![allow(clippy::all, warnings)]

// The names that a reader writes in Cargo.toml.
extern crate http_1 as http;
extern crate hyper_1 as hyper;
extern crate reqwest_middleware_05 as reqwest_middleware;
extern crate tonic_014 as tonic;
extern crate ureq_3 as ureq;

include!(concat!(env!("OUT_DIR"), "/snippets.rs"));
