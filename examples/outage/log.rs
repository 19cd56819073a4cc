//! The log of the run: whole in a file, and the first lines of each phase in the terminal.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use examples::terminal::say;
use tracing_subscriber::fmt::{format, time};

/// How many lines of each phase the terminal shows.
const SHOWN: usize = 3;

/// What `tracing` writes to.
#[derive(Clone)]
pub(crate) struct Log(Arc<Mutex<Inner>>);

struct Inner {
    file: File,
    lines: usize,
    in_phase: usize,
}

impl Log {
    /// Takes the events of the whole program from now on, from `INFO` up. Their times count from here.
    pub(crate) fn install(path: &Path) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let log = Log(Arc::new(Mutex::new(Inner {
            file: File::create(path)?,
            lines: 0,
            in_phase: 0,
        })));
        let writer = log.clone();
        tracing_subscriber::fmt()
            .event_format(format().with_timer(time::uptime()))
            .with_writer(move || writer.clone())
            .try_init()?;
        Ok(log)
    }

    /// A phase begins.
    pub(crate) fn phase(&self, headline: &str) -> io::Result<()> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let hidden = inner.in_phase.saturating_sub(SHOWN);
        inner.in_phase = 0;
        if hidden > 0 {
            let s = if hidden == 1 { "" } else { "s" };
            say(&format!("  … and {hidden} more line{s}\n"))?;
        }
        say(headline)
    }

    /// How many lines were written.
    pub(crate) fn lines(&self) -> usize {
        let inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.lines
    }
}

impl Write for Log {
    /// `tracing_subscriber` writes a line at once.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.file.write_all(line)?;
        inner.lines += 1;
        inner.in_phase += 1;
        if inner.in_phase <= SHOWN {
            say(&String::from_utf8_lossy(line))?;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
