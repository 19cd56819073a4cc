//! Writers change one IAM policy at the same time over real HTTP. Six ways run side by side, while
//! the service throttles, fails and conflicts: no retry, the write alone retried, the whole function
//! retried without jitter, with backon's jitter, with IAM's own policy, and all changes combined. Then
//! four ways meet crowds of different sizes.
//!
//! `ways.rs` is what a program would contain; the rest is the demonstration around it.

mod client;
mod crowd;
mod marks;
mod picture;
mod record;
mod side_by_side;
mod tell;
mod way;
mod ways;

use std::error::Error as StdError;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use examples::terminal::{ended, save};

use crate::client::Pace;

type Error = Box<dyn StdError + Send + Sync>;

const RESOURCE: &str = "projects/demo";

/// Many writers change one IAM policy at the same time, in six ways: without retries, retrying
/// the write alone, retrying the whole function without jitter, with the jitter of another library
/// and with IAM's own policy, and combined into few calls. Then crowds of different sizes do, in four ways. Prints
/// tables and draws two ways.
#[derive(Debug, Parser)]
#[command(name = "iam")]
struct Options {
    /// How many writers there are
    #[arg(long, value_name = "N", default_value_t = 16,
          value_parser = clap::value_parser!(u16).range(2..=1000))]
    writers: u16,

    /// Shorten the waits of the last ways, and not their deadline of five minutes, so that a slow
    /// machine makes nobody give up
    #[arg(long)]
    patient: bool,

    /// How many tasks the crowds have
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_values_t = crowd::TASKS,
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    tasks: Vec<u16>,

    /// How often each crowd runs; the table has the means
    #[arg(long, value_name = "N", default_value_t = crowd::RUNS,
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    runs: u16,

    /// Where to draw the two ways that differ most
    #[arg(long, value_name = "FILE", default_value = "out/iam.svg")]
    out: PathBuf,
}

impl Options {
    fn pace(&self) -> Pace {
        Pace {
            is_patient: self.patient,
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    ended(run(&Options::parse()).await)
}

async fn run(options: &Options) -> Result<(), Error> {
    save(&options.out, &side_by_side::show(options).await?)?;
    crowd::show(&options.tasks, options.runs, options.pace()).await
}
