//! What it costs to compile: three hundred annotated functions, three hundred calls of a function
//! form, and a clean build of each crate with what it needs. In CPU seconds, which say more than a
//! clock where other programs run too.

mod clean;
mod package;
mod source;

use crate::table::Figure;
use package::Package;
use source::{CALLS, FUNCTIONS, Source};
use std::io;

/// How a package is built, and what that is called.
const WAYS: [(&str, &[&str]); 3] = [
    ("release", &["build", "--release"]),
    ("dev", &["build"]),
    ("check", &["check"]),
];

pub(crate) fn measure() -> io::Result<Vec<Figure>> {
    let mut figures = compiled("300 functions, CPU s", FUNCTIONS)?;
    figures.extend(compiled("300 calls, each boxed, CPU s", CALLS)?);
    figures.extend(clean::measure()?);
    Ok(figures)
}

/// Compiles each source; what it depends on is compiled before and not counted.
fn compiled(question: &'static str, sources: &[Source]) -> io::Result<Vec<Figure>> {
    let package = Package::with(source::DEPENDENCIES)?;
    let mut figures = Vec::new();
    for (way, command) in WAYS {
        package.write("fn main() {}")?;
        package.cargo(command)?;
        for source in sources {
            package.write(&source.text())?;
            let seconds = package.cargo(command)?;
            figures.push(Figure::new(question, source.who, way, seconds));
        }
    }
    Ok(figures)
}
