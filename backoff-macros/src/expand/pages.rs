//! Compares the texts for readers and editors with the table of keys.

use expect_test::expect_file;

use super::tests::{attribute, shown};
use crate::args::table::KEYS;

/// `file` with `written` between the two lines.
fn with(file: &str, from: &str, written: &str, to: &str) -> String {
    let (before, rest) = file.split_once(from).expect("the line before is there");
    let (_, after) = rest.split_once(to).expect("the line after is there");
    format!("{before}{from}{written}{to}{after}")
}

/// The rows of the tables of the page: the key, an example that begins with the key, what the key sets, and what holds
/// without it.
fn rows() -> Vec<[String; 4]> {
    let lines = include_str!("../retry.md").lines();
    let lines = lines.skip_while(|line| *line != "# Keys");
    let lines = lines.take_while(|line| *line != "# Durations");
    let rows = lines.filter_map(|line| line.strip_prefix("| `"));
    let row = |row: &str| {
        let row = row.trim_end_matches('|').replace("\\|", "\u{1}");
        let cells = row.split('|').map(|cell| cell.trim().replace('\u{1}', "|"));
        let cells: Vec<String> = cells.collect();
        let [example, sets, without] =
            <[String; 3]>::try_from(cells).expect("a row has three cells");
        let example = example.trim_end_matches('`');
        let end = example.find(|c: char| c != '_' && !c.is_alphanumeric());
        let key = &example[..end.unwrap_or(example.len())];
        [key.to_owned(), example.to_owned(), sets, without]
    };
    rows.map(row).collect()
}

#[test]
fn the_page_has_a_row_for_each_key() {
    let mut described: Vec<String> = rows().into_iter().map(|[key, ..]| key).collect();
    let mut known: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    described.sort();
    known.sort_unstable();
    assert_eq!(described, known);
    for [_, example, ..] in rows() {
        let mut errors = crate::errors::Errors::default();
        crate::args::parse(example.parse().unwrap(), &mut errors);
        assert_eq!(errors.messages(), [""; 0], "{example}");
    }
}

#[test]
fn the_page_has_the_written_code() {
    let page = include_str!("../retry.md");
    let (before, order) = page.split_once(")]\nasync fn order(").expect("an example");
    let (_, keys) = before.rsplit_once("#[retry(").expect("its keys");
    let (order, _) = order.split_once("\n```").expect("its end");
    let written = shown(&attribute(keys, &format!("async fn order({order}")));
    let page = include_str!("../expansion.md");
    let page = with(page, "```text\n", &written, "```");
    expect_file!["../expansion.md"].assert_eq(&page);
}

/// A field of the struct by which editors complete keys, with the line that editors show.
fn field([key, example, sets, without]: &[String; 4]) -> String {
    let plain = |text: &str| text.replace("[`", "`").replace("`]", "`");
    let sets = plain(&(sets[..1].to_uppercase() + &sets[1..]));
    let without = match without.as_str() {
        "" => String::new(),
        without => format!(" Without it: {}.", plain(without)),
    };
    format!("    /// {sets}.{without} Example: `{example}`.\n    pub {key}: (),\n")
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
    let rows = rows().into_iter().filter(|[key, ..]| key != "crate");
    let fields: String = rows.map(|row| field(&row)).collect();
    let source = with(&source, "pub struct Keys {\n", &fields, "}\n");
    expect_file![path].assert_eq(&source);
}
