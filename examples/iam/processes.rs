//! Writers that are processes of their own: copies of this program, started together. Each combines
//! its own changes; between processes, only the etag and the waits keep order.

use std::collections::BTreeSet;
use std::env;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use backoff_cloud::emulator::Emulator;
use clap::Args;
use examples::table::table;
use examples::terminal::say;
use indicatif::{ProgressBar, ProgressStyle};

use crate::writer::{self, DONE, READY, member};
use crate::{Error, RESOURCE};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How many processes there are
    #[arg(long, value_name = "N", default_value_t = 20,
          value_parser = clap::value_parser!(u16).range(1..=200))]
    processes: u16,

    /// How many changes each process makes at once
    #[arg(long, value_name = "N", default_value_t = 50,
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    changes: u16,

    /// How often all of it is done
    #[arg(long, value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,

    /// The base of iam::READ_MODIFY_WRITE, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 1000,
          value_parser = clap::value_parser!(u64).range(1..=60_000))]
    base: u64,

    /// How long the service thinks about a call, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 5,
          value_parser = clap::value_parser!(u64).range(0..=10_000))]
    latency: u64,
}

/// What one round took.
#[derive(Clone, Copy, Debug)]
struct Round {
    reads: u64,
    /// Write calls, also those that conflicted.
    writes: u64,
    conflicts: u64,
    /// From the signal until the last process had made its last change.
    time: Duration,
}

