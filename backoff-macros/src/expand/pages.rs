//! Compares the texts for readers and editors with the table of keys.

use std::collections::HashSet;

use expect_test::expect_file;

use super::tests::{attribute, shown};
use crate::args::table::{KEYS, Key};

/// `file` with `written` between the two lines.
fn with(file: &str, from: &str, written: &str, to: &str) -> String {
    let (before, rest) = file.split_once(from).expect("the line before is there");
    let (_, after) = rest.split_once(to).expect("the line after is there");
    format!("{before}{from}{written}{to}{after}")
}

fn example(key: &Key) -> &'static str {
    key.page.example.unwrap_or(key.usage)
}

/// The text with a link around each code that begins with a capital letter, which is a type. rustdoc
/// refuses a link that leads nowhere.
fn linked(text: &str) -> String {
    let pieces = text.split('`').enumerate().map(|(i, piece)| match i % 2 {
        0 => piece.to_owned(),
        _ if piece.starts_with(char::is_uppercase) => format!("[`{piece}`]"),
        _ => format!("`{piece}`"),
    });
    pieces.collect()
}

fn row(key: &Key) -> String {
    let code = |text: &str| format!("`{}`", text.replace('|', r"\|"));
    let cells = [
        code(key.name),
        linked(key.page.takes),
        linked(key.page.without),
        code(example(key)),
    ];
    let cells = cells.map(|cell| if cell.is_empty() { cell } else { cell + " " });
    format!("| {}|\n", cells.join("| "))
}

/// One test for both, because each writes the whole page.
#[test]
fn the_page_has_the_keys_and_the_written_code() {
    let mut groups: Vec<&str> = KEYS.iter().map(|key| key.page.group).collect();
    let mut seen = HashSet::new();
    groups.retain(|group| seen.insert(*group));
    let table = |group: &str| {
        let keys = KEYS.iter().filter(|key| key.page.group == group);
        let rows: String = keys.map(row).collect();
        format!(
            "**{group}**\n\n| Key | Takes | Without it | Example |\n|---|---|---|---|\n{rows}\n"
        )
    };
    let tables: String = groups.into_iter().map(table).collect();
    let page = include_str!("../retry.md");
    let from = "All are optional, in any order.\n\n";
    let page = with(page, from, &tables, "# Durations");
    let from = "# What the attribute writes\n\nFor the function `order` above:\n\n```text\n";
    let (before, order) = page.split_once(")]\nasync fn order(").expect("an example");
    let (_, keys) = before.rsplit_once("#[retry(").expect("its keys");
    let (order, _) = order.split_once("\n\n").expect("its end");
    let written = shown(&attribute(keys, &format!("async fn order({order}")));
    let page = with(&page, from, &written, "```");
    expect_file!["../retry.md"].assert_eq(&page);
}

/// A field of the struct by which editors complete keys, with the line that editors show.
fn field(key: &Key) -> String {
    let Key { name, page, .. } = key;
    let takes = page.takes;
    let takes = takes[..1].to_uppercase() + &takes[1..];
    let without = match page.without {
        "" => String::new(),
        without => format!(" Without it: {without}."),
    };
    let example = example(key);
    format!("    /// {takes}.{without} Example: `{example}`.\n    pub {name}: (),\n")
}

/// The struct is in the library. Only the repository has its source beside this one.
#[test]
fn editors_complete_the_keys() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../backoff-core/src/__private/editor_keys.rs"
    );
    let Ok(source) = std::fs::read_to_string(path) else {
        let library = concat!(env!("CARGO_MANIFEST_DIR"), "/../backoff-core/src");
        assert!(!std::path::Path::new(library).exists(), "{path} is missing");
        return;
    };
    // A keyword of the language cannot be a field.
    let fields: String = KEYS
        .iter()
        .filter(|key| key.name != "crate")
        .map(field)
        .collect();
    let source = with(&source, "pub struct Keys {\n", &fields, "}\n");
    expect_file![path].assert_eq(&source);
}
