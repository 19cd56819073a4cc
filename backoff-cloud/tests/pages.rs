//! The pages of the presets have one shape, and `presets::sources` says when their sources were read: documentation
//! changes, and a reader must see how old the numbers can be.

use std::{collections::BTreeSet, fs, path::Path};

/// The headings of each page, in this order.
const SHAPE: [&str; 3] = ["# Presets", "# What is retried", "# Example"];

/// The public modules that need no feature.
fn modules(root: &str) -> Vec<&str> {
    let lines: Vec<_> = root.lines().collect();
    let named = lines.windows(2).filter_map(|pair| {
        let name = pair[1].strip_prefix("pub mod ")?.strip_suffix(';')?;
        (!pair[0].starts_with("#[cfg")).then_some(name)
    });
    named.collect()
}

/// Whether a module has a policy.
fn has_policy(source: &str) -> bool {
    source
        .lines()
        .any(|line| line.starts_with("pub const ") && line.contains(": Policy ="))
}

/// The lines of the module's page.
fn page(source: &str) -> Vec<&str> {
    let lines = source.lines().filter_map(|line| line.strip_prefix("//!"));
    lines
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect()
}

/// The days on which the sources of this module were read: the lines below its heading on the page of the sources.
fn days<'p>(sources: &[&'p str], module: &str) -> Vec<&'p str> {
    let heading = format!("# {module}");
    let below = sources.iter().skip_while(|line| **line != heading).skip(1);
    below
        .take_while(|line| !line.starts_with("# "))
        .filter_map(|line| line.strip_prefix("Sources read on ")?.strip_suffix('.'))
        .collect()
}

fn is_day(text: &str) -> bool {
    let parts: Vec<Option<u32>> = text.split('-').map(|part| part.parse().ok()).collect();
    matches!(parts[..], [Some(2026..), Some(1..=12), Some(1..=31)]) && text.len() == 10
}

fn read(name: &str) -> Option<String> {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).ok()
}

#[test]
fn each_page_has_the_shape_and_the_day_of_its_sources() {
    let root = read("src/lib.rs").expect("the root of the crate");
    let sources = read("src/presets/sources.rs").expect("the page of the sources");
    let sources = page(&sources);
    let mut pages = BTreeSet::new();
    for name in modules(&root) {
        let file = read(&format!("src/{name}.rs")).or_else(|| read(&format!("src/{name}/mod.rs")));
        let source = file.expect(name);
        if !has_policy(&source) {
            continue;
        }
        pages.insert(name);
        let days = days(&sources, name);
        assert!(
            matches!(days[..], [day] if is_day(day)),
            "`presets::sources` needs one line `//! Sources read on YYYY-MM-DD.` below `# {name}`, has {days:?}"
        );
        let page = page(&source);
        let known: Vec<_> = page.iter().filter(|line| SHAPE.contains(line)).collect();
        assert_eq!(known, Vec::from_iter(&SHAPE), "the page of `{name}`");
        let example = page.iter().skip_while(|line| **line != "# Example");
        let fences = example.filter(|line| **line == "```").count();
        assert!(fences >= 2, "the page of `{name}` has no example that runs");
        for link in [
            "(crate::presets)",
            &format!("(crate::presets::sources#{name})"),
        ] {
            let has_link = page.iter().any(|line| line.contains(link));
            assert!(has_link, "the page of `{name}` has no link {link}");
        }
    }
    assert!(pages.contains("iam") && pages.contains("storage"));
}
