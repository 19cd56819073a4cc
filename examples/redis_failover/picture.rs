//! A line of served and one of failed calls for each way through each event.

use std::time::Duration;

use examples::drawing::{
    Area, Drawn, FAINT, GREEN, GRID, INK, Picture, SMALL, VERMILLION, line, picture, text,
};
use examples::panel::{Panel, line_legend, seconds};
use plotters::style::text_anchor::HPos;

use crate::event::NOTICED_AFTER;
use crate::{AFTER, Story, Way};

const LEFT: i32 = 54;
/// The title, the legend, and the names of the events.
const HEAD: i32 = 176;
const CHART: (i32, i32) = (164, 96);
/// From the left of a chart to the left of the next one.
const COLUMN: i32 = CHART.0 + 30;
/// The name of a way, its charts, their axes of time, and two lines of words.
const NAME: i32 = 30;
const ROW: i32 = NAME + CHART.1 + 90;

/// Draws the stories, which come event by event. Gives the text of the SVG.
pub(crate) fn draw(stories: &[Story]) -> Picture {
    let calls = stories.first().map_or(0, |story| story.load.calls.len());
    let title = format!("{calls} calls of INCR to a Redis that fails over");
    let noticed = NOTICED_AFTER.as_millis();
    let words = [
        "A call begins every 20 ms. All calls go to one address, which does not change;",
        &format!("{noticed} ms after the event the address leads to the new primary."),
    ];
    picture(HEAD + ROW * Way::ALL.len() as i32, &title, &words, |page| {
        let x = line_legend(page, (20, 108), GREEN, "calls served so far")?;
        let x = line_legend(page, (x, 108), VERMILLION, "calls failed so far")?;
        dashes(page, x, (98, 118))?;
        text(page, "the event", (x + 10, 108), SMALL, INK, HPos::Left)?;
        let last = stories.iter().map(|story| story.load.lasted()).max();
        let last = last.unwrap_or_default();
        for (column, stories) in (0..).zip(stories.chunks(Way::ALL.len())) {
            let left = LEFT + COLUMN * column;
            for (row, words) in (0..).zip(stories[0].happening.name().split(", ")) {
                let at = (left, HEAD - 32 + 19 * row);
                text(page, words, at, SMALL, INK, HPos::Left)?;
            }
            for (row, story) in (0..).zip(stories) {
                let top = HEAD + ROW * row + NAME;
                let panel = Panel {
                    page,
                    time: &seconds(last, (left, left + CHART.0)),
                    top,
                    bottom: top + CHART.1,
                };
                chart(&panel, story)?;
                if column == 0 {
                    let name = story.way.name();
                    text(page, name, (20, top - 20), 16, INK, HPos::Left)?;
                    panel.words(&calls.to_string(), (left - 8, top), FAINT, HPos::Right)?;
                    panel.words("0", (left - 8, panel.bottom), FAINT, HPos::Right)?;
                }
            }
        }
        Ok(())
    })
}

/// A dashed line from the top to the bottom.
fn dashes(page: &Area, x: i32, (top, bottom): (i32, i32)) -> Drawn {
    for from in (top..bottom).step_by(8) {
        line(page, (x, from), (x, from + 4), FAINT, 1)?;
    }
    Ok(())
}

fn chart(panel: &Panel, story: &Story) -> Drawn {
    let load = &story.load;
    let calls = load.calls.len();
    let (left, right) = panel.time.pixels();
    let y = |count: usize| panel.bottom - (CHART.1 as usize * count / calls) as i32;
    for y in [panel.top, panel.bottom] {
        line(panel.page, (left, y), (right, y), GRID, 1)?;
    }
    panel.seconds()?;
    dashes(panel.page, panel.x(AFTER), (panel.top, panel.bottom))?;
    for (is_served, colour) in [(false, VERMILLION), (true, GREEN)] {
        let ends = load.ends(is_served);
        if ends.is_empty() {
            continue;
        }
        let steps = (0..)
            .zip(&ends)
            .flat_map(|(n, end)| [(*end, y(n)), (*end, y(n + 1))]);
        let first = [(Duration::ZERO, y(0))].into_iter();
        let last = [(Duration::MAX, y(ends.len()))];
        panel.line(first.chain(steps).chain(last), colour, 2)?;
    }
    let colour = if load.served() == calls { GREEN } else { INK };
    let served = format!("{} of {calls} served", load.served());
    panel.words(&served, (left, panel.bottom + 38), colour, HPos::Left)?;
    let gap = format!("worst gap {} ms", load.worst_gap().as_millis());
    panel.words(&gap, (left, panel.bottom + 57), colour, HPos::Left)
}
