//! Ways as pictures: a panel for each way, a row for each writer, time to the right. One picture has all six ways, one
//! the two that differ most, in letters for a phone.

use std::time::Duration;

use examples::drawing::{Area, BAND, Drawn, FAINT, GRID, INK, Picture, fill, line, page, text};
use plotters::style::{RGBColor, text_anchor::HPos};

use crate::marks::{SMALL, WAIT, colour, end_mark, half, legend, shape, words};
use crate::record::{Call, Ending, Outcome, Story};
use crate::runs::Runs;

const WIDTH: i32 = 1000;
const HEAD: i32 = 190;
/// Above a panel's axes: the way, and how it ended.
const HEADLINE: i32 = 64;
const AXIS: i32 = 32;
const GAP: i32 = 14;
/// Rows lower than this have no names.
const NAMED_ROW: i32 = 20;
/// No tick closer to the next than this.
const TICK_ROOM: i32 = 72;
/// Room at the end of the axis for the last call's bar and shape.
const LAST_MARK: i32 = 16;
/// A call is never drawn narrower than this.
const THINNEST: i32 = 3;

const ROWS: &str = "A row is a writer. A bar through several rows is one call for all of them.";
const SCALE: &str = "Time runs to the right, by its square root.";

/// Draws all ways under one title; gives the text of the SVG.
pub(crate) fn draw(ways: &[Runs], title: &str, circumstances: &str) -> Picture {
    let stories = || ways.iter().map(Runs::drawn);
    let writers = stories().map(Story::writers).max().unwrap_or(0) as i32;
    let row = row_height(writers);
    let panel = HEADLINE + row * writers + AXIS + GAP;
    let height = HEAD + panel * ways.len() as i32;
    let end = stories().map(|story| story.took).max();
    let scale = Scale::up_to(end.unwrap_or_default(), row, WIDTH);

    page((WIDTH, height), |page| {
        text(page, title, (24, 28), 26, INK, HPos::Left)?;
        text(page, circumstances, (24, 62), SMALL, FAINT, HPos::Left)?;
        let rows = format!("{ROWS} {SCALE}");
        text(page, &rows, (24, 88), SMALL, FAINT, HPos::Left)?;
        legend(page, 122, WIDTH, stories())?;
        for (way, runs) in ways.iter().enumerate() {
            let top = HEAD + panel * way as i32;
            let area = page.clone().shrink((0, top), (WIDTH as u32, panel as u32));
            let scale = &scale;
            let headline = format!("{} · {}", way + 1, runs.drawn().title);
            Panel { area, row, scale }.draw(&headline, &ended(runs), runs.drawn())?;
        }
        Ok(())
    })
}

/// Draws the drawn runs of two ways. The titles are what the runs show.
pub(crate) fn draw_two(ways: [(&Runs, &str); 2], circumstances: &[&str]) -> Picture {
    const WIDTH: i32 = 480;
    const HEAD: i32 = 248;
    const ROW: i32 = 13;
    let stories = || ways.iter().map(|(runs, _)| runs.drawn());
    let arrived = |story: &Story| format!("{} of {}", story.arrived(), story.writers());
    let [one, other] = ways.map(|(runs, _)| arrived(runs.drawn()));
    let writers = stories().map(Story::writers).max().unwrap_or(0) as i32;
    let panel = HEADLINE + ROW * writers + AXIS + GAP;
    page((WIDTH, HEAD + 2 * panel), |page| {
        let title = format!("Retry the whole function: {other}, not {one}");
        text(page, &title, (24, 28), 24, INK, HPos::Left)?;
        for (y, words) in (60..).step_by(24).zip(circumstances) {
            text(page, words, (24, y), SMALL, FAINT, HPos::Left)?;
        }
        legend(page, 148, WIDTH, stories())?;
        for (top, (runs, headline)) in (HEAD..).step_by(panel as usize).zip(ways) {
            let story = runs.drawn();
            let area = page.clone().shrink((0, top), (WIDTH as u32, panel as u32));
            let scale = &Scale::up_to(story.took, ROW, WIDTH);
            let words = format!("{} arrived", arrived(story));
            Panel {
                area,
                row: ROW,
                scale,
            }
            .draw(headline, &words, story)?;
        }
        Ok(())
    })
}

