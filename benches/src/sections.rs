//! The sections of the output, which the user selects by name.

use crate::{
    allocations, build, bytes, callgrind, heap,
    limits::{self, limits},
    questions::{self, Case},
    table::tables,
};
use std::{fs, io, process::ExitCode};

const HELP: &str = "\
What a retry costs, measured beside the peers.

    cargo run --release [-- SECTION..]    prints tables; without a name, all except `build`
    cargo run --release -- check          fails if a limit of src/limits.rs is passed; `./check` also compares features
    cargo bench                           times, by criterion

Sections:
    instructions [QUESTION..]   counted by callgrind, which must be installed; all questions, or these:
                                success, retry, next-delay, decision, headers, blocking,
                                other-loops, rules
    bytes                       the sizes of futures
    allocations                 how often a call asks for memory
    heap [--million]            memory of each of 100,000 waiting tasks; with --million, also of a million
    calls                       what a call of the function form compiles, with its limit; takes three minutes
    build                       CPU seconds of builds; takes some minutes
    build-check                 of `build` only `cargo check` of 300 annotated functions
    all                         everything, also the million tasks
";

pub fn main(arguments: &[String]) -> ExitCode {
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--help" | "-h" | "help"] => {
            print!("{HELP}");
            Ok(true)
        }
        ["calls"] => calls(),
        ["check"] => check(None),
        ["check", without] => check(Some(without)),
        ["all"] => print(&[
            "instructions",
            "bytes",
            "allocations",
            "heap",
            "--million",
            "build",
        ]),
        [] => print(&["instructions", "bytes", "allocations", "heap"]),
        ref named => print(named),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the named sections. Returns `false` if there is no section with one of the names.
fn print(named: &[&str]) -> io::Result<bool> {
    let all = questions::all();
    let is_question = |name: &str| all.iter().any(|case| asked(case, name));
    let known = [
        "instructions",
        "bytes",
        "allocations",
        "heap",
        "--million",
        "build",
        "build-check",
    ];
    if let Some(name) = named
        .iter()
        .find(|name| !known.contains(name) && !is_question(name))
    {
        eprintln!("no section `{name}`\n\n{HELP}");
        return Ok(false);
    }
    let has = |name| named.contains(&name);
    let some = named.iter().any(|name| is_question(name));
    if has("instructions") || some {
        let wanted = |case: &&Case| !some || named.iter().any(|name| asked(case, name));
        let cases: Vec<Case> = all.iter().filter(wanted).copied().collect();
        println!(
            "## Instructions\n\n{}",
            tables(&callgrind::measure(&cases)?, 0)
        );
    }
    if has("bytes") {
        println!("## Bytes\n\n{}", tables(&bytes::measure(), 0));
    }
    if has("allocations") {
        println!("## Allocations\n\n{}", tables(&allocations::measure(), 0));
    }
    if has("heap") {
        println!("## Heap\n\n{}", tables(&heap::measure(has("--million")), 1));
    }
    if has("build") {
        println!("## Build\n\n{}", tables(&build::measure()?, 2));
    }
    if has("build-check") {
        println!("## Build\n\n{}", tables(&build::check()?, 2));
    }
    Ok(true)
}

/// Whether the case belongs to the question with this name.
fn asked(case: &Case, name: &str) -> bool {
    case.question.replace(' ', "-") == name || case.question == name
}

/// Measures only the figures that have a limit. The file at `without` has the output of a build without features.
fn check(without: Option<&str>) -> io::Result<bool> {
    let without = without.map(fs::read_to_string).transpose()?;
    let limited =
        |case: &Case| limits().any(|limit| limit.is_for(case.question, case.who, case.column));
    let cases: Vec<Case> = questions::all().into_iter().filter(limited).collect();
    let mut figures = callgrind::measure(&cases)?;
    figures.extend(bytes::measure());
    figures.extend(allocations::measure());
    figures.extend(heap::measure(false));
    Ok(limits::check(limits(), &figures, without.as_deref()))
}

/// Fails if a call compiles more than its limit.
fn calls() -> io::Result<bool> {
    let figures = build::calls()?;
    println!("## Build\n\n{}", tables(&figures, 2));
    Ok(limits::check(limits::COMPILED, &figures, None))
}
