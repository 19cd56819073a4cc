//! Five ways on a bad day of the service: the first picture.

use std::time::Duration;

use backoff_cloud::emulator::{Emulator, Faults, Reply};
use examples::terminal::say;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::record::{Ending, Story};
use crate::tell::tell;
use crate::way::Way;
use crate::{Error, Misbehaviour, Options, picture, table};

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

    let stories = all_ways(options).await?;

    say(&format!(
        "\n{}\n{}",
        table::table(&stories),
        remarks(&stories)
    ))?;
    picture::draw(&stories, &title, &circumstances)
}

fn circumstances(options: &Options) -> String {
    let time = if options.real_time {
        "All times are the true ones."
    } else {
        "All times are shortened a hundredfold: a second takes 10 ms."
    };
    format!(
        "{time} Service: {}, seed {}.",
        options.faults.name(),
        options.seed
    )
}

/// What the table does not explain by itself.
fn remarks(stories: &[Story]) -> String {
    let mut remarks = String::new();
    let misled: usize = stories
        .iter()
        .map(|story| story.ended(Ending::Misled))
        .sum();
    if misled > 0 {
        remarks += &format!(
            "Counted both as arrived and as gave up: {misled} whose write was applied, but \
             answered with an error.\n"
        );
    }
    remarks
}

/// Runs the ways at the same time, each against a service of its own.
async fn all_ways(options: &Options) -> Result<Vec<Story>, Error> {
    let bars = MultiProgress::new();
    let mut running = Vec::new();
    for way in Way::SIDE_BY_SIDE {
        let bar = bars.add(ProgressBar::new(options.writers.into()).with_style(style()?));
        bar.set_prefix(way.title());
        running.push(tokio::spawn(tell(
            way,
            options.pace(),
            service(options)?,
            options.writers,
            bar,
        )));
    }
    let mut stories = Vec::new();
    for story in running {
        stories.push(story.await??);
    }
    Ok(stories)
}

fn style() -> Result<ProgressStyle, Error> {
    Ok(ProgressStyle::with_template(
        "{prefix:44} {bar:24} {pos:>4} of {len} done, {msg}",
    )?)
}

/// A service that thinks about every call, and answers some of them badly. Its quota lets the
/// first read and write of every writer pass, but not a crowd that comes again all at once.
fn service(options: &Options) -> Result<Emulator, Error> {
    let pace = options.pace();
    let crowd = u32::from(options.writers).max(8);
    let polite = Emulator::builder()
        .seed(options.seed)
        .latency(LATENCY.mul_f64(pace));
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
    let a_second = f64::from(crowd) / (5.0 * f64::from(times) * pace);
    let service = polite
        .faults(faults)
        .rate_limit(a_second.ceil() as u32, 2 * crowd)
        .throttle_with(Reply::status(429).retry_info(format!("{pace}s")));
    Ok(service.start()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[tokio::test]
    async fn every_change_arrives() {
        let options = Options::parse_from(["iam", "--writers=6", "--faults=heavy"]);
        for (way, least) in [(Way::ReadModifyWrite, 12), (Way::Combined, 2)] {
            let service = service(&options).unwrap();
            let bar = ProgressBar::hidden();
            let told = tell(way, options.pace(), service, options.writers, bar).await;
            let story = told.unwrap();
            assert_eq!(story.endings, [Ending::Arrived; 6], "{way:?}");
            assert!(story.calls.len() >= least, "{way:?}");
        }
    }
}
