//! Printing.

use std::io::{self, Write as _};

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
