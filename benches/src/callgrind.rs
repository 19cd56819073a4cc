//! Counts instructions: this program runs itself under callgrind, once with few repetitions and once with
//! more, and divides the difference. The code before and after the repetitions is the same in both runs.

use crate::{questions::Case, table::Figure};
use std::{
    env, io,
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

/// With this argument, the program runs only one case.
pub const RUN: &str = "__run";

const FEW: u64 = 500;
const MORE: u64 = 2_000;

/// The instructions of each case, in the order of the cases.
pub(crate) fn measure(cases: &[Case]) -> io::Result<Vec<Figure>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::from_iter(cases.iter().map(|_| None)));
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Relaxed);
                    let Some(case) = cases.get(index) else { break };
                    let result = of_case(case);
                    results.lock().expect("no worker panics")[index] = Some(result);
                }
            });
        }
    });
    let results = results.into_inner().expect("no worker panics");
    let figure = |(case, result): (&Case, Option<io::Result<f64>>)| {
        let number = result.expect("every case was taken")?;
        Ok(Figure::new(case.question, case.who, case.column, number))
    };
    cases.iter().zip(results).map(figure).collect()
}

fn of_case(case: &Case) -> io::Result<f64> {
    let whole = per_call(case, Part::Whole)?;
    let less = match case.less {
        Some(_) => per_call(case, Part::Less)?,
        None => 0.0,
    };
    Ok((whole - less) / f64::from(case.per))
}

#[derive(Clone, Copy)]
enum Part {
    Whole,
    Less,
}

fn per_call(case: &Case, part: Part) -> io::Result<f64> {
    let few = collected(case, part, FEW)?;
    let many = collected(case, part, FEW + MORE)?;
    Ok((many - few) as f64 / MORE as f64)
}

fn collected(case: &Case, part: Part, n: u64) -> io::Result<u64> {
    let part = match part {
        Part::Whole => "whole",
        Part::Less => "less",
    };
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env::current_exe()?)
        .args([RUN, case.question, case.who, case.column, part])
        .arg(n.to_string())
        .output()
        .map_err(|error| io::Error::new(error.kind(), format!("valgrind: {error}")))?;
    let said = String::from_utf8_lossy(&output.stderr);
    said.lines()
        .find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok())
        .filter(|_| output.status.success())
        .ok_or_else(|| io::Error::other(format!("no count from valgrind, which said:\n{said}")))
}

/// Runs the case that follows [`RUN`].
pub fn run(cases: &[Case], arguments: &[String]) -> Option<()> {
    let [question, who, column, part, n] = arguments else {
        return None;
    };
    let case = cases
        .iter()
        .find(|case| (case.question, case.who, case.column) == (question, who, column))?;
    let run = match part.as_str() {
        "less" => case.less?,
        _ => case.run,
    };
    run(n.parse().ok()?);
    Some(())
}
