//! The public names of the crates, and those that were removed since an earlier commit: `.ci/api` writes them to
//! `removed.txt`, and each has a row on the guide's page `changed`.

use std::{collections::BTreeSet, fs, io, path::Path};

/// What has another name now, with the same items.
const RENAMED: [(&str, &str); 4] = [
    ("drive::Blocking::", "call::Retrying::"),
    ("drive::Resuming::", "call::Retrying::"),
    ("drive::", "call::"),
    ("many::", "combine::"),
];

/// The names in a folder with this repository: `iam::add`, `Policy::retry`, `feature::http`, `key::on`. Leaves out the
/// items of traits' implementations, which the traits have too.
///
/// # Errors
/// Returns an error if a file cannot be read.
pub fn names(folder: &Path) -> io::Result<BTreeSet<String>> {
    let read = |file: &str| fs::read_to_string(folder.join(file));
    let mut names = BTreeSet::new();
    for name in ["backoff-core", "backoff-cloud"] {
        let mut implementor = None;
        for line in read(&format!("public-api/{name}.txt"))?.lines() {
            let line = without_generics(line);
            let (header, _) = line.split_once(" where ").unwrap_or((&line, ""));
            if header.starts_with("impl") {
                let of = header.split_once(" for ").map(|(_, of)| of);
                implementor = of.and_then(|of| of.rsplit("::").next().map(str::to_owned));
            } else if let Some(name) = item(&line)
                && (implementor.is_none() || implementor.as_deref() != name.rsplit("::").nth(1))
            {
                names.insert(name.to_owned());
            }
        }
        let manifest = read(&format!("{name}/Cargo.toml"))?;
        let features = manifest.lines().skip_while(|line| *line != "[features]");
        let features = features.take_while(|line| !line.starts_with("[dep"));
        let features = features.filter_map(|line| line.split_once(" = ["));
        names.extend(features.map(|(name, _)| format!("feature::{name}")));
    }
    let page = read("backoff-macros/src/retry.md")?;
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let keys = rows.filter_map(|row| row.split_once("` | "));
    names.extend(keys.map(|(key, _)| format!("key::{key}")));
    Ok(names)
}

/// The names of `old` that `new` lacks. The items of a removed type are left out.
#[must_use]
pub fn removed<'n>(old: &'n BTreeSet<String>, new: &BTreeSet<String>) -> Vec<&'n String> {
    let gone = |name: &str| {
        let mut renamed = RENAMED.iter();
        let today = renamed.find_map(|(old, new)| Some(new.to_string() + name.strip_prefix(old)?));
        !new.contains(today.as_deref().unwrap_or(name))
    };
    let of_gone_type = |name: &str| {
        let (owner, _) = name.rsplit_once("::").unwrap_or_default();
        let name = owner.rsplit("::").next().unwrap_or_default();
        name.starts_with(char::is_uppercase) && gone(owner)
    };
    let names = old.iter();
    names
        .filter(|name| gone(name) && !of_gone_type(name))
        .collect()
}

fn without_generics(line: &str) -> String {
    let mut depth = 0;
    let outside = |c: &char| {
        depth += i32::from(*c == '<') - i32::from(*c == '>');
        depth == 0 && *c != '>'
    };
    line.replace("->", "").chars().filter(outside).collect()
}

/// The path of an item of these crates, without the crate.
fn item(line: &str) -> Option<&str> {
    let path = line
        .split(' ')
        .find_map(|word| word.strip_prefix("backoff_"));
    let (_, path) = path?.split_once("::")?;
    let path = path
        .split(|c: char| !c.is_alphanumeric() && !"_:".contains(c))
        .next()?;
    Some(path.trim_end_matches(':'))
}
