//! How many jobs had ended, over time, while workers were killed.

use std::time::Duration;

use examples::axis::written;
use examples::drawing::{FAINT, GREEN, INK, ORANGE, PAGE, SMALL, adapting, line, text};
use examples::panel::{Panel, seconds};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::{Course, KILLS_EACH};

const LEFT: i32 = 60;
const RIGHT: i32 = PAGE - 20;
const TOP: i32 = 120;
const BOTTOM: i32 = 400;

/// Gives the text of the SVG.
pub(crate) fn draw(
    course: &Course,
    jobs: u32,
) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let mut svg = String::new();
    {
        let page = SVGBackend::with_string(&mut svg, (PAGE as u32, BOTTOM as u32 + 30));
        let page = page.into_drawing_area();
        page.fill(&WHITE)?;
        let title = format!(
            "{} jobs, and a worker is killed each second",
            written(jobs.into())
        );
        text(&page, &title, (20, 28), 24, INK, HPos::Left)?;
        let words = format!(
            "Four worker processes, jobs in {}; all ended after {:.1} s, and {} workers were killed.",
            course.storage,
            course.took.as_secs_f64(),
            course.kills
        );
        text(&page, &words, (20, 58), SMALL, FAINT, HPos::Left)?;
        line(&page, (20, 86), (42, 86), GREEN, 3)?;
        text(
            &page,
            "jobs that have ended",
            (48, 86),
            SMALL,
            INK,
            HPos::Left,
        )?;
        line(&page, (240, 78), (240, 94), ORANGE, 2)?;
        text(
            &page,
            "a worker is killed",
            (248, 86),
            SMALL,
            INK,
            HPos::Left,
        )?;
        let time = seconds(course.took, (LEFT, RIGHT));
        let panel = Panel {
            page: &page,
            time: &time,
            top: TOP,
            bottom: BOTTOM,
        };
        let values = panel.values([f64::from(jobs)].into_iter())?;
        for kill in 1..=course.kills {
            let x = panel.x(KILLS_EACH * kill);
            line(&page, (x, BOTTOM - 14), (x, BOTTOM), ORANGE, 2)?;
        }
        let ended = course
            .ended
            .iter()
            .map(|&(at, jobs): &(Duration, u32)| (at, values.at(jobs.into())));
        panel.line(ended, GREEN, 3)?;
        panel.seconds()?;
        page.present()?;
    }
    Ok(adapting(&svg))
}
