//! What a program leaves behind: words and a picture.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

/// Prints. Where nobody listens any more, as after `| head -1`, the program goes on: pictures are
/// still drawn. `print!` would panic.
///
/// # Errors
/// When standard output cannot be written for any other reason.
pub fn say(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        said => said,
    }
}

/// Writes the picture, into a new folder if need be, and says where it is.
///
/// # Errors
/// When the folder or the file cannot be written.
pub fn save(out: &Path, picture: &str) -> io::Result<()> {
    if let Some(folder) = out.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(out, picture)?;
    say(&format!("Picture: {}\n", out.display()))
}

/// How a program ends; an error is said.
pub fn ended(outcome: Result<(), Box<dyn std::error::Error + Send + Sync>>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
