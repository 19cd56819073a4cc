//! Files do not use each other in a circle: if a file uses another file, the other does not use the first,
//! directly or through more files.

mod modules;
mod tokens;

use self::modules::{Imports, Modules};
use std::{
    collections::{BTreeSet, VecDeque},
    fmt::Write,
    path::Path,
};

/// The shortest circle through each import that is part of one.
fn circles(imports: &Imports) -> BTreeSet<Vec<usize>> {
    let circle = |&(from, to): &(usize, usize)| {
        let (mut ways, mut seen) = (VecDeque::from([vec![from, to]]), BTreeSet::from([to]));
        while let Some(way) = ways.pop_front() {
            let end = way[way.len() - 1];
            if end == from {
                return Some(way[1..].to_vec());
            }
            let next = imports.keys().filter(|import| import.0 == end);
            for (_, next) in next.filter(|(_, next)| seen.insert(*next)) {
                ways.push_back([&way[..], &[*next]].concat());
            }
        }
        None
    };
    let begin_alike = |mut circle: Vec<usize>| {
        let first = circle.iter().min().copied();
        while circle.first().copied() != first {
            circle.rotate_left(1);
        }
        circle
    };
    let circles = imports.keys().filter_map(circle);
    circles.map(begin_alike).collect()
}

/// Each circle with its imports, or nothing.
fn told(modules: &Modules) -> String {
    let imports = modules.imports();
    let name = |file: usize| modules.files[file].0.display();
    let mut told = String::new();
    for circle in circles(&imports) {
        let whole = circle.iter().chain(&circle[..1]);
        let names: Vec<_> = whole.clone().map(|file| name(*file).to_string()).collect();
        let _ = writeln!(told, "{}", names.join(" -> "));
        for (from, to) in circle.iter().zip(whole.skip(1)) {
            let line = imports[&(*from, *to)];
            let _ = writeln!(told, "    {}:{line} uses {}", name(*from), name(*to));
        }
    }
    told
}

#[test]
fn no_rooms_stand_in_a_circle() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let house = own.parent().expect("this crate lies in a folder");
    let mut told = String::new();
    // In a published package the other two are not there.
    let others = ["backoff-macros", "backoff-cloud"].map(|name| house.join(name));
    for folder in [own, &others[0], &others[1]] {
        let read = |file: &Path| std::fs::read_to_string(house.join(file)).ok();
        let name = folder.strip_prefix(house).unwrap_or(folder);
        let modules = Modules::load(&name.join("src/lib.rs"), &read);
        assert_eq!(
            modules.files.len() > 20,
            folder.exists(),
            "{name:?} is read"
        );
        told += &self::told(&modules);
    }
    assert!(told.is_empty(), "rooms stand in circles:\n{told}");
}

/// The circles of a crate of these files.
fn of(files: &[(&str, &str)]) -> String {
    let read = |path: &Path| {
        let file = files.iter().find(|file| Path::new(file.0) == path)?;
        Some(file.1.to_owned())
    };
    told(&Modules::load(Path::new("lib.rs"), &read))
}

#[test]
fn a_circle_is_named_with_the_line_of_each_import() {
    let told = of(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "\nuse crate::{x, b::{self, c::{D, E}}};"),
        ("b.rs", "pub mod c;"),
        ("b/c.rs", "pub struct D;\n\npub struct E(crate::a::F);"),
    ]);
    let expected = "a.rs -> b/c.rs -> a.rs\n    a.rs:2 uses b/c.rs\n    b/c.rs:3 uses a.rs\n";
    assert_eq!(told, expected);
}

#[test]
fn a_circle_through_the_root_does_not_hide() {
    let files = |root| {
        [
            ("lib.rs", root),
            ("a.rs", "use crate::B; pub struct A;"),
            ("b.rs", "pub struct B(super::A);"),
        ]
    };
    let circle = "a.rs -> b.rs -> a.rs\n    a.rs:1 uses b.rs\n    b.rs:1 uses a.rs\n";
    assert_eq!(
        of(&files("mod a; mod b; pub use a::A; pub use b::{B};")),
        circle
    );
    assert_eq!(
        of(&files("mod a; mod b; pub use a::*; pub use b::*;")),
        circle
    );
    // A name that comes from another crate leads to nobody.
    assert_eq!(
        of(&files("mod a; mod b; pub use other::*; pub use b::B;")),
        ""
    );
}

