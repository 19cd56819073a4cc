//! Checks which servers are installed, so that tests whose server is missing are reported as ignored.

#[path = "tests/postgres/programs.rs"]
mod programs;

fn main() {
    let folders = programs::watched();
    let is_there = |program| folders.iter().any(|folder| folder.join(program).is_file());
    let has_postgres = cfg!(unix) && programs::folder().is_some() && programs::account().is_ok();
    for (name, is_there) in [
        (
            "has_mariadb",
            is_there("mariadbd") && is_there("mariadb-install-db"),
        ),
        ("has_postgres", has_postgres),
        ("has_redis", is_there("redis-server")),
    ] {
        println!("cargo::rustc-check-cfg=cfg({name})");
        if is_there {
            println!("cargo::rustc-cfg={name}");
        }
    }
    println!("cargo::rerun-if-env-changed=PATH");
    // Installing a server changes one of these folders, so that this script runs again.
    for folder in folders {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
}
