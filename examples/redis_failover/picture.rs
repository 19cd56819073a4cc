//! A line of served and one of failed calls for each way through each event.

use std::time::Duration;

use examples::drawing::{
    Area, Drawn, FAINT, GREEN, GRID, INK, PAGE, SMALL, VERMILLION, adapting, line, text,
};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::event::NOTICED_AFTER;
use crate::{AFTER, Story, Way};

const WIDTH: i32 = PAGE;
const LEFT: i32 = 54;
/// The title, the legend, and the names of the events.
const HEAD: i32 = 176;
const CHART: (i32, i32) = (164, 96);
/// Between two charts side by side.
const GAP: i32 = 30;
/// A row: the name of a way, its charts, their axes of time, and two lines of words.
const NAME: i32 = 30;
const ROW: i32 = NAME + CHART.1 + 90;
const HEIGHT: i32 = HEAD + ROW * Way::ALL.len() as i32;

/// Draws the stories, which come event by event. Gives the text of the SVG.
pub(crate) fn draw(stories: &[Story]) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let mut svg = String::new();
    {
        let size = (WIDTH as u32, HEIGHT as u32);
        let page = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        page.fill(&WHITE)?;
        let calls = stories.first().map_or(0, |story| story.load.calls.len());
        let title = format!("{calls} calls of INCR to a Redis that fails over");
        text(&page, &title, (20, 28), 24, INK, HPos::Left)?;
        let noticed = NOTICED_AFTER.as_millis();
        let circumstances = [
            "A call begins every 20 ms. All calls go to one address, which does not change;",
            &format!("{noticed} ms after the event the address leads to the new primary."),
        ];
        for (row, words) in circumstances.into_iter().enumerate() {
            let at = (20, 58 + 20 * row as i32);
            text(&page, words, at, SMALL, FAINT, HPos::Left)?;
        }
        legend(&page)?;

        let ended = stories.iter().flat_map(|story| &story.load.calls);
        let last = ended.map(|call| call.ended).max().unwrap_or_default();
        for (column, stories) in stories.chunks(Way::ALL.len()).enumerate() {
            let left = LEFT + (CHART.0 + GAP) * column as i32;
            let event = stories.first().map_or("", |story| story.happening.name());
            for (row, words) in event.split(", ").enumerate() {
                let at = (left, HEAD - 32 + 19 * row as i32);
                text(&page, words, at, SMALL, INK, HPos::Left)?;
            }
            for (row, story) in stories.iter().enumerate() {
                let top = HEAD + ROW * row as i32;
                if column == 0 {
                    text(&page, story.way.name(), (20, top + 10), 16, INK, HPos::Left)?;
                }
                chart(&page, story, (left, top + NAME), last, column == 0)?;
            }
        }
        page.present()?;
    }
    Ok(adapting(&svg))
}

fn legend(page: &Area) -> Drawn {
    let y = 108;
    let words = |words, x| text(page, words, (x, y), SMALL, INK, HPos::Left);
    line(page, (20, y), (44, y), GREEN, 2)?;
    words("calls served so far", 52)?;
    line(page, (212, y), (236, y), VERMILLION, 2)?;
    words("calls failed so far", 244)?;
    dashes(page, 410, (y - 10, y + 10))?;
    words("the event", 420)
}

/// A dashed line from the top to the bottom.
fn dashes(page: &Area, x: i32, (top, bottom): (i32, i32)) -> Drawn {
    for from in (top..bottom).step_by(8) {
        line(page, (x, from), (x, from + 4), FAINT, 1)?;
    }
    Ok(())
}

fn chart(
    page: &Area,
    story: &Story,
    (left, top): (i32, i32),
    last: Duration,
    is_first: bool,
) -> Drawn {
    let calls = story.load.calls.len().max(1);
    let (right, bottom) = (left + CHART.0, top + CHART.1);
    let share = |time: Duration| time.as_secs_f64() / last.as_secs_f64().max(f64::MIN_POSITIVE);
    let x = |time: Duration| left + (share(time) * f64::from(CHART.0)) as i32;
    let y = |count: usize| bottom - (CHART.1 as usize * count / calls) as i32;

    line(page, (left, bottom), (right, bottom), GRID, 1)?;
    line(page, (left, top), (right, top), GRID, 1)?;
    if is_first {
        for count in [0, calls] {
            let at = (left - 8, y(count));
            text(page, &count.to_string(), at, SMALL, FAINT, HPos::Right)?;
        }
    }
    // Only as many seconds are named as have room.
    let every = 40 * last.as_secs() as usize / CHART.0 as usize + 1;
    for second in (0..=last.as_secs()).step_by(every) {
        let at = x(Duration::from_secs(second));
        line(page, (at, bottom), (at, bottom + 4), FAINT, 1)?;
        let words = format!("{second} s");
        text(page, &words, (at, bottom + 15), SMALL, FAINT, HPos::Center)?;
    }
    dashes(page, x(AFTER), (top, bottom))?;
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
    let served = story.load.served();
    let colour = if served == calls { GREEN } else { INK };
    let summary = [
        format!("{served} of {calls} served"),
        format!("worst gap {} ms", story.load.worst_gap().as_millis()),
    ];
    for (row, words) in summary.iter().enumerate() {
        let at = (left, bottom + 38 + 19 * row as i32);
        text(page, words, at, SMALL, colour, HPos::Left)?;
    }
    Ok(())
}