#[test]
fn what_is_written_elsewhere_than_in_code_is_no_import() {
    let told = of(&[
        ("lib.rs", "mod a; mod b; #[cfg(test)] mod c;"),
        ("a.rs", "use crate::b::B; pub struct A;"),
        (
            "b.rs",
            "/// [`crate::a::A`]\npub struct B; // use crate::a::A;\n\
            fn f() { \"crate::a::A\"; r#\"crate::a::A\"# }\n\
            #[cfg(test)]\nmod tests { use crate::a::A; }\n\
            #[cfg(all(test, feature = \"x\"))]\nuse crate::a::A;",
        ),
        ("c.rs", "use crate::a::A;"),
    ]);
    assert_eq!(told, "");
}

#[test]
fn a_parent_may_re_export_its_children_and_not_use_them_while_they_use_it() {
    let of = |parent| {
        of(&[
            ("lib.rs", "mod p;"),
            ("p/mod.rs", parent),
            (
                "p/child.rs",
                "use super::Item; pub(crate) struct Child(Item);",
            ),
        ])
    };
    let circle = "p/mod.rs -> p/child.rs -> p/mod.rs\n    p/mod.rs:2 uses p/child.rs\n    \
                  p/child.rs:1 uses p/mod.rs\n";
    assert_eq!(
        of("mod child; pub struct Item;\npub(crate) use child::Child;"),
        ""
    );
    assert_eq!(of("mod child; pub struct Item;\nuse child::Child;"), circle);
    assert_eq!(
        of("mod child; pub struct Item; pub use child::Child;\nfn f(_: Child) {}"),
        circle
    );
    assert_eq!(
        of("mod child; pub struct Item;\nfn f(_: child::Child) {}"),
        circle
    );
    // Or to use them while they use one another through it.
    let told = self::of(&[
        ("lib.rs", "mod p;"),
        (
            "p.rs",
            "mod a; mod b; pub use a::A; pub use b::B;\nfn f(_: A) {}",
        ),
        ("p/a.rs", "pub struct A(super::B);"),
        ("p/b.rs", "pub struct B;"),
    ]);
    assert_eq!(told, "");
}

#[test]
fn modules_are_found_where_rust_finds_them() {
    let told = of(&[
        (
            "lib.rs",
            "#[path = \"state.rs\"]\nmod retry; mod b { pub mod c; }",
        ),
        (
            "state.rs",
            "mod d { use super::super::b::c::C as D; fn f() {} }",
        ),
        (
            "b/c.rs",
            "use crate::retry::d; pub struct C; fn g() { d::f() }",
        ),
    ]);
    let expected = "state.rs -> b/c.rs -> state.rs\n    state.rs:1 uses b/c.rs\n    \
                    b/c.rs:1 uses state.rs\n";
    assert_eq!(told, expected);
}

#[test]
fn an_item_that_bears_its_modules_name_and_a_macro_are_found_too() {
    let told = of(&[
        ("lib.rs", "mod a; mod b; mod c; pub(crate) use a::a;"),
        ("a.rs", "pub fn a() { crate::b::b() }"),
        (
            "b.rs",
            "use super::a; pub fn b() { a(); m!() } #[macro_export] macro_rules! n { () => {} }",
        ),
        ("c.rs", "macro_rules! m { () => { $crate::n!() } }"),
    ]);
    let expected = "a.rs -> b.rs -> a.rs\n    a.rs:1 uses b.rs\n    b.rs:1 uses a.rs\n\
                    b.rs -> c.rs -> b.rs\n    b.rs:1 uses c.rs\n    c.rs:1 uses b.rs\n";
    assert_eq!(told, expected);
}
