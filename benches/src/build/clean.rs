//! A clean release build of a crate with its dependencies, in a program that does not use the crate.

use super::package::Package;
use crate::table::Figure;
use std::io;

pub(super) const QUESTION: &str = "clean build, CPU s";

/// The dependencies of a program that uses tokio anyway.
const TOKIO: &str = r#"tokio = { version = "1", features = ["rt-multi-thread", "time"] }"#;

/// The name of the line, and the other dependencies of the program.
const CRATES: [(&str, &str); 5] = [
    ("tokio alone", ""),
    (
        "ours, `tokio`",
        r#"backoff-core = { path = "{repository}/backoff-core", default-features = false, features = ["tokio"] }"#,
    ),
    (
        "backon, `tokio-sleep`",
        r#"backon = { version = "1", default-features = false, features = ["tokio-sleep"] }"#,
    ),
    (
        "ours, default",
        r#"backoff-core = { path = "{repository}/backoff-core" }"#,
    ),
    (
        "backon and backon-macros",
        "backon = { version = \"1\", default-features = false, features = [\"tokio-sleep\"] }\n\
         backon-macros = \"1\"",
    ),
];

pub(super) fn measure() -> io::Result<Vec<Figure>> {
    let of = |(who, dependencies)| {
        let package = Package::with(&format!("{TOKIO}\n{dependencies}\n"))?;
        let seconds = package.cargo(&["build", "--release"])?;
        Ok(Figure::new(QUESTION, who, "release", seconds))
    };
    CRATES.into_iter().map(of).collect()
}
