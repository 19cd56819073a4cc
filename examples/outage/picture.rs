//! Attempts, calls and the budget over time, as a scraper read them.

use std::time::Duration;

use examples::axis::{Axis, Range, Scale};
use examples::drawing::{
    Area, BLUE, BROWN, Drawn, FAINT, GREEN, GRID, INK, ORANGE, PAGE, PURPLE, SHADE, SKY, SMALL,
    VERMILLION, adapting, fill, line, text,
};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::Error;
use crate::scrape::{self, Scrape};
use crate::service::{PHASES, Phase};

const WIDTH: i32 = PAGE;
const LEFT: i32 = 56;
const RIGHT: i32 = WIDTH - 20;
const HEAD: i32 = 96;
/// Above the axes of a panel: its title, its legend, and the names of the phases.
const TITLE: i32 = 78;
const PLOT: i32 = 170;
const GAP: i32 = 22;
const PANEL: i32 = TITLE + PLOT + GAP;
const FOOT: i32 = 30;

/// The colour of a share, its name in the legend, and the value of the label.
type Share = (RGBColor, &'static str, &'static str);

/// By `error.type`, which an attempt that succeeded has not.
const ATTEMPTS: [Share; 7] = [
    (GREEN, "succeeded", ""),
    (FAINT, "404", "404"),
    (ORANGE, "429", "429"),
    (VERMILLION, "503", "503"),
    (PURPLE, "timeout", "timeout"),
    (BLUE, "not_sent (refused)", "not_sent"),
    (BROWN, "maybe_sent (cut off)", "maybe_sent"),
];

/// By `retry.outcome`.
const CALLS: [Share; 4] = [
    same(GREEN, "successful_without_retry"),
    same(SKY, "successful_with_retry"),
    same(ORANGE, "failed_without_retry"),
    same(VERMILLION, "failed_with_retry"),
];

/// Whether the picture shows the attempts of this `error.type`.
pub(crate) fn shows(error_type: &str) -> bool {
    ATTEMPTS.iter().any(|(.., value)| *value == error_type)
}

const fn same(colour: RGBColor, label: &'static str) -> Share {
    (colour, label, label)
}

/// Gives the text of the SVG.
pub(crate) fn draw(scrapes: &[Scrape]) -> Result<String, Error> {
    let height = HEAD + 3 * PANEL + FOOT;
    let mut svg = String::new();
    {
        let page =
            SVGBackend::with_string(&mut svg, (WIDTH as u32, height as u32)).into_drawing_area();
        page.fill(&WHITE)?;
        let title = "One outage as an operator sees it";
        text(&page, title, (20, 26), 24, INK, HPos::Left)?;
        let every = scrape::EVERY.as_millis();
        let subtitles = [
            &format!(
                "Read from /metrics every {every} ms. Shaded: the outage. The service throttles;"
            ),
            "then it fails, and some requests hang; then it is down; then it recovers.",
        ];
        for (row, subtitle) in subtitles.into_iter().enumerate() {
            let at = (20, 56 + 20 * row as i32);
            text(&page, subtitle, at, SMALL, FAINT, HPos::Left)?;
        }
        // `Range` adds some room, which time does not need.
        let last = scrapes.last().map_or(0.0, |scrape| scrape.at.as_secs_f64()) / 1.04;
        let seconds = Axis::new("s", Scale::Linear);
        let time = Range::new(seconds, [last].into_iter(), (LEFT, RIGHT));
        let panel = |index: i32| Panel {
            page: &page,
            time: &time,
            top: HEAD + TITLE + index * PANEL,
        };
        panel(0).attempts(scrapes)?;
        panel(1).calls(scrapes)?;
        panel(2).budget(scrapes)?;
        panel(2).seconds()?;
        page.present()?;
    }
    Ok(adapting(&svg))
}

struct Panel<'a, 'svg> {
    page: &'a Area<'svg>,
    time: &'a Range,
    /// Where its axes begin.
    top: i32,
}

