//! The cost of compiling three hundred annotated functions, three hundred calls of a function form, and each
//! crate with its dependencies. The unit is CPU seconds, because other programs that run at the same time
//! change CPU seconds less than the time of a clock.

mod clean;
mod package;
mod source;

use crate::table::Figure;
use package::Package;
use source::{CALLS, FUNCTIONS, Source};
use std::io;

/// How a package is built, and the name of this way.
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

/// Compiles each source. The dependencies are compiled before and not counted.
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
