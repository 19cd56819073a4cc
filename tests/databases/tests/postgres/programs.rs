//! Finds Postgres' programs, and the user that runs them.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where Debian and similar systems install Postgres' programs: a folder for each version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// The folder with `initdb` and `postgres`: one of `PATH`, else that of the newest version.
pub(crate) fn folder() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let versions = Path::new(VERSIONS).read_dir().into_iter().flatten();
    let mut versions: Vec<_> = versions.flatten().map(|it| it.path()).collect();
    let number = |folder: &PathBuf| folder.file_name()?.to_str()?.parse::<u32>().ok();
    versions.sort_by_key(number);
    let newest_first = versions.iter().rev().map(|folder| folder.join("bin"));
    let is_one = |folder: &PathBuf| {
        let mut programs = ["initdb", "postgres"].into_iter();
        programs.all(|program| folder.join(program).is_file())
    };
    env::split_paths(&path).chain(newest_first).find(is_one)
}

/// The user and the group as whom they are run. `None` is whoever runs this; Postgres refuses to be
/// run by root, who takes the account `postgres`.
///
/// # Errors
/// There is no such account.
pub(crate) fn account() -> io::Result<Option<(u32, u32)>> {
    let id = |arguments: &[&str]| -> io::Result<u32> {
        let output = Command::new("id").args(arguments).output()?;
        let number = String::from_utf8_lossy(&output.stdout);
        number.trim().parse().map_err(io::Error::other)
    };
    if id(&["-u"])? > 0 {
        return Ok(None);
    }
    Ok(Some((id(&["-u", "postgres"])?, id(&["-g", "postgres"])?)))
}

/// Folders that change when the programs are installed.
#[allow(dead_code, reason = "the build asks, the tests do not")]
pub(crate) fn watched() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    // One that is missing would make every build a new one.
    let folders = env::split_paths(&path).chain([PathBuf::from("/usr/lib"), VERSIONS.into()]);
    folders.filter(|folder| folder.is_dir()).collect()
}
