//! Six ways on a bad day of the service.

use std::time::Duration;

use emulator::{Emulator, Faults, Reply};
use examples::terminal::say;

use crate::record::{Ending, Outcome, Story, mean, seconds};
use crate::tell::tell_all;
use crate::way::Way;
use crate::{Error, Options, picture};

/// Where the service's random numbers begin in the run that is drawn.
const SEED: u64 = 7;
/// How many seeds the means are taken of: the one that is drawn and those after it.
const SEEDS: u64 = 5;

/// How long the service thinks about a call.
const LATENCY: Duration = Duration::from_millis(5);

/// Prints the table; gives a picture of the two ways that differ most.
pub(crate) async fn show(options: &Options) -> Result<String, Error> {
    let title = format!(
        "{} writers change one IAM policy at the same time",
        options.writers
    );
    let deadlines = if options.patient {
        " The last three ways keep their deadline of 300 s."
    } else {
        ""
    };
    say(&format!(
        "{title}.\nAll times are shortened a hundredfold: a second takes 10 ms.{deadlines} Service: some faults, seed {SEED}.\n"
    ))?;
    let ways = all_ways(options).await?;
    say(&format!("\n{}\n{}", table(&ways), remarks(&ways)))?;
    let [_, write_alone, _, _, whole, _] = &ways[..] else {
        return Err("a way is missing".into());
    };
    picture::draw(
        [
            (&write_alone[0], "The write alone is retried"),
            (&whole[0], "The whole function is retried, with jitter"),
        ],
        &title,
    )
}

/// A line for each way.
fn table(ways: &[Vec<Story>]) -> String {
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
    let row = |(number, runs): (usize, &Vec<Story>)| {
        let answered = |outcome| mean(runs, |story| story.answered(outcome));
        let (title, writers) = (runs[0].title, runs[0].writers());
        vec![
            format!("{number} {title}"),
            format!("{} of {writers}", mean(runs, Story::arrived)),
            mean(runs, |story| story.ended(Ending::Lost)),
            mean(runs, Story::gave_up),
            mean(runs, |story| story.calls.len()),
            answered(Outcome::Conflict),
            answered(Outcome::Throttled),
            answered(Outcome::Failed),
            format!("{:.2} s", seconds(runs)),
        ]
    };
    let rows: Vec<_> = (1..).zip(ways).map(row).collect();
    examples::table::table(&header, 1, &rows)
}

/// What the table does not explain by itself.
fn remarks(ways: &[Vec<Story>]) -> String {
    let mut remarks = format!("Means of {SEEDS} runs; the picture shows the first one.\n");
    let stories = ways.iter().flatten();
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
async fn all_ways(options: &Options) -> Result<Vec<Vec<Story>>, Error> {
    let mut ways = vec![Vec::new(); Way::SIDE_BY_SIDE.len()];
    for seed in SEED..SEED + SEEDS {
        let service = || service(options.writers, seed);
        let (pace, writers) = (options.pace(), options.writers);
        let told = tell_all(&Way::SIDE_BY_SIDE, pace, writers, service).await?;
        for (runs, story) in ways.iter_mut().zip(told) {
            runs.push(story);
        }
    }
    Ok(ways)
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
        let pace = Pace { is_patient: true };
        let quiet = || Ok(Emulator::start()?);
        let mut told = tell_all(&Way::CROWD, pace, 6, quiet).await.unwrap();
        let bad = [Way::ReadModifyWrite, Way::Combined];
        let more = tell_all(&bad, pace, 6, || service(6, SEED)).await.unwrap();
        told.extend(more);
        for (way, story) in Way::CROWD.into_iter().chain(bad).zip(told) {
            assert_eq!(story.endings, [Ending::Arrived; 6], "{way:?}");
            // One thread: all six have asked before the first read is answered.
            let least = if way == Way::Combined { 2 } else { 12 };
            assert!(story.calls.len() >= least, "{way:?}");
        }
    }

    #[test]
    fn says_how_each_way_ended() {
        let mixed = [Ending::Arrived, Ending::Misled, Ending::GaveUp];
        let short = Story::of("short", &mixed, 1250);
        let longer = Story::of("a longer title", &[Ending::Arrived; 3], 1250);
        let text = table(&[vec![short], vec![longer]]);
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[2].starts_with("1 short  "), "{text}");
        assert!(lines[2].contains("2 of 3     0        2"), "{text}");
        assert!(lines[3].ends_with("1.25 s"), "{text}");
    }
}
