//! Writers change one IAM policy at the same time over real HTTP. Six ways run side by side, while
//! the service throttles, fails and conflicts: no retry, the write alone retried, the whole function
//! retried without jitter, with backon's jitter, with IAM's own policy, and all changes combined. Then
//! four ways meet crowds of different sizes.
//!
//! `ways.rs` is what a program would contain; the rest is the demonstration around it.

mod client;
mod crowd;
mod curves;
mod marks;
mod picture;
mod record;
mod runs;
mod side_by_side;
mod table;
mod tell;
mod way;
mod ways;

use std::error::Error as StdError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use examples::terminal::{ended, say};

use crate::client::Pace;

type Error = Box<dyn StdError + Send + Sync>;

const RESOURCE: &str = "projects/demo";
/// By how much all times are scaled unless the true ones are asked for.
const SHORTENED: f64 = 0.01;

/// Many writers change one IAM policy at the same time, in six ways: without retries, retrying
/// the write alone, retrying the whole function without jitter, with the jitter of another library
/// and with IAM's own policy, and combined into few calls. Then crowds of different sizes do, in four ways. Prints
/// tables and draws two pictures.
#[derive(Debug, Parser)]
#[command(name = "iam")]
struct Options {
    /// How many writers there are
    #[arg(long, value_name = "N", default_value_t = 16,
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    writers: u16,

    /// How badly the service behaves, besides the conflicts; a crowd meets no faults
    #[arg(long, value_enum, default_value_t = Misbehaviour::Some)]
    faults: Misbehaviour,

    /// Where the service's random numbers begin in the run that is drawn
    #[arg(long, value_name = "NUMBER", default_value_t = 7)]
    seed: u64,

    /// How many seeds the means of the six ways are taken of: the one that is drawn and those after
    /// it. With `--real-time` only the drawn one runs
    #[arg(long, value_name = "N", default_value_t = side_by_side::SEEDS,
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    seeds: u16,

    /// Wait as long as the policies say, instead of a hundredth of it: takes up to five minutes,
    /// and draws the first picture only
    #[arg(long)]
    real_time: bool,

    /// Shorten the waits of the last ways, and not their deadline of five minutes, so that a slow
    /// machine makes nobody give up
    #[arg(long)]
    patient: bool,

    /// How many tasks the crowds of the second picture have
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_values_t = crowd::TASKS,
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    tasks: Vec<u16>,

    /// How often each crowd runs; the second picture shows the means
    #[arg(long, value_name = "N", default_value_t = crowd::RUNS,
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    runs: u16,

    /// Where to draw the first picture; the second is drawn beside it, with `-crowd` in its name
    #[arg(long, value_name = "FILE", default_value = "out/iam.svg")]
    out: PathBuf,
}

impl Options {
    fn pace(&self) -> Pace {
        Pace {
            scale: if self.real_time { 1.0 } else { SHORTENED },
            is_patient: self.patient,
        }
    }

    /// How many runs of the six ways follow the one that is drawn.
    fn more_runs(&self) -> u16 {
        if self.real_time { 0 } else { self.seeds - 1 }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Misbehaviour {
    /// Every call is answered as it deserves
    None,
    /// Some calls are throttled, answered with 503 (before or after the write), or cut off
    Some,
    /// The same, three times as often
    Heavy,
}

impl Misbehaviour {
    fn name(self) -> &'static str {
        match self {
            Self::None => "no faults",
            Self::Some => "some faults",
            Self::Heavy => "many faults",
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    ended(run(&Options::parse()).await)
}

async fn run(options: &Options) -> Result<(), Error> {
    prepare(&options.out)?;
    let crowd = beside(&options.out, "-crowd");
    let draws_crowd = !options.real_time;
    if draws_crowd {
        prepare(&crowd)?;
    }
    write(&options.out, side_by_side::show(options).await?)?;
    if draws_crowd {
        write(
            &crowd,
            crowd::show(&options.tasks, options.runs, options.pace()).await?,
        )?;
    }
    Ok(())
}

/// The same folder and ending, more in the name.
fn beside(out: &Path, more: &str) -> PathBuf {
    let mut name = out.file_stem().unwrap_or_default().to_owned();
    name.push(more);
    if let Some(ending) = out.extension() {
        name.push(".");
        name.push(ending);
    }
    out.with_file_name(name)
}

/// Finds out before the run, not after it, whether the picture can be written.
fn prepare(out: &Path) -> Result<(), Error> {
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::OpenOptions::new().create(true).append(true).open(out))
        .map_err(|error| cannot_write(out, &error))?;
    Ok(())
}

fn write(out: &Path, picture: String) -> Result<(), Error> {
    fs::write(out, picture).map_err(|error| cannot_write(out, &error))?;
    say(&format!("Picture: {}\n", out.display()))?;
    Ok(())
}

fn cannot_write(out: &Path, error: &io::Error) -> Error {
    format!("cannot write the picture {}: {error}", out.display()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn nonsense_is_refused() {
        Options::command().debug_assert();
        for wrong in [
            "--writers=0",
            "--writers=1001",
            "--faults=often",
            "--seed=x",
            "--tasks=0,1",
            "--runs=0",
            "--seeds=0",
        ] {
            let options = ["iam"].into_iter().chain(wrong.split(' '));
            assert!(Options::try_parse_from(options).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_second_picture_stands_beside_the_first() {
        for (first, second) in [
            ("out/iam.svg", "out/iam-crowd.svg"),
            ("picture", "picture-crowd"),
        ] {
            assert_eq!(beside(Path::new(first), "-crowd"), Path::new(second));
        }
    }
}
