//! Checks whether a Postgres can be started, so that tests that need a Postgres are reported as ignored if
//! it is missing.

#[path = "tests/postgres/programs.rs"]
mod programs;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_postgres)");
    if cfg!(unix) && programs::folder().is_some() && programs::account().is_ok() {
        println!("cargo::rustc-cfg=has_postgres");
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=tests/postgres/programs.rs");
    println!("cargo::rerun-if-env-changed=PATH");
    // Installing a server changes this folder, so that this script runs again.
    for folder in programs::watched() {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
}
