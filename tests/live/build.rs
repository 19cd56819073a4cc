//! Checks which servers are installed, so that tests whose server is missing are reported as ignored.

use std::{env, path::PathBuf};

fn main() {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).filter(|it| it.is_dir()).collect();
    for (name, program) in [("has_etcd", "etcd"), ("has_redis", "redis-server")] {
        println!("cargo::rustc-check-cfg=cfg({name})");
        if folders.iter().any(|folder| folder.join(program).is_file()) {
            println!("cargo::rustc-cfg={name}");
        }
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=PATH");
    // Installing a server changes this folder, so that this script runs again.
    for folder in folders {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
}