/// Few writers get high rows; many share about a third of a screen, down to two pixels each.
fn row_height(writers: i32) -> i32 {
    (176 / writers.max(1)).clamp(2, 22)
}

/// From time to place. Backoff doubles its waits, so the first attempts would all be one blot on
/// an even axis; by the square root they are apart, and there is room for the last ones.
struct Scale {
    end: f64,
    left: i32,
    right: i32,
}

impl Scale {
    /// Rows that have names need room for them.
    fn up_to(end: Duration, row: i32, width: i32) -> Self {
        let (left, right) = match row {
            NAMED_ROW.. => (116, width - 210),
            _ => (40, width - 60),
        };
        Self {
            end: end.as_secs_f64().max(1e-3),
            left,
            right,
        }
    }

    fn x(&self, time: Duration) -> i32 {
        let share = (time.as_secs_f64() / self.end).min(1.0).sqrt();
        self.left + (f64::from(self.right - LAST_MARK - self.left) * share).round() as i32
    }

    /// Round times that leave room for one another: 1, 2 and 5 of each decade first, then the
    /// other digits where space is left.
    fn ticks(&self) -> Vec<Duration> {
        let mut ticks = vec![Duration::ZERO];
        for digits in [&[1, 2, 5][..], &[3, 4, 6, 7, 8, 9]] {
            for unit in (0..7).map(|decade| 10_u64.pow(decade)) {
                for digit in digits {
                    let tick = Duration::from_millis(digit * unit);
                    let free = ticks
                        .iter()
                        .all(|&other| (self.x(other) - self.x(tick)).abs() >= TICK_ROOM);
                    if tick.as_secs_f64() <= self.end && free {
                        ticks.push(tick);
                    }
                }
            }
        }
        ticks
    }
}

struct Panel<'a, 'svg> {
    area: Area<'svg>,
    row: i32,
    scale: &'a Scale,
}

impl Panel<'_, '_> {
    fn draw(&self, headline: &str, words: &str, story: &Story) -> Drawn {
        text(&self.area, headline, (24, 16), 20, INK, HPos::Left)?;
        self.words(words, (24, 42), INK, HPos::Left)?;
        for writer in (0..story.writers()).step_by(2) {
            let (top, bottom) = (self.top(writer), self.top(writer + 1));
            self.bar((self.scale.left, self.scale.right), (top, bottom), BAND)?;
        }
        self.axis(self.top(story.writers()))?;
        for (writer, &ending) in story.endings.iter().enumerate() {
            self.writer(writer, &story.calls_of(writer), ending)?;
        }
        Ok(())
    }

    fn top(&self, writer: usize) -> i32 {
        HEADLINE + self.row * writer as i32
    }

    fn words(&self, words: &str, at: (i32, i32), colour: RGBColor, side: HPos) -> Drawn {
        text(&self.area, words, at, SMALL, colour, side)
    }

    fn bar(&self, x: (i32, i32), y: (i32, i32), colour: RGBColor) -> Drawn {
        fill(&self.area, (x.0, y.0), (x.1, y.1), colour)
    }

    fn axis(&self, bottom: i32) -> Drawn {
        for tick in self.scale.ticks() {
            let x = self.scale.x(tick);
            line(&self.area, (x, HEADLINE), (x, bottom + 4), GRID, 1)?;
            self.words(&label(tick), (x, bottom + 16), FAINT, HPos::Center)?;
        }
        let (left, right) = (self.scale.left, self.scale.right);
        line(&self.area, (left, bottom), (right, bottom), FAINT, 1)
    }

    fn writer(&self, writer: usize, calls: &[Call], ending: Ending) -> Drawn {
        let (top, bottom) = (self.top(writer), self.top(writer + 1));
        let y = top + self.row / 2;
        if self.row >= NAMED_ROW {
            let name = format!("writer {:02}", writer + 1);
            let (before, after) = (self.scale.left - 10, self.scale.right + 40);
            self.words(&name, (before, y), FAINT, HPos::Right)?;
            self.words(words(ending), (after, y), INK, HPos::Left)?;
        }
        for (from, to) in Story::waits_of(calls) {
            let (from, to) = (self.scale.x(from), self.scale.x(to));
            line(&self.area, (from, y), (to, y), WAIT, 1)?;
        }
        let sides = |call: &Call| {
            let left = self.scale.x(call.start);
            (left, self.scale.x(call.end).max(left + THINNEST))
        };
        for call in calls {
            let half = half(call.kind, self.row);
            let ends = match call.writer {
                Some(_) => (y - half, y + half),
                None => (top, bottom),
            };
            self.bar(sides(call), ends, colour(call.kind, call.outcome))?;
        }
        // All shapes above all bars: a shape must not vanish under the next call.
        for call in calls {
            let right = sides(call).1;
            shape(&self.area, (right, y), self.row, call.outcome)?;
        }
        end_mark(&self.area, (self.scale.right + 26, y), self.row, ending)
    }
}

