//! The name of the library in the `Cargo.toml` of the crate that is compiled.
//!
//! A macro cannot see under which name its library was imported. Without this, the compiler says
//! that `backoff_core` is unresolved, at a place that the user did not write.

use std::path::PathBuf;

use proc_macro2::Span;

use crate::errors::Errors;

/// The name by which the library `default` is reached; another name has to be said by the user.
pub(crate) fn name_of(default: &str, is_said: bool, write: &str, errors: &mut Errors) -> String {
    if is_said {
        return default.to_owned();
    }
    let package = default.replace('_', "-");
    let Some(other) = other_name(&package) else {
        return default.to_owned();
    };
    if other == default || syn::parse_str::<syn::Ident>(&other).is_err() {
        return default.to_owned();
    }
    let write = write.replace("..", &other);
    let message = format!("`{package}` is named `{other}` in Cargo.toml: write `{write}`");
    errors.push(syn::Error::new(Span::call_site(), message));
    other
}

fn other_name(package: &str) -> Option<String> {
    let directory = std::env::var_os("CARGO_MANIFEST_DIR")?;
    let manifest = std::fs::read_to_string(PathBuf::from(directory).join("Cargo.toml")).ok()?;
    other_name_in(&manifest, package)
}

fn other_name_in(manifest: &str, package: &str) -> Option<String> {
    let mut other = None;
    // The table of the dependencies, and the one dependency whose table this is.
    let (mut of_dependencies, mut of_one) = (false, None);
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('#') {
            continue;
        }
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
        let cases = [
            (
                "[dependencies]\nagain-and = { version = \"1\", package = \"backoff-core\" }",
                Some("again_and"),
            ),
            (
                "[dependencies.again]\nversion = \"1\"\npackage = \"backoff-core\"",
                Some("again"),
            ),
            (
                "[target.'cfg(unix)'.dev-dependencies]\nagain.version = \"1\"\nagain.package = \
                 \"backoff-core\"",
                Some("again"),
            ),
            ("[dependencies]\nbackoff-core = \"1\"", None),
            ("[dependencies]\nbackoff-core.workspace = true", None),
            ("[dependencies]\nother = { workspace = true }", None),
            (
                "[dependencies]\nbackoff-core = \"1\"\n[dev-dependencies]\nagain = { package = \
                 \"backoff-core\" }",
                None,
            ),
            (
                "[dependencies.again]\npackage = \"backoff-core\"\n[dependencies.backoff-core]",
                None,
            ),
            (
                "[workspace.dependencies]\nagain = { package = \"backoff-core\" }",
                None,
            ),
            ("[package]\nname = \"backoff-core\"", None),
            ("no [manifest = at all", None),
            ("", None),
        ];
        for (manifest, expected) in cases {
            let found = other_name_in(manifest, "backoff-core");
            assert_eq!(found.as_deref(), expected, "{manifest}");
        }
    }
}