/// Prints the medians and ranges of all rounds.
pub(crate) fn show(options: &Options) -> Result<(), Error> {
    say(&format!(
        "Processes: {}. Each makes {} changes of one IAM policy at once, and combines them with \
         iam::Members.\nBase {} ms, {} ms a call, no faults, true times.\n",
        options.processes, options.changes, options.base, options.latency
    ))?;
    let copy = env::current_exe()?;
    let style = ProgressStyle::with_template("{bar:44} {pos:>4} of {len} rounds")?;
    let bar = ProgressBar::new(options.rounds.into()).with_style(style);
    let mut rounds = Vec::new();
    for _ in 0..options.rounds {
        rounds.push(round(options, |arguments| {
            let mut command = Command::new(&copy);
            command.args(arguments);
            command
        })?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    say(&format!("\n{}", in_words(&rounds)))?;
    Ok(())
}

/// `command` makes a process of a writer's arguments.
fn round(options: &Options, command: impl Fn(&[String]) -> Command) -> Result<Round, Error> {
    let latency = Duration::from_millis(options.latency);
    let service = Emulator::builder().latency(latency).start()?;
    let mut writers = Vec::new();
    for number in 0..options.processes {
        let arguments =
            writer::Options::arguments(service.url(), number, options.changes, options.base);
        writers.push(Writer::start(command(&arguments))?);
    }
    for writer in &mut writers {
        writer.await_line(READY)?;
    }
    let start = Instant::now();
    for writer in &mut writers {
        writer.signal()?;
    }
    for writer in &mut writers {
        writer.await_line(DONE)?;
    }
    let time = start.elapsed();

    everything_is_there(options, &service)?;
    let stats = service.stats();
    Ok(Round {
        reads: stats.reads,
        writes: stats.writes + stats.conflicts,
        conflicts: stats.conflicts,
        time,
    })
}

fn everything_is_there(options: &Options, service: &Emulator) -> Result<(), Error> {
    let policy = service.policy(RESOURCE);
    let members = policy["bindings"][0]["members"].as_array();
    let there: BTreeSet<_> = members
        .into_iter()
        .flatten()
        .filter_map(|member| member.as_str())
        .collect();
    let all = (0..options.processes)
        .flat_map(|process| (0..options.changes).map(move |change| member(process, change)));
    match all
        .filter(|member| !there.contains(member.as_str()))
        .count()
    {
        0 => Ok(()),
        lost => Err(format!("{lost} changes are not in the policy").into()),
    }
}

/// A process that is killed when nobody waits for it any more.
struct Writer {
    process: Child,
    lines: BufReader<ChildStdout>,
}

impl Writer {
    fn start(mut command: Command) -> Result<Self, Error> {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = piped.spawn()?;
        let lines = process.stdout.take().map(BufReader::new);
        let lines = lines.ok_or("a writer has no standard output")?;
        Ok(Self { process, lines })
    }

    /// Waits until it says so.
    fn await_line(&mut self, awaited: &str) -> Result<(), Error> {
        let mut line = String::new();
        while line.trim_end() != awaited {
            line.clear();
            if self.lines.read_line(&mut line)? == 0 {
                return Err(format!("a writer ended before it said `{awaited}`").into());
            }
        }
        Ok(())
    }

    fn signal(&mut self) -> io::Result<()> {
        match &mut self.process.stdin {
            Some(pipe) => pipe.write_all(b"go\n"),
            None => Ok(()),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Fails if the process has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn in_words(rounds: &[Round]) -> String {
    let row = |name: &str, of: &dyn Fn(&Round) -> u64| {
        let mut values: Vec<_> = rounds.iter().map(of).collect();
        values.sort_unstable();
        let [least, most] = [values.first(), values.last()].map(|it| it.copied().unwrap_or(0));
        vec![
            name.to_owned(),
            median(&values).to_string(),
            least.to_string(),
            most.to_string(),
        ]
    };
    let rows = [
        row("writes", &|round| round.writes),
        row("of them conflicts", &|round| round.conflicts),
        row("reads", &|round| round.reads),
        row("calls", &|round| round.reads + round.writes),
        row("ms until the last change", &|round| {
            round.time.as_millis() as u64
        }),
    ];
    let header = format!("{} rounds", rounds.len());
    table(&[&header, "median", "least", "most"], 1, &rows)
}

/// Of sorted values; of two in the middle, the mean.
fn median(sorted: &[u64]) -> f64 {
    let at = |index: usize| sorted.get(index).copied().unwrap_or(0) as f64;
    let half = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        (at(half.saturating_sub(1)) + at(half)) / 2.0
    } else {
        at(half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options as All, What};
    use clap::Parser as _;

    /// Under this name the test gives itself a writer's arguments, when it starts its own copies.
    const ARGUMENTS: &str = "IAM_EXAMPLE_WRITER";

    fn options(arguments: &str) -> Options {
        let all = ["iam", "processes"].into_iter().chain(arguments.split(' '));
        match All::parse_from(all).what {
            Some(What::Processes(options)) => options,
            other => panic!("no options for processes: {other:?}"),
        }
    }

    #[tokio::test]
    async fn every_change_of_every_process_is_in_the_policy() {
        if let Ok(arguments) = env::var(ARGUMENTS) {
            let options = All::parse_from(["iam"].into_iter().chain(arguments.split(' ')));
            crate::run(&options).await.unwrap();
            return;
        }
        let arguments = "--processes=3 --changes=4 --base=10 --latency=1";
        let options = options(arguments);
        let name = "processes::tests::every_change_of_every_process_is_in_the_policy";
        let copy = |arguments: &[String]| {
            let mut command = Command::new(env::current_exe().unwrap());
            // Two threads, so that the harness writes nothing before the test's own lines.
            command.args([name, "--exact", "--nocapture", "--test-threads=2"]);
            command.env(ARGUMENTS, arguments.join(" "));
            command
        };
        // Asks by itself whether all twelve changes are in the policy.
        let round = round(&options, copy).unwrap();
        assert!(
            (1..=12).contains(&(round.writes - round.conflicts)),
            "{round:?}"
        );
        assert!(round.reads >= round.writes, "{round:?}");
    }

    #[test]
    fn a_lost_change_is_noticed() {
        let arguments = "--processes=1 --changes=2";
        let options = options(arguments);
        let service = Emulator::start().unwrap();
        let binding = |members: &[String]| serde_json::json!({"bindings": [{"role": "roles/viewer", "members": members}]});
        service.set_policy(RESOURCE, binding(&[member(0, 0)]));
        let error = everything_is_there(&options, &service).unwrap_err();
        assert_eq!(error.to_string(), "1 changes are not in the policy");
        service.set_policy(RESOURCE, binding(&[member(0, 0), member(0, 1)]));
        everything_is_there(&options, &service).unwrap();
    }

    #[test]
    fn a_writer_that_ends_early_is_an_error() {
        let mut command = Command::new(env::current_exe().unwrap());
        command.arg("--list");
        let mut writer = Writer::start(command).unwrap();
        let error = writer.await_line(READY).unwrap_err();
        assert_eq!(error.to_string(), "a writer ended before it said `ready`");
    }

    #[test]
    fn says_medians_and_ranges() {
        let round = |reads, writes, ms| Round {
            reads,
            writes,
            conflicts: writes - 1,
            time: Duration::from_millis(ms),
        };
        let words = in_words(&[round(5, 4, 30), round(3, 2, 10), round(3, 3, 25)]);
        let lines: Vec<_> = words.lines().collect();
        assert!(lines[0].starts_with("3 rounds"), "{words}");
        assert!(lines[2].starts_with("writes "), "{words}");
        for (line, numbers) in [(2, ["4", "2", "3"]), (6, ["30", "10", "25"])] {
            let cells = lines[line].split_whitespace().rev();
            assert_eq!(cells.take(3).collect::<Vec<_>>(), numbers);
        }
        assert_eq!(median(&[1, 2]), 1.5);
        assert_eq!(median(&[]), 0.0);
    }
}
