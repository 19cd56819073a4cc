//! Four ways in crowds of different sizes.

use std::time::Duration;

use emulator::Emulator;
use examples::results::Results;
use examples::stats::Mean;
use examples::terminal::say;

use crate::Error;
use crate::client::Pace;
use crate::record::{Ending, Kind, Outcome, Story};
use crate::tell::tell_all;
use crate::way::Way;

/// As many, as far apart and as often as a short run of the example has time for.
pub(crate) const TASKS: [u16; 6] = [1, 2, 5, 10, 20, 50];
pub(crate) const RUNS: u16 = 2;

/// How long the service thinks about a call.
const LATENCY: Duration = Duration::from_millis(5);

const CALLS: &str = "calls";
const GAVE_UP: &str = "gave up";

/// Prints the table.
pub(crate) async fn show(tasks: &[u16], runs: u16, pace: Pace) -> Result<(), Error> {
    say(&format!(
        "\nTasks change one IAM policy at the same time, in four ways.\n5 ms a call, no faults. Waits are shortened a \
         hundredfold (base 10 ms, deadline {}). Means of {runs} runs.\n",
        if pace.is_patient { "300 s" } else { "3 s" },
    ))?;
    let results = measure(tasks, runs, pace).await?;
    say(&format!("\n{}", results.table()))?;
    Ok(())
}

async fn measure(tasks: &[u16], runs: u16, pace: Pace) -> Result<Results, Error> {
    let measures = ["reads", "writes", "conflicts", CALLS, "time, ms", GAVE_UP];
    let mut results = Results::new(["tasks", "way"], measures);
    for &tasks in tasks {
        // The first three wait most of the time, so they run side by side. What they do would be most of the
        // time of the last way, so that one runs alone.
        for ways in Way::CROWD.chunks(3) {
            let mut stories = vec![Vec::new(); ways.len()];
            for _ in 0..runs {
                let service = || Ok(Emulator::builder().latency(LATENCY).start()?);
                let told = tell_all(ways, pace, tasks, service).await?;
                for (runs, story) in stories.iter_mut().zip(told) {
                    runs.push(sound(story)?);
                }
            }
            for (way, stories) in ways.iter().zip(stories) {
                results.add([&tasks.to_string(), way.title()], means(&stories));
            }
        }
    }
    Ok(results)
}

fn means(stories: &[Story]) -> Vec<Option<Mean>> {
    let mean = |of: &dyn Fn(&Story) -> f64| Mean::of(stories.iter().map(of));
    vec![
        mean(&|story| story.of_kind(Kind::Read) as f64),
        mean(&|story| story.of_kind(Kind::Write) as f64),
        mean(&|story| story.answered(Outcome::Conflict) as f64),
        mean(&|story| story.calls.len() as f64),
        mean(&|story| story.took.as_secs_f64() * 1e3),
        mean(&|story| story.gave_up() as f64),
    ]
}

/// In none of these ways may a change be missing that was told as made.
fn sound(story: Story) -> Result<Story, Error> {
    match story.ended(Ending::Lost) {
        0 => Ok(story),
        lost => Err(format!("{}: {lost} changes were lost", story.title).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_crowd_that_combines_calls_less_often() {
        let results = measure(&[1, 8], 1, Pace { is_patient: true });
        let results = results.await.unwrap();
        for way in Way::CROWD {
            let of = |tasks, measure| results.mean(&[tasks, way.title()], measure).unwrap().mean;
            // Alone, every way costs one read and one write.
            assert_eq!(of("1", CALLS), 2.0, "{way:?}");
            assert_eq!(of("8", GAVE_UP), 0.0, "{way:?}");
            // One thread: the changes wait while the first read is under way.
            let is_combined = way == Way::Combined;
            assert_eq!(of("8", CALLS) == 2.0, is_combined, "{way:?}");
            assert_eq!(of("8", CALLS) > 16.0, !is_combined, "{way:?}");
        }
    }
}
