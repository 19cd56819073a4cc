//! A line of served and one of failed calls for each way through each event.

use std::path::Path;
use std::time::Duration;

use examples::drawing::{Area, Drawn, FAINT, GREEN, GRID, INK, VERMILLION, line, text};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::event::{Happening, NOTICED_AFTER};
use crate::{AFTER, Story, Way};

const LEFT: i32 = 250;
const HEAD: i32 = 132;
const CHART: (i32, i32) = (280, 120);
/// What lies between two charts.
const GAP: (i32, i32) = (44, 62);
const WIDTH: i32 = LEFT + (CHART.0 + GAP.0) * Happening::ALL.len() as i32;
const HEIGHT: i32 = HEAD + (CHART.1 + GAP.1) * Way::ALL.len() as i32;

/// Draws the stories, which come event by event.
pub(crate) fn draw(out: &Path, stories: &[Story]) -> Drawn {
    if let Some(folder) = out.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    let page = SVGBackend::new(out, (WIDTH as u32, HEIGHT as u32)).into_drawing_area();
    page.fill(&WHITE)?;
    let calls = stories.first().map_or(0, |story| story.load.calls.len());
    let title = format!(
        "{calls} × INCR, one every 20 ms, to a Redis that fails over behind an address that stays the same"
    );
    text(&page, &title, (24, 30), 22, INK, HPos::Left)?;
    let noticed = NOTICED_AFTER.as_millis();
    let legend = format!(
        "Calls answered so far: green served, orange failed. The dashed line is the event; the address \
         leads to the new primary {noticed} ms after it is done."
    );
    text(&page, &legend, (24, 60), 14, FAINT, HPos::Left)?;

    let ended = stories.iter().flat_map(|story| &story.load.calls);
    let last = ended.map(|call| call.ended).max().unwrap_or_default();
    for (column, stories) in stories.chunks(Way::ALL.len()).enumerate() {
        let left = LEFT + (CHART.0 + GAP.0) * column as i32;
        let event = stories.first().map_or("", |story| story.happening.name());
        text(&page, event, (left, HEAD - 22), 15, INK, HPos::Left)?;
        for (row, story) in stories.iter().enumerate() {
            let top = HEAD + (CHART.1 + GAP.1) * row as i32;
            if column == 0 {
                let name = (24, top + CHART.1 / 2);
                text(&page, story.way.name(), name, 15, INK, HPos::Left)?;
            }
            chart(&page, story, (left, top), last)?;
        }
    }
    page.present()?;
    Ok(())
}

fn chart(page: &Area, story: &Story, (left, top): (i32, i32), last: Duration) -> Drawn {
    let calls = story.load.calls.len().max(1);
    let (right, bottom) = (left + CHART.0, top + CHART.1);
    let share = |time: Duration| time.as_secs_f64() / last.as_secs_f64().max(f64::MIN_POSITIVE);
    let x = |time: Duration| left + (share(time) * f64::from(CHART.0)) as i32;
    let y = |count: usize| bottom - (CHART.1 as usize * count / calls) as i32;

    line(page, (left, bottom), (right, bottom), GRID, 1)?;
    line(page, (left, top), (right, top), GRID, 1)?;
    for count in [0, calls] {
        let at = (left - 6, y(count));
        text(page, &count.to_string(), at, 11, FAINT, HPos::Right)?;
    }
    for second in 0..=last.as_secs() {
        let at = x(Duration::from_secs(second));
        line(page, (at, bottom), (at, bottom + 4), FAINT, 1)?;
        let words = format!("{second} s");
        text(page, &words, (at, bottom + 13), 11, FAINT, HPos::Center)?;
    }
    for from in (top..bottom).step_by(8) {
        line(page, (x(AFTER), from), (x(AFTER), from + 4), FAINT, 1)?;
    }
    for (is_served, colour) in [(false, VERMILLION), (true, GREEN)] {
        let mut ends: Vec<_> = story.load.calls.iter().collect();
        ends.retain(|call| call.outcome.is_ok() == is_served);
        if ends.is_empty() {
            continue;
        }
        ends.sort_by_key(|call| call.ended);
        let mut points = vec![(left, bottom)];
        for (before, call) in ends.iter().enumerate() {
            points.push((x(call.ended), y(before)));
            points.push((x(call.ended), y(before + 1)));
        }
        points.push((right, y(ends.len())));
        page.draw(&PathElement::new(points, colour.stroke_width(2)))?;
    }
    let summary = format!(
        "{} of {calls} served, worst gap {} ms",
        story.load.served(),
        story.load.worst_gap().as_millis()
    );
    let colour = if story.load.served() == calls {
        GREEN
    } else {
        INK
    };
    text(page, &summary, (left, bottom + 30), 13, colour, HPos::Left)
}
