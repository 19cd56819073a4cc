//! Finds the name of the library in the `Cargo.toml` of the crate that is compiled.
//!
//! A macro cannot see under which name its library was imported. Without this module, the compiler
//! reports an unresolved `backoff_core` at a place that the user did not write.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use proc_macro2::Span;

use crate::errors::Errors;

/// The name by which the library `default` is reached. The user must give another name.
///
/// The other name is a guess. Only an error of the macro itself can report it, because a macro cannot
/// add to the compiler's message about an unresolved path. So nothing is reported if `::default` may
/// still lead to the library: if the manifest also has the library under its own name, or if the root
/// of the crate has an `extern crate .. as default`.
pub(crate) fn name_of(default: &str, is_said: bool, write: &str, errors: &mut Errors) -> String {
    if is_said {
        return default.to_owned();
    }
    let Some(other) = other_name(default) else {
        return default.to_owned();
    };
    let package = default.replace('_', "-");
    let write = write.replace("..", &other);
    let message = format!("`{package}` is named `{other}` in Cargo.toml: write `{write}`");
    errors.push(syn::Error::new(Span::call_site(), message));
    other
}

/// The other name, if the library has only that name.
fn other_name(default: &str) -> Option<String> {
    thread_local!(static READ: RefCell<Vec<Read>> = const { RefCell::new(Vec::new()) });

    let directory = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR")?);
    let path = directory.join("Cargo.toml");
    // The macro server of an editor runs on after a change of the manifest.
    let modified = std::fs::metadata(&path).ok()?.modified().ok();
    let package = default.replace('_', "-");
    let key = (path, modified, package);
    let other = READ.with_borrow_mut(|read| {
        remembered(read, key, |(path, _, package)| {
            other_name_in(&std::fs::read_to_string(path).ok()?, package)
        })
    })?;
    let is_usable = syn::parse_str::<syn::Ident>(&other).is_ok();
    (is_usable && !is_renamed_in_code(&directory, default)).then_some(other)
}

/// A manifest, its time of change, and a package, with the package's other name in the manifest.
type Read = (Asked, Option<String>);
type Asked = (PathBuf, Option<SystemTime>, String);

/// The earlier answer, or the answer of `read`.
fn remembered(
    before: &mut Vec<Read>,
    asked: Asked,
    read: impl FnOnce(&Asked) -> Option<String>,
) -> Option<String> {
    if let Some((_, other)) = before.iter().find(|(of, _)| *of == asked) {
        return other.clone();
    }
    let other = read(&asked);
    before.push((asked, other.clone()));
    other
}

/// Whether the root of the crate has an `extern crate .. as name`, with which `::name` is a path.
fn is_renamed_in_code(directory: &Path, name: &str) -> bool {
    let file = proc_macro::is_available()
        .then(|| Span::call_site().unwrap().local_file())
        .flatten();
    let mut roots = roots(directory, file.as_deref()).into_iter();
    roots.any(|root| std::fs::read_to_string(root).is_ok_and(|code| renames(&code, name)))
}

/// The files that may be the root of the crate of `file`. A macro does not know which one is.
fn roots(directory: &Path, file: Option<&Path>) -> Vec<PathBuf> {
    let source = directory.join("src");
    let mut roots = vec![source.join("lib.rs"), source.join("main.rs")];
    if let Some(file) = file {
        // The compiler gives the path in the form in which it got the path, which may be relative.
        roots.push(file.to_owned());
        let folders = file.ancestors().skip(1);
        for folder in folders.take_while(|it| !it.as_os_str().is_empty() && *it != directory) {
            roots.extend([folder.with_extension("rs"), folder.join("main.rs")]);
        }
    }
    roots
}

/// Whether the code has an `extern crate .. as name`.
fn renames(code: &str, name: &str) -> bool {
    let lines = code.lines().map(|line| line.split("//").next());
    let code = lines.flatten().collect::<Vec<_>>().join(" ");
    let code = code.replace(';', " ; ");
    let words: Vec<&str> = code.split_whitespace().collect();
    words
        .windows(6)
        .any(|it| it[..2] == ["extern", "crate"] && it[3..] == ["as", name, ";"])
}

/// The line up to the `#` that is outside of strings.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let end = line.find(|char| {
        match (char, quote) {
            ('"' | '\'', None) => quote = Some(char),
            (_, Some(open)) if open == char => quote = None,
            ('#', None) => return true,
            _ => {}
        }
        false
    });
    &line[..end.unwrap_or(line.len())]
}

