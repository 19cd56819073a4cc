//! Prints what a retry costs. `--help` lists the sections.

use benches::{callgrind, counting::Counting, questions, sections};
use std::{env, process::ExitCode};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.split_first() {
        Some((first, rest)) if first == callgrind::RUN => {
            match callgrind::run(&questions::all(), rest) {
                Some(()) => ExitCode::SUCCESS,
                None => ExitCode::FAILURE,
            }
        }
        _ => sections::main(&arguments),
    }
}
