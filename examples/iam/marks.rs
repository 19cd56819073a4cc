//! What the marks of the picture look like, and its legend.

use examples::drawing::{
    Area, Drawn, GREEN, INK, ORANGE, PURPLE, SKY, VERMILLION, fill, line, text,
};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::record::{Ending, Kind, Outcome, Story};

/// The line between two calls of a writer.
pub(crate) const WAIT: RGBColor = RGBColor(170, 170, 170);
/// Letters for a phone.
pub(crate) const SMALL: i32 = 18;
/// The height of a writer's row.
pub(crate) const ROW: i32 = 13;
/// The size of a shape.
const SIZE: i32 = 3;

pub(crate) fn words(ending: Ending) -> &'static str {
    match ending {
        Ending::Arrived => "arrived",
        Ending::Lost => "returned Ok, but lost",
        Ending::GaveUp => "gave up",
        Ending::Misled => "arrived, but returned an error",
    }
}

pub(crate) fn colour(kind: Kind, outcome: Outcome) -> RGBColor {
    match (outcome, kind) {
        (Outcome::Done, Kind::Read) => SKY,
        (Outcome::Done, Kind::Write) => GREEN,
        (Outcome::Conflict, _) => VERMILLION,
        (Outcome::Throttled, _) => ORANGE,
        (Outcome::Failed, _) => PURPLE,
    }
}

/// Half the height of a bar: a read is low, a write high.
pub(crate) fn half(kind: Kind) -> i32 {
    match kind {
        Kind::Read => ROW / 5,
        Kind::Write => ROW * 2 / 5,
    }
}

/// The shape of a call that failed, to the right of its bar.
pub(crate) fn shape(area: &Area, (bar, y): (i32, i32), outcome: Outcome) -> Drawn {
    let x = bar + SIZE + 1;
    match outcome {
        Outcome::Done => {}
        Outcome::Conflict => {
            area.draw(&Cross::new((x, y), SIZE, VERMILLION.stroke_width(2)))?;
        }
        Outcome::Throttled => {
            area.draw(&TriangleMarker::new((x, y), SIZE + 1, ORANGE.filled()))?;
        }
        Outcome::Failed => {
            let reach = SIZE + 1;
            let ends = [(0, -reach), (reach, 0), (0, reach), (-reach, 0)];
            let diamond = ends.map(|end| (x + end.0, y + end.1));
            area.draw(&Polygon::new(diamond, PURPLE.filled()))?;
        }
    }
    Ok(())
}

pub(crate) fn end_mark(area: &Area, (x, y): (i32, i32), ending: Ending) -> Drawn {
    match ending {
        Ending::Arrived => area.draw(&Circle::new((x, y), SIZE, GREEN.filled()))?,
        Ending::Misled => area.draw(&Circle::new((x, y), SIZE, GREEN.stroke_width(2)))?,
        Ending::GaveUp => fill(area, (x - SIZE, y - SIZE), (x + SIZE, y + SIZE), INK)?,
        Ending::Lost => area.draw(&TriangleMarker::new((x, y), SIZE + 1, VERMILLION.filled()))?,
    }
    Ok(())
}

/// The calls, and in a new line how a writer ends. Only what is drawn.
pub(crate) fn legend<'a>(
    area: &Area,
    top: i32,
    width: i32,
    stories: impl Iterator<Item = &'a Story> + Clone,
) -> Drawn {
    let has_call = |outcome| stories.clone().any(|story| story.answered(outcome) > 0);
    let has_end = |ending| stories.clone().any(|story| story.ended(ending) > 0);
    const LINE: i32 = 30;
    const LEFT: i32 = 24;
    let calls = [
        ("read", Kind::Read, Outcome::Done),
        ("write", Kind::Write, Outcome::Done),
        ("conflict (409)", Kind::Write, Outcome::Conflict),
        ("throttled (429)", Kind::Write, Outcome::Throttled),
        ("failed (5xx, reset)", Kind::Write, Outcome::Failed),
    ];
    let (mut x, mut y) = (LEFT, top);
    for (name, kind, outcome) in calls.into_iter().filter(|call| has_call(call.2)) {
        if x + room(name) > width {
            (x, y) = (LEFT, y + LINE);
        }
        let half = half(kind);
        let colour = colour(kind, outcome);
        fill(area, (x, y - half), (x + 12, y + half), colour)?;
        shape(area, (x + 12, y), outcome)?;
        x = named(area, name, (x, y))?;
    }
    line(area, (x, y), (x + 20, y), WAIT, 2)?;
    named(area, "waiting", (x, y))?;

    (x, y) = (LEFT, y + LINE);
    for ending in Ending::ALL.into_iter().filter(|ending| has_end(*ending)) {
        end_mark(area, (x + 8, y), ending)?;
        x = named(area, words(ending), (x, y))?;
    }
    Ok(())
}

/// The width of an entry of the legend, guessed from the letters: an SVG brings no fonts to measure with.
fn room(name: &str) -> i32 {
    50 + 8 * name.chars().count() as i32
}

/// Writes the name of an entry of the legend, and says where the next one begins.
fn named(
    area: &Area,
    name: &str,
    (x, y): (i32, i32),
) -> Result<i32, Box<dyn std::error::Error + Send + Sync>> {
    text(area, name, (x + 28, y), SMALL, INK, HPos::Left)?;
    Ok(x + room(name))
}