/// The name of the package if it only has another name; `None` if the manifest does not say.
fn other_name_in(manifest: &str, package: &str) -> Option<String> {
    let mut other = None;
    // The table of the dependencies, and the one dependency whose table this is.
    let (mut of_dependencies, mut of_one) = (false, None);
    for line in manifest.lines().map(|line| without_comment(line).trim()) {
        if let Some(table) = line.strip_prefix('[') {
            let table = table.split(']').next()?;
            let (parent, last) = table.rsplit_once('.').unwrap_or(("", table));
            let is_list = |name: &str| name.ends_with("dependencies");
            let is_own = !table.starts_with("workspace") && !table.starts_with("patch");
            of_dependencies = is_own && is_list(last);
            of_one = (is_own && is_list(parent)).then(|| unquoted(last));
            if of_one == Some(package) {
                return None;
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let key = key.trim();
        let (name, is_package) = match (of_one, key.split_once('.')) {
            (Some(name), _) => (name, key == "package" && unquoted(value) == package),
            (None, Some((name, sub))) if of_dependencies => (
                unquoted(name),
                sub == "package" && unquoted(value) == package,
            ),
            (None, None) if of_dependencies => (unquoted(key), names(value, package)),
            _ => continue,
        };
        if is_package && name.replace('_', "-") == package {
            return None;
        }
        if is_package {
            other = Some(name.replace('-', "_"));
        } else if name == package && !has_package(value) {
            return None;
        }
    }
    other
}

/// Whether `{ package = "..", .. }` gives another package.
fn has_package(value: &str) -> bool {
    let inside = value.trim().trim_start_matches('{');
    let mut keys = inside
        .split(',')
        .filter_map(|pair| Some(pair.split_once('=')?.0.trim()));
    keys.any(|key| key == "package")
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

/// Whether `{ package = "backoff-core", .. }` says so.
fn names(value: &str, package: &str) -> bool {
    let inside = value.trim().trim_start_matches('{').trim_end_matches('}');
    inside.split(',').any(|pair| {
        pair.split_once('=')
            .is_some_and(|(key, value)| key.trim() == "package" && unquoted(value) == package)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_under_another_name_and_only_there() {
        let renamed = [
            "[dependencies]\nagain = { version = \"1\", package = \"backoff-core\" }",
            "[dependencies.again]\nversion = \"1\"\npackage = \"backoff-core\"",
            "[target.'cfg(unix)'.dev-dependencies]\nagain.package = \"backoff-core\"",
            "[dependencies] # these\nagain = { package = \"backoff-core\" } # = \"no, # that\"",
            "[dependencies.again] # \"it\"\nfeatures = ['#'] # \n package = \"backoff-core\"# x",
            "[dependencies]\n# backoff-core = \"1\"\nagain.package = \"backoff-core\" # backoff-core",
            "[dependencies]\nagain.version = \"1\"\nagain.package = \"backoff-core\"",
        ];
        let not_renamed = [
            "[dependencies]\nbackoff-core = \"1\"",
            "[dependencies]\nbackoff-core.workspace = true",
            "[dependencies]\nother = { workspace = true }",
            "[dependencies]\nbackoff-core = \"1\"\n[dev-dependencies]\nagain.package = \"backoff-core\"",
            "[dependencies.again]\npackage = \"backoff-core\"\n[dependencies.backoff-core]",
            "[workspace.dependencies]\nagain = { package = \"backoff-core\" }",
            "[dependencies]\nbackoff_core.package = \"backoff-core\"\nagain.package = \"backoff-core\"",
            "[dependencies.backoff_core]\npackage = \"backoff-core\"",
            "[package]\nname = \"backoff-core\"",
            "no [manifest = at all",
            "",
        ];
        let renamed = renamed.map(|manifest| (manifest, Some("again")));
        for (manifest, expected) in renamed.into_iter().chain(not_renamed.map(|it| (it, None))) {
            let found = other_name_in(manifest, "backoff-core");
            assert_eq!(found.as_deref(), expected, "{manifest}");
        }
        let with_hyphen = "[dependencies]\nagain-and = { package = \"backoff-core\" }";
        let found = other_name_in(with_hyphen, "backoff-core");
        assert_eq!(found.as_deref(), Some("again_and"));
    }

    #[test]
    fn a_manifest_is_read_once() {
        let mut before = Vec::new();
        let mut asked = |path, written, now: Option<&str>| {
            let key = (PathBuf::from(path), written, "backoff-core".to_owned());
            remembered(&mut before, key, |_| now.map(str::to_owned))
        };
        assert_eq!(asked("a", None, Some("again")).as_deref(), Some("again"));
        assert_eq!(asked("a", None, None).as_deref(), Some("again"));
        assert_eq!(asked("b", None, None), None);
        assert_eq!(asked("a", Some(SystemTime::UNIX_EPOCH), None), None);
    }

    #[test]
    fn an_extern_crate_gives_the_library_its_own_name_back() {
        let cases = [
            ("extern crate again as backoff_core;", true),
            ("u;\npub extern crate again\n  as backoff_core ;\n", true),
            ("fn f() {}\nextern crate again as backoff_core;", true),
            ("extern crate again as backoff_cores;", false),
            ("extern crate again;", false),
            ("// extern crate again as backoff_core;", false),
            ("", false),
        ];
        for (code, expected) in cases {
            assert_eq!(renames(code, "backoff_core"), expected, "{code}");
        }
    }

    #[test]
    fn the_root_of_a_crate_is_above_the_file_or_beside_its_folder() {
        let roots = |file| {
            let roots = roots(Path::new("/p"), file);
            let roots: Vec<String> = roots.iter().map(|it| it.display().to_string()).collect();
            roots.join(" ")
        };
        assert_eq!(roots(None), "/p/src/lib.rs /p/src/main.rs");
        let found = roots(Some(Path::new("/p/tests/all/deep/mod.rs")));
        assert!(found.contains("/p/tests/all.rs"), "{found}");
        assert!(found.contains("/p/tests/all/main.rs"), "{found}");
        assert!(!found.contains("/p.rs"), "{found}");
    }
}
