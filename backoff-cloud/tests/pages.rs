//! The pages of the presets say when their sources were read: documentation changes, and a reader
//! must see how old the numbers can be.

use std::{fs, path::Path};

/// The modules of presets: all that need no feature.
fn presets(root: &str) -> Vec<&str> {
    let lines: Vec<_> = root.lines().collect();
    let named = lines.windows(2).filter_map(|pair| {
        let name = pair[1].strip_prefix("pub mod ")?.strip_suffix(';')?;
        (!pair[0].starts_with("#[cfg")).then_some(name)
    });
    named.collect()
}

/// The days on which the sources of this page were read.
fn days(source: &str) -> Vec<&str> {
    let page = source.lines().filter_map(|line| line.strip_prefix("//! "));
    page.filter_map(|line| line.strip_prefix("Sources read on ")?.strip_suffix('.'))
        .collect()
}

fn is_day(text: &str) -> bool {
    let parts: Vec<Option<u32>> = text.split('-').map(|part| part.parse().ok()).collect();
    matches!(parts[..], [Some(2026..), Some(1..=12), Some(1..=31)]) && text.len() == 10
}

#[test]
fn each_preset_says_when_its_sources_were_read() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let read = |name: &str| fs::read_to_string(src.join(name)).ok();
    let root = read("lib.rs").expect("the root of the crate");
    let presets = presets(&root);
    assert!(presets.contains(&"iam") && presets.contains(&"storage"));
    for name in presets {
        let file = read(&format!("{name}.rs")).or_else(|| read(&format!("{name}/mod.rs")));
        let source = file.expect(name);
        let days = days(&source);
        assert!(
            matches!(days[..], [day] if is_day(day)),
            "the page of `{name}` needs one line `//! Sources read on YYYY-MM-DD.`, has {days:?}"
        );
    }
}

#[test]
fn what_is_no_such_line_is_not_taken_for_one() {
    assert_eq!(
        days("//! Sources read on 2026-11-21.\n//! More."),
        ["2026-11-21"]
    );
    assert_eq!(days("// Sources read on 2026-11-21."), [""; 0]);
    for odd in [
        "2026-13-01",
        "2026-1-1",
        "yesterday",
        "2026-11-32",
        "1999-01-01",
    ] {
        assert!(!is_day(odd), "{odd}");
    }
    let root = "pub mod a;\n#[cfg(feature = \"b\")]\npub mod b;\nmod c;\npub mod d;";
    assert_eq!(presets(&format!("\n{root}")), ["a", "d"]);
}
