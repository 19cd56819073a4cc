//! Six ways on a bad day of the service: the first picture.

use std::time::Duration;

use emulator::{Emulator, Faults, Reply};
use examples::terminal::say;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::record::{Ending, Story};
use crate::runs::Runs;
use crate::tell::{http, tell};
use crate::way::Way;
use crate::{Error, Misbehaviour, Options, picture, table};

/// How many seeds the means are taken of, where a short run of the example has time for no more.
pub(crate) const SEEDS: u16 = 5;

/// How long the service thinks about a call, in real time.
const LATENCY: Duration = Duration::from_millis(500);

/// Prints the table; gives the picture.
pub(crate) async fn show(options: &Options) -> Result<String, Error> {
    let title = match options.writers {
        1 => "One writer changes an IAM policy, alone".to_owned(),
        writers => format!("{writers} writers change one IAM policy at the same time"),
    };
    let circumstances = circumstances(options);
    say(&format!("{title}.\n{circumstances}\n"))?;

    let ways = all_ways(options).await?;

    say(&format!("\n{}\n{}", table::table(&ways), remarks(&ways)))?;
    picture::draw(&ways, &title, &circumstances)
}

fn circumstances(options: &Options) -> String {
    let time = if options.real_time {
        "All times are the true ones."
    } else {
        "All times are shortened a hundredfold: a second takes 10 ms."
    };
    let deadlines = if options.patient {
        " The last three ways keep their deadline of 300 s."
    } else {
        ""
    };
    format!(
        "{time}{deadlines} Service: {}, seed {}.",
        options.faults.name(),
        options.seed
    )
}

/// What the table does not explain by itself.
fn remarks(ways: &[Runs]) -> String {
    let mut remarks = String::new();
    let runs = ways.first().map_or(0, Runs::number);
    if runs > 1 {
        remarks += &format!("Means of {runs} runs; the picture shows the first one.\n");
    }
    let stories = ways.iter().flat_map(Runs::all);
    let misled: usize = stories.map(|story| story.ended(Ending::Misled)).sum();
    if misled > 0 {
        remarks += &format!(
            "In all runs {misled} changes count both as arrived and as gave up: the write was \
             applied, but the service answered with an error.\n"
        );
    }
    remarks
}

/// Runs the ways with one seed after the other, so that the waits and not the machine take the time.
/// The first seed is the one that is drawn.
async fn all_ways(options: &Options) -> Result<Vec<Runs>, Error> {
    let bars = MultiProgress::new();
    let mut bar_of = Vec::new();
    for way in Way::SIDE_BY_SIDE {
        let bar = bars.add(ProgressBar::new(options.writers.into()).with_style(style()?));
        bar.set_prefix(way.title());
        bar_of.push(bar);
    }
    let drawn = one_seed(options, 0, bar_of).await?;
    let mut ways: Vec<_> = drawn.into_iter().map(Runs::of).collect();

    let more = options.more_runs();
    if more > 0 {
        let bar = bars.add(ProgressBar::new(more.into()).with_style(style()?));
        bar.set_prefix("all five with other seeds");
        for run in 1..=more {
            let silent = vec![ProgressBar::hidden(); ways.len()];
            let stories = one_seed(options, run, silent).await?;
            for (runs, story) in ways.iter_mut().zip(stories) {
                runs.push(story);
            }
            bar.inc(1);
        }
        bar.abandon();
    }
    Ok(ways)
}

/// Runs the ways at the same time, each against a service of its own. `run` is the number of the
/// run, from 0.
async fn one_seed(
    options: &Options,
    run: u16,
    bar_of: Vec<ProgressBar>,
) -> Result<Vec<Story>, Error> {
    let shared = http()?;
    let mut prepared = Vec::new();
    for (way, bar) in Way::SIDE_BY_SIDE.into_iter().zip(bar_of) {
        let service = service(options, run)?;
        let client = shared.clone();
        prepared.push(tell(
            way,
            options.pace(),
            client,
            service,
            options.writers,
            bar,
        ));
    }
    let running: Vec<_> = prepared.into_iter().map(tokio::spawn).collect();
    let mut stories = Vec::new();
    for story in running {
        stories.push(story.await??);
    }
    Ok(stories)
}

fn style() -> Result<ProgressStyle, Error> {
    Ok(ProgressStyle::with_template(
        "{prefix:50} {bar:24} {pos:>4} of {len} done, {msg}",
    )?)
}

/// A service that thinks about every call, and answers some of them badly. Its quota lets the
/// first read and write of every writer pass, but not a crowd that comes again all at once.
fn service(options: &Options, run: u16) -> Result<Emulator, Error> {
    let scale = options.pace().scale;
    let crowd = u32::from(options.writers).max(8);
    let polite = Emulator::builder()
        .seed(options.seed.wrapping_add(run.into()))
        .latency(LATENCY.mul_f64(scale));
    let times = match options.faults {
        Misbehaviour::None => return Ok(polite.start()?),
        Misbehaviour::Some => 1,
        Misbehaviour::Heavy => 3,
    };
    let share = |of_calls: f64| of_calls * f64::from(times);
    let faults = Faults::none()
        .status(503, share(0.02))
        .applied_then(503, share(0.01))
        .with(Reply::reset(), share(0.01));
    let a_second = f64::from(crowd) / (5.0 * f64::from(times) * scale);
    let service = polite
        .faults(faults)
        .rate_limit(a_second.ceil() as u32, 2 * crowd)
        .throttle_with(Reply::status(429).retry_info(format!("{scale}s")));
    Ok(service.start()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[tokio::test]
    async fn every_change_arrives() {
        let options = Options::parse_from(["iam", "--writers=6", "--faults=heavy", "--patient"]);
        let quiet = Way::CROWD.map(|way| (way, Emulator::start().unwrap()));
        let heavy = [Way::ReadModifyWrite, Way::Combined];
        let heavy = heavy.map(|way| (way, service(&options, 0).unwrap()));
        for (way, service) in quiet.into_iter().chain(heavy) {
            let bar = ProgressBar::hidden();
            let pace = options.pace();
            let story = tell(way, pace, http().unwrap(), service, options.writers, bar);
            let story = story.await.unwrap();
            assert_eq!(story.endings, [Ending::Arrived; 6], "{way:?}");
            // One thread: all six have asked before the first read is answered.
            let least = if way == Way::Combined { 2 } else { 12 };
            assert!(story.calls.len() >= least, "{way:?}");
            let are_shared = story.calls.iter().all(|call| call.writer.is_none());
            assert_eq!(are_shared, way == Way::Combined, "{way:?}");
        }
    }
}
