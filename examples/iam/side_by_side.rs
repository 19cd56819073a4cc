//! Six ways on a bad day of the service: the first picture.

use std::time::Duration;

use emulator::{Emulator, Faults, Reply};
use examples::terminal::say;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::record::{Ending, Outcome, Story};
use crate::runs::Runs;
use crate::tell::{http, tell};
use crate::way::Way;
use crate::{Error, Options, picture};

/// Where the service's random numbers begin in the run that is drawn.
const SEED: u64 = 7;
/// How many seeds the means are taken of: the one that is drawn and those after it.
const SEEDS: u64 = 5;

/// How long the service thinks about a call.
const LATENCY: Duration = Duration::from_millis(5);

/// Prints the table; gives the picture of all ways, and one of the two that differ most.
pub(crate) async fn show(options: &Options) -> Result<[String; 2], Error> {
    let title = format!(
        "{} writers change one IAM policy at the same time",
        options.writers
    );
    let deadlines = if options.patient {
        " The last three ways keep their deadline of 300 s."
    } else {
        ""
    };
    let circumstances = format!(
        "All times are shortened a hundredfold: a second takes 10 ms.{deadlines} Service: some faults, seed {SEED}."
    );
    say(&format!("{title}.\n{circumstances}\n"))?;

    let ways = all_ways(options).await?;

    say(&format!("\n{}\n{}", table(&ways), remarks(&ways)))?;
    let two = [
        (Way::WriteAlone, "The write alone is retried"),
        (
            Way::ReadModifyWrite,
            "The whole function is retried, with jitter",
        ),
    ];
    let runs = |way| {
        let place = Way::SIDE_BY_SIDE.iter().position(|&one| one == way);
        &ways[place.expect("each way is shown")]
    };
    let two = picture::draw_two(
        two.map(|(way, headline)| (runs(way), headline)),
        &[
            &title,
            "A row is a writer. Times are shortened a hundredfold;",
            "each panel has its own scale.",
        ],
    )?;
    Ok([picture::draw(&ways, &title, &circumstances)?, two])
}

/// A line for each way.
fn table(ways: &[Runs]) -> String {
    let header = [
        "way",
        "arrived",
        "lost",
        "gave up",
        "calls",
        "conflicts",
        "throttled",
        "failed",
        "time",
    ];
    let row = |(number, runs): (usize, &Runs)| {
        let answered = |outcome| runs.mean(|story| story.answered(outcome));
        let Story { title, .. } = runs.drawn();
        let arrived = runs.mean(Story::arrived);
        vec![
            format!("{number} {title}"),
            format!("{arrived} of {}", runs.drawn().writers()),
            runs.mean(|story| story.ended(Ending::Lost)),
            runs.mean(Story::gave_up),
            runs.mean(|story| story.calls.len()),
            answered(Outcome::Conflict),
            answered(Outcome::Throttled),
            answered(Outcome::Failed),
            format!("{:.2} s", runs.seconds()),
        ]
    };
    let rows: Vec<_> = (1..).zip(ways).map(row).collect();
    examples::table::table(&header, 1, &rows)
}

/// What the table does not explain by itself.
fn remarks(ways: &[Runs]) -> String {
    let mut remarks = format!("Means of {SEEDS} runs; the picture shows the first one.\n");
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
    let bar = |name: &str, length: u64| {
        let style = "{prefix:50} {bar:24} {pos:>4} of {len} done, {msg}";
        let style = ProgressStyle::with_template(style)?;
        let bar = bars.add(ProgressBar::new(length).with_style(style));
        Ok::<_, Error>(bar.with_prefix(name.to_owned()))
    };
    let way = |way: Way| bar(way.title(), options.writers.into());
    let shown = Way::SIDE_BY_SIDE.map(way);
    let shown = shown.into_iter().collect::<Result<Vec<_>, _>>()?;
    let drawn = one_seed(options, SEED, shown).await?;
    let mut ways: Vec<_> = drawn.into_iter().map(Runs::of).collect();

    let bar = bar("all six with other seeds", SEEDS - 1)?;
    for more in 1..SEEDS {
        let silent = vec![ProgressBar::hidden(); ways.len()];
        let stories = one_seed(options, SEED + more, silent).await?;
        for (runs, story) in ways.iter_mut().zip(stories) {
            runs.push(story);
        }
        bar.inc(1);
    }
    bar.abandon();
    Ok(ways)
}

/// Runs the ways at the same time, each against a service of its own.
async fn one_seed(
    options: &Options,
    seed: u64,
    bars: Vec<ProgressBar>,
) -> Result<Vec<Story>, Error> {
    let shared = http()?;
    let mut prepared = Vec::new();
    for (way, bar) in Way::SIDE_BY_SIDE.into_iter().zip(bars) {
        let service = service(options.writers, seed)?;
        let (pace, client) = (options.pace(), shared.clone());
        prepared.push(tell(way, pace, client, service, options.writers, bar));
    }
    let running: Vec<_> = prepared.into_iter().map(tokio::spawn).collect();
    let mut stories = Vec::new();
    for story in running {
        stories.push(story.await??);
    }
    Ok(stories)
}

/// A service that thinks about every call, and answers some of them badly. Its quota lets the
/// first read and write of every writer pass, but not a crowd that comes again all at once.
fn service(writers: u16, seed: u64) -> Result<Emulator, Error> {
    let crowd = u32::from(writers).max(8);
    let faults = Faults::none()
        .status(503, 0.02)
        .applied_then(503, 0.01)
        .with(Reply::reset(), 0.01);
    let service = Emulator::builder()
        .seed(seed)
        .latency(LATENCY)
        .faults(faults)
        .rate_limit(20 * crowd, 2 * crowd)
        .throttle_with(Reply::status(429).retry_info("0.01s"));
    Ok(service.start()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Pace;

    #[tokio::test]
    async fn every_change_arrives() {
        let quiet = Way::CROWD.map(|way| (way, Emulator::start().unwrap()));
        let bad = [Way::ReadModifyWrite, Way::Combined];
        let bad = bad.map(|way| (way, service(6, SEED).unwrap()));
        for (way, service) in quiet.into_iter().chain(bad) {
            let pace = Pace { is_patient: true };
            let story = tell(
                way,
                pace,
                http().unwrap(),
                service,
                6,
                ProgressBar::hidden(),
            );
            let story = story.await.unwrap();
            assert_eq!(story.endings, [Ending::Arrived; 6], "{way:?}");
            // One thread: all six have asked before the first read is answered.
            let least = if way == Way::Combined { 2 } else { 12 };
            assert!(story.calls.len() >= least, "{way:?}");
            let are_shared = story.calls.iter().all(|call| call.writer.is_none());
            assert_eq!(are_shared, way == Way::Combined, "{way:?}");
        }
    }

    #[test]
    fn says_how_each_way_ended() {
        let mixed = [Ending::Arrived, Ending::Misled, Ending::GaveUp];
        let short = Story::of("short", &mixed, 1250);
        let longer = Story::of("a longer title", &[Ending::Arrived; 3], 1250);
        let text = table(&[short, longer].map(Runs::of));
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[2].starts_with("1 short  "), "{text}");
        assert!(lines[2].contains("2 of 3     0        2"), "{text}");
        assert!(lines[3].ends_with("1.25 s"), "{text}");
    }
}
