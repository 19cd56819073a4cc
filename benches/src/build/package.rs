//! A package that is only compiled, and the CPU time of the build.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{self, Command},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

/// The path from this package's manifest to the crates of this repository.
const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// A new directory inside the directory for temporary files. It is removed at the end.
pub(super) struct Package {
    directory: PathBuf,
}

impl Package {
    /// A package with these lines below `[dependencies]`. `{repository}` in a line is replaced by the path of
    /// the crates. The versions are those of this package's lock file, so nothing is downloaded.
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

    /// Replaces the source of the program.
    pub(super) fn write(&self, source: &str) -> io::Result<()> {
        fs::write(self.directory.join("src/main.rs"), source)
    }

    /// The lines of LLVM's text of the program, as rustc writes them in a release build and before any optimization.
    pub(super) fn lines_of_llvm(&self) -> io::Result<usize> {
        let flags = [
            "--emit=llvm-ir",
            "-Cno-prepopulate-passes",
            "-Ccodegen-units=1",
        ];
        self.cargo(&[&["rustc", "--release", "--"], &flags[..]].concat())?;
        let mut lines = 0;
        for file in fs::read_dir(self.directory.join("target/release/deps"))? {
            let path = file?.path();
            if path.extension().is_some_and(|it| it == "ll") {
                lines += fs::read_to_string(path)?.lines().count();
            }
        }
        Ok(lines)
    }

    /// Runs cargo and returns the CPU seconds of cargo and of all processes that it started.
    pub(super) fn cargo(&self, arguments: &[&str]) -> io::Result<f64> {
        let before = cpu_seconds_of_children()?;
        let output = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()))
            .args(&arguments[..1])
            .args(["--offline", "-j1"])
            .args(&arguments[1..])
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
        // If a file cannot be removed, the system removes it later.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// The time, in user and system mode, of all child processes that have ended and were waited for, with
/// their own children. Linux counts this time in hundredths of a second.
fn cpu_seconds_of_children() -> io::Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The second field, the name in parentheses, may contain anything. The first field after it is the
    // third.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let ticks = |number: usize| fields.split(' ').nth(number - 3)?.parse::<f64>().ok();
    match (ticks(16), ticks(17)) {
        (Some(user), Some(system)) => Ok((user + system) / 100.0),
        _ => Err(io::Error::other(
            "/proc/self/stat does not say how long children took",
        )),
    }
}
