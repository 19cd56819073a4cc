//! Files do not use each other in a circle: if a file uses another file, the other does not use the first,
//! directly or through more files. The same holds for the folders of a crate.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The files of a crate by their modules' paths: `["call", "tower"]`.
type Rooms = BTreeMap<Vec<String>, String>;

fn rooms(folder: &Path, module: &[String], found: &mut Rooms) {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .flatten()
        .map(|it| it.path())
        .collect();
    paths.sort();
    for path in paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let own = match name.as_str() {
            "tests" => continue,
            "lib" | "mod" => module.to_vec(),
            _ => [module, &[name]].concat(),
        };
        if path.is_dir() {
            rooms(&path, &own, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            // The tests of a file stand at its end, or in a file of their own.
            let text = text.split("\nmod tests {").next().unwrap_or_default();
            found.insert(own, text.to_owned());
        }
    }
}

/// The paths of a `use`: `a::{b, c::d}` names `a::b` and `a::c::d`.
fn paths(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((prefix, inner)) = tree.split_once('{') else {
        return vec![tree.to_owned()];
    };
    let inner = inner.strip_suffix('}').unwrap_or(inner);
    let (mut depth, mut begin, mut found) = (0, 0, Vec::new());
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.extend(paths(&inner[begin..at]));
                begin = at + 1;
            }
            _ => {}
        }
    }
    found.retain(|path| !path.is_empty());
    found.iter().map(|path| format!("{prefix}{path}")).collect()
}

/// The paths in the code beside the `use` lines: `super::host::now()`.
fn in_bodies(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim_start);
    let lines = lines.filter(|line| !line.starts_with("//") && !line.contains("use "));
    let is_path = |word: &&str| word.starts_with("crate::") || word.starts_with("super::");
    lines
        // A macro names these where it is written out.
        .flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && !"_:$".contains(c)))
        .filter(is_path)
        .map(str::to_owned)
        .collect()
}

/// The modules that a file uses. A path may begin with a module of the file. Beside them, the
/// modules of the file that it only shows to others: `pub use limits::Limits`.
fn used(own: &[String], text: &str, rooms: &Rooms) -> [BTreeSet<Vec<String>>; 2] {
    let statements = text.split(';').filter_map(|statement| {
        let line = statement.trim_start().rsplit("\n\n").next()?;
        let lines = line.lines().filter(|line| !line.starts_with(['#', '/']));
        let line = lines.collect::<String>();
        let (before, tree) = line.split_once("use ")?;
        let is_use = before.is_empty() || before.starts_with("pub");
        is_use.then(|| (!before.is_empty(), tree.to_owned()))
    });
    let mut used = [BTreeSet::new(), BTreeSet::new()];
    let bodies = in_bodies(text).into_iter().map(|path| (false, path));
    for (is_public, tree) in statements.chain(bodies) {
        for path in paths(&tree) {
            let parts: Vec<_> = path
                .split("::")
                .map(|part| part.trim().to_owned())
                .collect();
            let up = parts.iter().take_while(|part| *part == "super").count();
            let child = [own, &parts[..1]].concat();
            let is_child = rooms.contains_key(&child);
            let mut module = match parts[0].as_str() {
                "crate" => parts[1..].to_vec(),
                "self" => [own, &parts[1..]].concat(),
                "super" => [&own[..own.len() - up], &parts[up..]].concat(),
                _ if is_child => child,
                _ => continue,
            };
            while !rooms.contains_key(&module) {
                module.pop();
            }
            // The crate's root only lists its modules.
            if !module.is_empty() && module != own {
                used[usize::from(is_public && is_child)].insert(module);
            }
        }
    }
    used
}

/// The same for the folders of the crate, and for the files beside them.
fn folders(
    uses: &BTreeMap<Vec<String>, BTreeSet<Vec<String>>>,
) -> BTreeMap<Vec<String>, BTreeSet<Vec<String>>> {
    let mut found = BTreeMap::<_, BTreeSet<_>>::new();
    for (own, used) in uses {
        let own = own[..1].to_vec();
        let others = used.iter().map(|it| it[..1].to_vec());
        let others: BTreeSet<_> = others.filter(|it| *it != own).collect();
        found.entry(own).or_default().extend(others);
    }
    found
}

/// A way from this file back to it.
fn circle(
    from: &[String],
    uses: &BTreeMap<Vec<String>, BTreeSet<Vec<String>>>,
) -> Option<Vec<String>> {
    let mut seen = BTreeSet::new();
    let mut ways = vec![vec![from.to_vec()]];
    while let Some(way) = ways.pop() {
        for next in &uses[&way[way.len() - 1]] {
            if next == from {
                return Some(way.iter().map(|room| room.join("::")).collect());
            }
            if seen.insert(next.clone()) {
                ways.insert(0, [&way[..], std::slice::from_ref(next)].concat());
            }
        }
    }
    None
}

#[test]
fn no_rooms_stand_in_a_circle() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    // In a published package the other two are not there.
    for name in ["backoff-core", "backoff-macros", "backoff-cloud"] {
        let folder = own.parent().unwrap().join(name).join("src");
        if !folder.exists() {
            continue;
        }
        let mut found = Rooms::new();
        rooms(&folder, &[], &mut found);
        assert!(found.len() > 20, "{name} is read");
        let uses: BTreeMap<_, _> = found
            .iter()
            .filter(|(own, _)| !own.is_empty())
            .map(|(own, text)| (own.clone(), used(own, text, &found)[0].clone()))
            .collect();
        for uses in [folders(&uses), uses] {
            let rooms = uses.keys();
            let circles: BTreeSet<_> = rooms.filter_map(|room| circle(room, &uses)).collect();
            assert!(
                circles.is_empty(),
                "{name}: rooms stand in circles: {circles:#?}"
            );
        }
    }
}
