use crate::{callgrind, questions, table::Table};
use std::process::ExitCode;
pub fn main(args: &[String]) -> ExitCode {
    let cases: Vec<_> = questions::all().into_iter().filter(|c| args.is_empty() || args.iter().any(|a| c.question == a)).collect();
    let f = callgrind::measure(&cases).unwrap();
    let mut t: Vec<(&str, Table)> = vec![];
    for (c, f) in cases.iter().zip(f) {
        if t.last().is_none_or(|t| t.0 != c.question) { t.push((c.question, Table::new(c.question))); }
        t.last_mut().unwrap().1.put(c.who, c.column, format!("{f:.1}"));
    }
    for t in t { println!("{}", t.1.to_markdown()); }
    ExitCode::SUCCESS
}
