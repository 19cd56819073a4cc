//! The cost of compiling three hundred annotated functions, three hundred calls of a function form, and each
//! crate with its dependencies. The unit is CPU seconds, because other programs that run at the same time
//! change CPU seconds less than the time of a clock.

mod clean;
mod package;
mod source;

use crate::table::Figure;
use package::Package;
use source::{CALLS, FUNCTIONS, MANY, Source};
use std::io;

/// The name of a way to build a package, and the arguments of cargo.
type Way = (&'static str, &'static [&'static str]);

const CHECK: Way = ("check", &["check"]);

const WAYS: [Way; 3] = [
    ("release", &["build", "--release"]),
    ("dev", &["build"]),
    CHECK,
];

const FUNCTIONS_TABLE: &str = "300 functions, CPU s";
/// The table of what a call compiles.
const A_CALL: &str = "one call of a function form, compiled";
const CALLS_TABLE: &str = "300 calls, each boxed, CPU s";

/// How often everything is built, in turn. Each figure is the smallest one.
const ROUNDS: usize = 3;

/// A line of the ratios: its name, its table, this project and its peer.
const RATIOS: [(&str, &str, &str, &str); 4] = [
    ("300 functions", FUNCTIONS_TABLE, "ours", "backon-macros"),
    ("300 calls", CALLS_TABLE, "ours", "backon"),
    (
        "clean, tokio",
        clean::QUESTION,
        "ours, `tokio`",
        "backon, `tokio-sleep`",
    ),
    (
        "clean, default",
        clean::QUESTION,
        "ours, default",
        "backon and backon-macros",
    ),
];

pub(crate) fn measure() -> io::Result<Vec<Figure>> {
    least_of(|| {
        let mut figures = compiled(FUNCTIONS_TABLE, FUNCTIONS, &WAYS)?;
        figures.extend(compiled(CALLS_TABLE, CALLS, &WAYS)?);
        figures.extend(clean::measure()?);
        Ok(figures)
    })
}

/// What each call of the function form compiles: the lines of LLVM's text, and the CPU seconds of 300 calls.
pub(crate) fn calls() -> io::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let package = Package::with(source::DEPENDENCIES)?;
    for source in CALLS {
        let lines = |many| {
            package.write(&source.text(many))?;
            package.lines_of_llvm()
        };
        let a_call = (lines(MANY)? - lines(0)?) as f64 / f64::from(MANY);
        figures.push(Figure::new(
            A_CALL,
            source.who,
            "lines of LLVM's text",
            a_call,
        ));
    }
    let lines = |who| figures.iter().find(|it| it.who == who).map(|it| it.number);
    let percents = lines("ours")
        .zip(lines("backon"))
        .map(|(ours, backon)| 100.0 * ours / backon);
    figures
        .extend(percents.map(|percents| Figure::new(A_CALL, "ours", "in % of backon's", percents)));
    figures.extend(least_of(|| compiled(CALLS_TABLE, CALLS, &WAYS[..2]))?);
    Ok(figures)
}

/// Only `cargo check` of the annotated functions.
pub(crate) fn check() -> io::Result<Vec<Figure>> {
    least_of(|| compiled(FUNCTIONS_TABLE, FUNCTIONS, &[CHECK]))
}

fn least_of(round: impl Fn() -> io::Result<Vec<Figure>>) -> io::Result<Vec<Figure>> {
    let mut least = round()?;
    for _ in 1..ROUNDS {
        for (least, figure) in least.iter_mut().zip(round()?) {
            least.number = least.number.min(figure.number);
        }
    }
    let number = |question, who, column| {
        let is_it = |it: &&Figure| (it.question, it.who, it.column) == (question, who, column);
        least.iter().find(is_it).map(|figure| figure.number)
    };
    let mut ratios = Vec::new();
    for (name, question, ours, peer) in RATIOS {
        for (column, _) in WAYS {
            let both = number(question, ours, column).zip(number(question, peer, column));
            ratios.extend(both.map(|(ours, peer)| {
                Figure::new(
                    "ratio of this project to its peer",
                    name,
                    column,
                    ours / peer,
                )
            }));
        }
    }
    least.extend(ratios);
    Ok(least)
}

/// Compiles each source. The dependencies are compiled before and not counted.
fn compiled(question: &'static str, sources: &[Source], ways: &[Way]) -> io::Result<Vec<Figure>> {
    let package = Package::with(source::DEPENDENCIES)?;
    let mut figures = Vec::new();
    for &(way, command) in ways {
        package.write("fn main() {}")?;
        package.cargo(command)?;
        for source in sources {
            package.write(&source.text(MANY))?;
            let seconds = package.cargo(command)?;
            figures.push(Figure::new(question, source.who, way, seconds));
        }
    }
    Ok(figures)
}