impl Panel<'_, '_> {
    fn attempts(&self, scrapes: &[Scrape]) -> Drawn {
        let bars = Bars::of(
            scrapes,
            &ATTEMPTS,
            "retry_attempt_duration_seconds_count",
            "error_type",
        );
        let begun = begun(scrapes);
        let most = bars.highest().chain(begun.iter().map(|point| point.1));
        let rates = self.begin("Attempts ended, per second, by error.type", most)?;
        self.stack(&bars, &rates, &ATTEMPTS)?;
        let points = begun.into_iter();
        self.line(points.map(|(at, rate)| (at, rates.at(rate))), INK, 2)?;
        let (x, y) = (RIGHT - 110, self.top - 64);
        line(self.page, (x, y), (x + 18, y), INK, 2)?;
        self.words("calls begun", (x + 24, y), INK, HPos::Left)
    }

    fn calls(&self, scrapes: &[Scrape]) -> Drawn {
        let bars = Bars::of(
            scrapes,
            &CALLS,
            "retry_call_duration_seconds_count",
            "retry_outcome",
        );
        let rates = self.begin(
            "Calls ended, per second, by retry.outcome; a call that waits has not ended",
            bars.highest(),
        )?;
        self.stack(&bars, &rates, &CALLS)
    }

    fn budget(&self, scrapes: &[Scrape]) -> Drawn {
        let name = "retry_budget_level";
        // Before the first call has ended there is no level on the page.
        let levels: Vec<_> = scrapes
            .iter()
            .filter(|scrape| scrape.page.series(name).next().is_some())
            .map(|scrape| (scrape.at, scrape.page.sum(name)))
            .collect();
        let most = levels.iter().map(|level| level.1);
        let tokens = self.begin("Tokens left in the budget, retry.budget.level", most)?;
        let rules = "A retry takes 14, after throttling 5. Below that: no retries. A success gives back 1, or \
                     what its last retry took.";
        self.words(rules, (LEFT, self.top - 38), FAINT, HPos::Left)?;
        let levels = levels.into_iter();
        self.line(levels.map(|(at, level)| (at, tokens.at(level))), BLUE, 3)
    }

    /// Draws the title, the shade, the phases and the axis of values, from zero to the greatest.
    fn begin(&self, title: &str, values: impl Iterator<Item = f64>) -> Result<Range, Error> {
        text(self.page, title, (LEFT, self.top - 64), 18, INK, HPos::Left)?;
        for (phase, from, to) in phases() {
            let (from, to) = (self.x(from), self.x(to).min(RIGHT));
            let mut colour = FAINT;
            if phase.is_outage {
                fill(self.page, (from, self.top - 20), (to, self.bottom()), SHADE)?;
                line(
                    self.page,
                    (from, self.top - 20),
                    (from, self.bottom()),
                    GRID,
                    1,
                )?;
                line(self.page, (to, self.top - 20), (to, self.bottom()), GRID, 1)?;
                colour = INK;
            }
            let middle = ((from + to) / 2, self.top - 10);
            self.words(phase.name, middle, colour, HPos::Center)?;
        }
        let axis = Axis::new("", Scale::Linear);
        let range = Range::new(axis, values, (self.bottom(), self.top));
        for (value, label) in range.ticks(28) {
            let y = range.at(value);
            line(self.page, (LEFT, y), (RIGHT, y), GRID, 1)?;
            self.words(&label, (LEFT - 8, y), FAINT, HPos::Right)?;
        }
        Ok(range)
    }

