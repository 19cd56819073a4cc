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
        let leads = format!("#![doc = page_of!({name}::");
        let named = source
            .lines()
            .find_map(|line| line.strip_prefix(&leads)?.strip_suffix(")]"));
        let is_preset = |name| source.contains(&format!("\npub const {name}: Policy ="));
        assert!(
            named.is_some_and(is_preset),
            "the page of `{name}` leads to no preset: write `{leads}REQUEST)]`, with one of its presets"
        );
    }
    assert!(pages.contains("iam") && pages.contains("storage"));
}

/// The pages of the list in `guide.rs`: the title, and the name of the module.
fn listed(guide: &str) -> Vec<(String, String)> {
    let items = guide.lines().filter_map(|line| {
        let (number, item) = line.strip_prefix("//! ")?.split_once(". [")?;
        number.parse::<usize>().ok()?;
        let (title, rest) = item.split_once("](")?;
        let name = rest.split(')').next()?;
        Some((title.to_owned(), name.trim_start_matches("mod@").to_owned()))
    });
    items.collect()
}

#[test]
fn each_page_of_the_guide_leads_to_the_next_one() {
    let pages = listed(&read("src/guide.rs").expect("the guide"));
    assert!(pages.len() > 20, "{pages:?}");
    for (at, (_, name)) in pages.iter().enumerate() {
        let beside = |(title, name): &(String, String)| {
            let kind = if name == "tower" { "mod@" } else { "" };
            format!("[{title}]({kind}super::{name})")
        };
        let before = at.checked_sub(1).map(|it| beside(&pages[it]));
        let after = pages.get(at + 1).map(beside);
        let line = match (before, after) {
            (Some(before), Some(after)) => format!("//! Previous: {before} · next: {after}"),
            (None, Some(after)) => format!("//! Next: {after}"),
            (before, _) => format!("//! Previous: {}", before.unwrap_or_default()),
        };
        let page = read(&format!("src/guide/{name}.rs")).expect(name);
        let last = page.lines().rfind(|it| it.starts_with("//!"));
        assert_eq!(last, Some(&*line), "the last line of `{name}`");
    }
}