/// How all runs of a way ended, and the one that is drawn.
fn ended(runs: &Runs) -> String {
    let conflicts = runs.mean(|story| story.answered(Outcome::Conflict));
    let calls = runs.mean(|story| story.calls.len());
    let means = format!(
        "{} of {} arrived, {}, {}, {:.2} s",
        runs.mean(Story::arrived),
        runs.drawn().writers(),
        count(&conflicts, "conflict"),
        count(&calls, "call"),
        runs.seconds(),
    );
    match runs.number() {
        1 => means,
        number => format!(
            "Mean of {number} runs: {means}. In the drawn run {} arrived.",
            runs.drawn().arrived()
        ),
    }
}

fn count(number: &str, of: &str) -> String {
    format!("{number} {of}{}", if number == "1" { "" } else { "s" })
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
    use crate::record::Kind;

    const MS: Duration = Duration::from_millis(1);

    fn story(writers: usize) -> Story {
        let calls = vec![
            Call::of(Kind::Read, Outcome::Done, 0),
            Call::of(Kind::Write, Outcome::Conflict, 6),
            Call::of(Kind::Read, Outcome::Throttled, 40),
            Call::of(Kind::Read, Outcome::Failed, 90),
        ];
        let story = Story::of("a way", &vec![Ending::GaveUp; writers], 3000);
        Story { calls, ..story }
    }

    #[test]
    fn says_what_happened() {
        let svg = draw(&[Runs::of(story(8))], "The title", "The circumstances").unwrap();
        let line = "0 of 8 arrived, 1 conflict, 4 calls, 3.00 s";
        let all = "The title; The circumstances; waiting; writer 08; gave up; 2 s; 1 · a way\n";
        for words in all.split("; ").chain([line]) {
            assert!(svg.contains(words), "{words} is missing");
        }
    }

    #[test]
    fn says_what_is_a_mean() {
        let mut runs = Runs::of(story(8));
        let mut another = story(8);
        another.endings[0] = Ending::Arrived;
        runs.push(another);
        let svg = draw(&[runs], "", "").unwrap();
        assert!(svg.contains("Mean of 2 runs: 0.5 of 8 arrived, 1 conflict, 4 calls, 3.00 s."));
        assert!(svg.contains("In the drawn run 0 arrived."));
    }

    #[test]
    fn two_ways_say_what_they_show() {
        let two = [Ending::GaveUp, Ending::Arrived].map(|ending| {
            let endings = &[ending; 3];
            Runs::of(Story::of("a way", endings, 30))
        });
        let svg = draw_two([(&two[0], "one"), (&two[1], "other")], &["lines"]).unwrap();
        for words in [
            "whole function: 3 of 3, not 0 of 3",
            "lines",
            "one",
            "0 of 3 arrived",
        ] {
            assert!(svg.contains(words), "{words} is missing");
        }
    }

    #[test]
    fn draws_any_crowd() {
        for writers in [1, 8, 32, 1000] {
            draw(&[story(writers), story(writers)].map(Runs::of), "", "").unwrap();
        }
    }

    #[test]
    fn ticks_leave_room() {
        for end in [MS / 2, MS * 17, MS * 3000, MS * 300_000] {
            let scale = Scale::up_to(end, 10, WIDTH);
            let mut places: Vec<_> = scale.ticks().iter().map(|&tick| scale.x(tick)).collect();
            places.sort_unstable();
            assert!(places.len() < 30);
            assert!(
                places.windows(2).all(|pair| pair[1] - pair[0] >= TICK_ROOM),
                "{places:?}"
            );
        }
    }
}