    /// Bars of shares, one on the other in the order of the legend, and the legend.
    fn stack<const N: usize>(&self, bars: &Bars<N>, rates: &Range, shares: &[Share; N]) -> Drawn {
        for bar in &bars.0 {
            let (left, right) = (self.x(bar.from) + 1, self.x(bar.to));
            let mut below = 0.0;
            for (rate, share) in bar.rates.iter().zip(shares) {
                let (from, to) = (rates.at(below + rate), rates.at(below));
                if from < to {
                    fill(self.page, (left, from), (right, to), share.0)?;
                }
                below += rate;
            }
        }
        let (mut x, y) = (LEFT, self.top - 38);
        for (colour, name, _) in shares {
            fill(self.page, (x, y - 6), (x + 12, y + 6), *colour)?;
            self.words(name, (x + 18, y), INK, HPos::Left)?;
            // The width of a name is guessed: an SVG brings no fonts to measure with.
            x += 18 + 7 * name.len() as i32 + 12;
        }
        Ok(())
    }

    fn line(
        &self,
        points: impl Iterator<Item = (Duration, i32)>,
        colour: RGBColor,
        width: u32,
    ) -> Drawn {
        let points: Vec<_> = points.map(|(at, y)| (self.x(at), y)).collect();
        let style = colour.stroke_width(width);
        Ok(self.page.draw(&PathElement::new(points, style))?)
    }

    /// The axis of time, below.
    fn seconds(&self) -> Drawn {
        let bottom = self.bottom();
        for (second, label) in self.time.ticks(60) {
            let x = self.time.at(second);
            line(self.page, (x, bottom), (x, bottom + 5), FAINT, 1)?;
            let label = format!("{label} s");
            self.words(&label, (x, bottom + 18), FAINT, HPos::Center)?;
        }
        Ok(())
    }

    fn words(&self, words: &str, at: (i32, i32), colour: RGBColor, side: HPos) -> Drawn {
        text(self.page, words, at, SMALL, colour, side)
    }

    fn bottom(&self) -> i32 {
        self.top + PLOT
    }

    fn x(&self, at: Duration) -> i32 {
        self.time.at(at.as_secs_f64())
    }
}

/// Each phase, when it begins, and when it ends.
fn phases() -> impl Iterator<Item = (&'static Phase, Duration, Duration)> {
    PHASES.iter().scan(Duration::ZERO, |begins, phase| {
        let from = *begins;
        *begins += phase.lasts;
        Some((phase, from, *begins))
    })
}

/// Rates between each page and the next.
struct Bars<const N: usize>(Vec<Bar<N>>);

struct Bar<const N: usize> {
    from: Duration,
    to: Duration,
    rates: [f64; N],
}

impl<const N: usize> Bars<N> {
    /// Of a count, by a label.
    fn of(scrapes: &[Scrape], shares: &[Share; N], name: &str, label: &str) -> Self {
        let counts = |scrape: &Scrape| {
            let sums = scrape.page.sum_by(name, label);
            shares.map(|(_, _, value)| sums.get(value).copied().unwrap_or_default())
        };
        let bars = scrapes.windows(2).map(|pair| {
            let (before, after) = (counts(&pair[0]), counts(&pair[1]));
            let seconds = (pair[1].at - pair[0].at).as_secs_f64();
            Bar {
                from: pair[0].at,
                to: pair[1].at,
                rates: std::array::from_fn(|share| (after[share] - before[share]) / seconds),
            }
        });
        Bars(bars.collect())
    }

    /// How high each bar is.
    fn highest(&self) -> impl Iterator<Item = f64> {
        self.0.iter().map(|bar| bar.rates.iter().sum())
    }
}

/// How many calls a second were begun, as steps of a second.
fn begun(scrapes: &[Scrape]) -> Vec<(Duration, f64)> {
    const SECOND: usize = (1_000 / scrape::EVERY.as_millis()) as usize;
    let ends: Vec<_> = scrapes.iter().step_by(SECOND).collect();
    let steps = ends.windows(2).flat_map(|pair| {
        let seconds = (pair[1].at - pair[0].at).as_secs_f64();
        let rate = (pair[1].offered - pair[0].offered) as f64 / seconds;
        [(pair[0].at, rate), (pair[1].at, rate)]
    });
    steps.collect()
}
