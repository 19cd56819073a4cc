//! The pages of the features have a row for each feature of `Cargo.toml` and no other, and the rows are true.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// The features, whether each is on by default, and which other features it turns on.
type Features = BTreeMap<String, (bool, BTreeSet<String>)>;

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The features in the tables of a page. Some share a row.
fn shown(page: &str) -> Features {
    let names = |cell: &str| -> Vec<String> {
        let names = cell.trim().split(", ").filter(|name| !name.is_empty());
        names
            .map(|name| name.trim_matches('`').to_owned())
            .collect()
    };
    let mut found = Features::new();
    for line in page.lines() {
        let Some(row) = line.trim_start_matches("//! ").strip_prefix("| `") else {
            continue;
        };
        let [features, adds, turns_on, ""] = row.split('|').collect::<Vec<_>>()[..] else {
            panic!("a row has three cells: {row}");
        };
        for feature in names(features) {
            let row = (
                adds.contains("On by default."),
                names(turns_on).into_iter().collect(),
            );
            assert_eq!(found.insert(feature.clone(), row), None, "{feature}");
        }
    }
    found
}

/// The features of `Cargo.toml`. A feature that only turns on the core's feature turns on what the core's does.
fn defined(manifest: &Path, core: &Features) -> Features {
    let manifest: toml::Table = toml::from_str(&read(manifest)).unwrap();
    let features = manifest["features"].as_table().unwrap();
    let turned_on = |feature: &str| -> BTreeSet<String> {
        let names = features[feature].as_array().unwrap().iter();
        let names = names.map(|name| name.as_str().unwrap().to_owned());
        let own: BTreeSet<_> = names.filter(|name| features.contains_key(name)).collect();
        let of_core = core.get(feature).filter(|_| own.is_empty());
        of_core.map_or(own, |(_, names)| names.clone())
    };
    let (mut default, mut next) = (BTreeSet::new(), turned_on("default"));
    while let Some(feature) = next.pop_first() {
        next.extend(turned_on(&feature));
        default.insert(feature);
    }
    let features = features.keys().filter(|feature| *feature != "default");
    let rows = features.map(|feature| {
        (
            feature.clone(),
            (default.contains(feature), turned_on(feature)),
        )
    });
    rows.collect()
}

#[test]
fn the_pages_show_the_features_of_the_crates() {
    let core = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut page = shown(&read(&core.join("src/features.md")));
    let features = defined(&core.join("Cargo.toml"), &Features::new());
    assert_eq!(page, features);

    // In a published package the other crate is not there.
    let cloud = core.with_file_name("backoff-cloud");
    if cloud.exists() {
        // Its page has these rows, and rows of its own for the features that add more there.
        page.extend(shown(&read(&cloud.join("src/features.rs"))));
        assert_eq!(page, defined(&cloud.join("Cargo.toml"), &features));
    }
}
