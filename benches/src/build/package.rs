//! A package that is there only to be compiled, and the CPU time that it takes.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{self, Command},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

/// Where the crates of this repository are, seen from this package's manifest.
const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// A directory of its own below the one for temporary files, removed in the end.
pub(super) struct Package {
    directory: PathBuf,
}

impl Package {
    /// With these lines below `[dependencies]`, in which `{repository}` is where the crates are.
    /// Versions are those of this package's lock file, so nothing is downloaded.
    pub(super) fn with(dependencies: &str) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("benches-{}-{}", process::id(), NUMBER.fetch_add(1, Relaxed));
        let package = Package {
            directory: env::temp_dir().join(name),
        };
        let here = Path::new(HERE);
        let repository = here.parent().unwrap_or(here).display().to_string();
        fs::create_dir_all(package.directory.join("src"))?;
        let manifest = format!(
            "[package]\nname = \"compiled\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
             [workspace]\n\n[dependencies]\n{}",
            dependencies.replace("{repository}", &repository)
        );
        fs::write(package.directory.join("Cargo.toml"), manifest)?;
        fs::copy(
            here.join("Cargo.lock"),
            package.directory.join("Cargo.lock"),
        )?;
        package.write("fn main() {}")?;
        Ok(package)
    }

    /// Replaces the program.
    pub(super) fn write(&self, source: &str) -> io::Result<()> {
        fs::write(self.directory.join("src/main.rs"), source)
    }

    /// Runs cargo and says how many CPU seconds it took with all that it started.
    pub(super) fn cargo(&self, arguments: &[&str]) -> io::Result<f64> {
        let before = cpu_seconds_of_children()?;
        let output = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()))
            .args(arguments)
            .arg("--offline")
            .current_dir(&self.directory)
            .env("CARGO_TARGET_DIR", self.directory.join("target"))
            .output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(io::Error::other(format!("cargo {arguments:?}:\n{said}")));
        }
        Ok(cpu_seconds_of_children()? - before)
    }
}

impl Drop for Package {
    fn drop(&mut self) {
        // What cannot be removed is left to the system.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// The time, in user and system mode, of all children that have ended and were waited for, with
/// theirs. Linux counts it in hundredths of a second.
fn cpu_seconds_of_children() -> io::Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The name, in parentheses, may hold anything. Behind it, the first field is the third.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let ticks = |number: usize| fields.split(' ').nth(number - 3)?.parse::<f64>().ok();
    match (ticks(16), ticks(17)) {
        (Some(user), Some(system)) => Ok((user + system) / 100.0),
        _ => Err(io::Error::other(
            "/proc/self/stat does not say how long children took",
        )),
    }
}
