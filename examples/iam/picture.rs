//! Two ways as a picture: a panel for each way, a row for each writer, time to the right.

use std::time::Duration;

use examples::drawing::{Area, BAND, Drawn, FAINT, GRID, INK, Picture, fill, line, page, text};
use plotters::style::{RGBColor, text_anchor::HPos};

use crate::marks::{ROW, SMALL, WAIT, colour, end_mark, half, legend, shape};
use crate::record::{Call, Ending, Story};

const WIDTH: i32 = 480;
const HEAD: i32 = 248;
const LEFT: i32 = 40;
const RIGHT: i32 = WIDTH - 60;
/// Above a panel's axes: the way, and how it ended.
const HEADLINE: i32 = 64;
/// Below them: the times, and a gap.
const FOOT: i32 = 46;
/// No tick closer to the next than this.
const TICK_ROOM: i32 = 72;
/// Room at the end of the axis for the last call's bar and shape.
const LAST_MARK: i32 = 16;
/// A call is never drawn narrower than this.
const THINNEST: i32 = 3;

/// Draws two ways, with what they show. Gives the text of the SVG.
pub(crate) fn draw(ways: [(&Story, &str); 2], circumstances: &str) -> Picture {
    let arrived = |story: &Story| format!("{} of {}", story.arrived(), story.writers());
    let [one, other] = ways.map(|(story, _)| arrived(story));
    let panel = HEADLINE + ROW * ways[0].0.writers() as i32 + FOOT;
    page((WIDTH, HEAD + 2 * panel), |page| {
        let title = format!("Retry the whole function: {other}, not {one}");
        text(page, &title, (24, 28), 24, INK, HPos::Left)?;
        let words = [
            circumstances,
            "A row is a writer. Times are shortened a hundredfold; each",
            "panel has its own axis, drawn by the square root of the time.",
        ];
        for (y, words) in (60..).step_by(24).zip(words) {
            text(page, words, (24, y), SMALL, FAINT, HPos::Left)?;
        }
        legend(page, 148, WIDTH, ways.iter().map(|(story, _)| *story))?;
        for (top, (story, headline)) in (HEAD..).step_by(panel as usize).zip(ways) {
            let area = page.clone().shrink((0, top), (WIDTH as u32, panel as u32));
            text(&area, headline, (24, 16), 20, INK, HPos::Left)?;
            let words = format!("{} arrived", arrived(story));
            text(&area, &words, (24, 42), SMALL, INK, HPos::Left)?;
            let end = story.took.as_secs_f64().max(1e-3);
            Panel { area, end }.draw(story)?;
        }
        Ok(())
    })
}

struct Panel<'svg> {
    area: Area<'svg>,
    /// In seconds.
    end: f64,
}

impl Panel<'_> {
    fn draw(&self, story: &Story) -> Drawn {
        let top = |writer: usize| HEADLINE + ROW * writer as i32;
        for writer in (0..story.writers()).step_by(2) {
            self.bar((LEFT, RIGHT), (top(writer), top(writer + 1)), BAND)?;
        }
        let bottom = top(story.writers());
        for tick in self.ticks() {
            let x = self.x(tick);
            line(&self.area, (x, HEADLINE), (x, bottom + 4), GRID, 1)?;
            let under = (x, bottom + 16);
            text(&self.area, &label(tick), under, SMALL, FAINT, HPos::Center)?;
        }
        line(&self.area, (LEFT, bottom), (RIGHT, bottom), FAINT, 1)?;
        for (writer, &ending) in story.endings.iter().enumerate() {
            self.writer(top(writer) + ROW / 2, &story.calls_of(writer), ending)?;
        }
        Ok(())
    }

    /// Backoff doubles its waits, so the first attempts would all be one blot on an even axis; by the square root they
    /// are apart, and there is room for the last ones.
    fn x(&self, time: Duration) -> i32 {
        let share = (time.as_secs_f64() / self.end).min(1.0).sqrt();
        LEFT + (f64::from(RIGHT - LAST_MARK - LEFT) * share).round() as i32
    }

    /// Round times that leave room for one another.
    fn ticks(&self) -> Vec<Duration> {
        let mut ticks = vec![Duration::ZERO];
        for unit in (0..7).map(|decade| 10_u64.pow(decade)) {
            for tick in [1, 2, 5].map(|digit| Duration::from_millis(digit * unit)) {
                let last = self.x(ticks[ticks.len() - 1]);
                if tick.as_secs_f64() <= self.end && self.x(tick) - last >= TICK_ROOM {
                    ticks.push(tick);
                }
            }
        }
        ticks
    }

    fn bar(&self, x: (i32, i32), y: (i32, i32), colour: RGBColor) -> Drawn {
        fill(&self.area, (x.0, y.0), (x.1, y.1), colour)
    }

    fn writer(&self, y: i32, calls: &[Call], ending: Ending) -> Drawn {
        for (from, to) in Story::waits_of(calls) {
            line(&self.area, (self.x(from), y), (self.x(to), y), WAIT, 1)?;
        }
        let sides = |call: &Call| {
            let left = self.x(call.start);
            (left, self.x(call.end).max(left + THINNEST))
        };
        for call in calls {
            let half = half(call.kind);
            self.bar(
                sides(call),
                (y - half, y + half),
                colour(call.kind, call.outcome),
            )?;
        }
        // All shapes above all bars: a shape must not vanish under the next call.
        for call in calls {
            shape(&self.area, (sides(call).1, y), call.outcome)?;
        }
        end_mark(&self.area, (RIGHT + 26, y), ending)
    }
}

fn label(tick: Duration) -> String {
    match tick.as_millis() {
        0 => "0".to_owned(),
        ms if ms < 1000 => format!("{ms} ms"),
        ms => format!("{} s", ms / 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Kind, Outcome};

    fn story(writers: usize, ending: Ending) -> Story {
        let calls = vec![
            Call::of(Kind::Read, Outcome::Done, 0),
            Call::of(Kind::Write, Outcome::Conflict, 6),
            Call::of(Kind::Read, Outcome::Throttled, 40),
            Call::of(Kind::Read, Outcome::Failed, 90),
        ];
        let story = Story::of("a way", &vec![ending; writers], 3000);
        Story { calls, ..story }
    }

    #[test]
    fn says_what_happened_to_any_crowd() {
        for writers in [1, 3, 1000] {
            let [one, other] = [Ending::GaveUp, Ending::Arrived].map(|it| story(writers, it));
            let svg = draw([(&one, "one"), (&other, "other")], "lines").unwrap();
            let title = format!("whole function: {writers} of {writers}, not 0 of {writers}");
            for words in [&title, "lines", "one", "waiting", "gave up", "2 s"] {
                assert!(svg.contains(words), "{words} is missing");
            }
        }
    }
}
