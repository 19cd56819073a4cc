//! How many jobs had ended, over time, while workers were killed.

use examples::axis::written;
use examples::drawing::{GREEN, INK, ORANGE, PAGE, Picture, SMALL, line, picture, text};
use examples::panel::{Panel, line_legend, seconds};
use plotters::style::text_anchor::HPos;

use crate::{Course, KILLS_EACH};

const LEFT: i32 = 60;
const RIGHT: i32 = PAGE - 20;
const TOP: i32 = 120;
const BOTTOM: i32 = 400;

/// Gives the text of the SVG.
pub(crate) fn draw(course: &Course, jobs: u32) -> Picture {
    let title = format!(
        "{} jobs, and a worker is killed each second",
        written(jobs.into())
    );
    let words = format!(
        "Four worker processes, jobs in {}; all ended after {:.1} s, and {} workers were killed.",
        course.storage,
        course.took.as_secs_f64(),
        course.kills
    );
    picture(BOTTOM + 30, &title, &[&words], |page| {
        let x = line_legend(page, (20, 86), GREEN, "jobs that have ended")?;
        line(page, (x, 78), (x, 94), ORANGE, 2)?;
        let killed = "a worker is killed";
        text(page, killed, (x + 8, 86), SMALL, INK, HPos::Left)?;
        let panel = Panel {
            page,
            time: &seconds(course.took, (LEFT, RIGHT)),
            top: TOP,
            bottom: BOTTOM,
        };
        let values = panel.values([f64::from(jobs)].into_iter())?;
        for kill in 1..=course.kills {
            let x = panel.x(KILLS_EACH * kill);
            line(page, (x, BOTTOM - 14), (x, BOTTOM), ORANGE, 2)?;
        }
        let ended = course.ended.iter();
        let ended = ended.map(|&(at, jobs)| (at, values.at(jobs.into())));
        panel.line(ended, GREEN, 3)?;
        panel.seconds()
    })
}
