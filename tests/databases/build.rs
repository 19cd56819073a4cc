//! Says whether a Postgres can be started, so that a test that lacks one is reported as ignored.

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
    // A server that is installed later changes its folder.
    for folder in programs::watched() {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
}
