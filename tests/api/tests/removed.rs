//! The guide's page `changed` has a row for each removed name.

use std::{collections::BTreeSet, fs, path::Path};

#[test]
fn each_removed_name_has_a_row_and_is_not_there_again() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let read = |file: &str| fs::read_to_string(root.join(file)).unwrap();
    let page = read("backoff-cloud/src/guide/changed.rs");
    let (page, _) = page
        .split_once("# Names that are used in another way")
        .unwrap();
    let first_cells = page
        .lines()
        .filter_map(|line| line.strip_prefix("//! | ")?.split(" | ").next());
    let rows: BTreeSet<_> = first_cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    let names = api::names(root).unwrap();

    for name in read("tests/api/removed.txt").lines() {
        assert!(
            !names.contains(name),
            "`{name}` exists: run .ci/api --write"
        );
        // A row may leave out the module or the type.
        let mut ends = name.match_indices("::").map(|(at, _)| &name[at + 2..]);
        let has_row = rows.contains(name) || ends.any(|end| rows.contains(end));
        assert!(has_row, "`{name}` has no row");
    }
}
