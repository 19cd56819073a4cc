//! Attempts, calls and the budget over time, as a scraper read them.

use std::time::Duration;

use examples::axis::{Axis, Range, Scale};
use examples::drawing::{
    Area, BAND, BLUE, Drawn, FAINT, GREEN, GRID, INK, ORANGE, PURPLE, SKY, VERMILLION, adapting,
    fill, line, text,
};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::Error;
use crate::page::Page;
use crate::scrape::{self, Scrape};
use crate::service::PHASES;

/// As wide as a page of GitHub shows a picture.
const WIDTH: i32 = 830;
const LEFT: i32 = 56;
const RIGHT: i32 = WIDTH - 20;
const HEAD: i32 = 114;
/// Above the axes of a panel: its title and its legend.
const TITLE: i32 = 58;
const PLOT: i32 = 170;
const GAP: i32 = 22;
const FOOT: i32 = 48;
/// plotters writes a size of 15 as 12 px.
const SMALL: i32 = 15;

/// The colour of a share, its name in the legend, and the value of the label.
type Share = (RGBColor, &'static str, &'static str);

/// By `error.type`, which an attempt that succeeded has not.
const ATTEMPTS: [Share; 7] = [
    (GREEN, "succeeded", ""),
    (FAINT, "404", "404"),
    (ORANGE, "429", "429"),
    (VERMILLION, "503", "503"),
    (PURPLE, "timeout", "timeout"),
    (BLUE, "not_sent", "not_sent"),
    (SKY, "maybe_sent", "maybe_sent"),
];

/// By `retry.outcome`.
const CALLS: [Share; 4] = [
    (
        GREEN,
        "successful_without_retry",
        "successful_without_retry",
    ),
    (SKY, "successful_with_retry", "successful_with_retry"),
    (ORANGE, "failed_without_retry", "failed_without_retry"),
    (VERMILLION, "failed_with_retry", "failed_with_retry"),
];

/// Gives the text of the SVG.
pub(crate) fn draw(scrapes: &[Scrape]) -> Result<String, Error> {
    let height = HEAD + 3 * (TITLE + PLOT) + 2 * GAP + FOOT;
    let mut svg = String::new();
    {
        let page =
            SVGBackend::with_string(&mut svg, (WIDTH as u32, height as u32)).into_drawing_area();
        page.fill(&WHITE)?;
        let title = "One outage as an operator sees it";
        text(&page, title, (20, 26), 24, INK, HPos::Left)?;
        let every = scrape::EVERY.as_millis();
        let subtitles = [
            format!(
                "Read from /metrics every {every} ms. The outage is shaded: the service throttles, fails and hangs,"
            ),
            "is down, and recovers. At most 4 attempts a call, paid from one budget for all calls."
                .to_owned(),
        ];
        for (row, subtitle) in subtitles.iter().enumerate() {
            let at = (20, 56 + 20 * row as i32);
            text(&page, subtitle, at, SMALL, FAINT, HPos::Left)?;
        }
        let last = scrapes.last().map_or(0.0, |scrape| scrape.at.as_secs_f64());
        let time = Range::new(
            Axis::new("s", Scale::Linear),
            [last / 1.04].into_iter(),
            (LEFT, RIGHT),
        );
        let panel = |index: i32| Panel {
            page: &page,
            time: &time,
            top: HEAD + TITLE + index * (TITLE + PLOT + GAP),
        };
        panel(0).attempts(scrapes)?;
        panel(1).calls(scrapes)?;
        panel(2).budget(scrapes)?;
        panel(0).phases()?;
        let bottom = panel(2).bottom();
        for (second, label) in time.ticks(60) {
            let x = time.at(second);
            line(&page, (x, bottom), (x, bottom + 5), FAINT, 1)?;
            text(
                &page,
                &format!("{label} s"),
                (x, bottom + 18),
                SMALL,
                FAINT,
                HPos::Center,
            )?;
        }
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
        let name = "retry_attempt_duration_seconds_count";
        let bars = Bars::of(scrapes, |page| {
            let sums = page.sum_by(name, "error_type");
            ATTEMPTS.map(|(_, _, label)| sums.get(label).copied().unwrap_or_default())
        });
        let offered = offered(scrapes);
        let most = bars.highest().chain(offered.iter().map(|point| point.1));
        let rates = self.begin("attempts ended, per second, by error.type", most)?;
        self.stack(&bars, &rates, &ATTEMPTS)?;
        let mut end = self.legend(&ATTEMPTS)?;
        line(
            self.page,
            (end, self.top - 16),
            (end + 18, self.top - 16),
            INK,
            2,
        )?;
        end += 24;
        text(
            self.page,
            "calls begun",
            (end, self.top - 16),
            SMALL,
            INK,
            HPos::Left,
        )?;
        let offered = offered
            .into_iter()
            .map(|(at, rate)| (self.x(at), rates.at(rate)));
        self.page.draw(&PathElement::new(
            offered.collect::<Vec<_>>(),
            INK.stroke_width(2),
        ))?;
        Ok(())
    }

    fn calls(&self, scrapes: &[Scrape]) -> Drawn {
        let name = "retry_call_duration_seconds_count";
        let bars = Bars::of(scrapes, |page| {
            let sums = page.sum_by(name, "retry_outcome");
            CALLS.map(|(_, _, label)| sums.get(label).copied().unwrap_or_default())
        });
        let rates = self.begin("calls ended, per second, by retry.outcome", bars.highest())?;
        self.stack(&bars, &rates, &CALLS)?;
        self.legend(&CALLS)?;
        Ok(())
    }

    fn budget(&self, scrapes: &[Scrape]) -> Drawn {
        let name = "retry_budget_level";
        // Before the first call has ended there is no level on the page.
        let levels: Vec<_> = scrapes
            .iter()
            .filter(|scrape| scrape.page.series(name).next().is_some())
            .map(|scrape| (scrape.at, scrape.page.sum(name)))
            .collect();
        let tokens = self.begin(
            "tokens left in the budget, retry.budget.level",
            levels.iter().map(|level| level.1),
        )?;
        let words = "a retry takes 14, after throttling 5; a success gives back what its last retry took, or 1";
        text(
            self.page,
            words,
            (LEFT, self.top - 16),
            SMALL,
            FAINT,
            HPos::Left,
        )?;
        let points = levels
            .iter()
            .map(|&(at, level)| (self.x(at), tokens.at(level)));
        self.page.draw(&PathElement::new(
            points.collect::<Vec<_>>(),
            BLUE.stroke_width(3),
        ))?;
        Ok(())
    }

    /// Draws the shade, the title and the axis of values from zero to the greatest.
    fn begin(&self, title: &str, values: impl Iterator<Item = f64>) -> Result<Range, Error> {
        let (from, to) = outage();
        fill(
            self.page,
            (self.x(from), self.top),
            (self.x(to), self.bottom()),
            BAND,
        )?;
        text(self.page, title, (LEFT, self.top - 40), 18, INK, HPos::Left)?;
        let axis = Axis::new("", Scale::Linear);
        let range = Range::new(axis, values, (self.bottom(), self.top));
        for (value, label) in range.ticks(28) {
            let y = range.at(value);
            line(self.page, (LEFT, y), (RIGHT, y), GRID, 1)?;
            text(self.page, &label, (LEFT - 8, y), SMALL, FAINT, HPos::Right)?;
        }
        for at in [from, to] {
            line(
                self.page,
                (self.x(at), self.top),
                (self.x(at), self.bottom()),
                GRID,
                1,
            )?;
        }
        Ok(range)
    }

    /// Bars of shares, one on the other in the order of the legend.
    fn stack<const N: usize>(&self, bars: &Bars<N>, rates: &Range, shares: &[Share; N]) -> Drawn {
        for bar in &bars.0 {
            let (left, right) = (self.x(bar.from) + 1, self.x(bar.to));
            let mut below = 0.0;
            for (rate, share) in bar.rates.iter().zip(shares) {
                let from = (left, rates.at(below + rate));
                let to = (right, rates.at(below));
                if from.1 < to.1 {
                    fill(self.page, from, to, share.0)?;
                }
                below += rate;
            }
        }
        Ok(())
    }

    /// Gives where it ends. The width of a name is guessed: an SVG brings no fonts to measure with.
    fn legend(&self, shares: &[Share]) -> Result<i32, Error> {
        let (mut x, y) = (LEFT, self.top - 16);
        for (colour, name, _) in shares {
            fill(self.page, (x, y - 6), (x + 12, y + 6), *colour)?;
            text(self.page, name, (x + 18, y), SMALL, INK, HPos::Left)?;
            x += 18 + 7 * name.len() as i32 + 14;
        }
        Ok(x)
    }

    /// The names of the phases, above the first panel.
    fn phases(&self) -> Drawn {
        let mut begins = Duration::ZERO;
        for phase in &PHASES {
            let ends = begins + phase.lasts;
            let middle = (self.x(begins) + self.x(ends)) / 2;
            let at = (middle, self.top - 66);
            let colour = if phase.is_outage { INK } else { FAINT };
            text(self.page, phase.name, at, SMALL, colour, HPos::Center)?;
            begins = ends;
        }
        Ok(())
    }

    fn bottom(&self) -> i32 {
        self.top + PLOT
    }

    fn x(&self, at: Duration) -> i32 {
        self.time.at(at.as_secs_f64())
    }
}

/// When the outage begins and when it is over.
fn outage() -> (Duration, Duration) {
    let (mut from, mut to, mut begins) = (None, Duration::ZERO, Duration::ZERO);
    for phase in &PHASES {
        let ends = begins + phase.lasts;
        if phase.is_outage {
            from = from.or(Some(begins));
            to = ends;
        }
        begins = ends;
    }
    (from.unwrap_or_default(), to)
}

/// Rates between each page and the next.
struct Bars<const N: usize>(Vec<Bar<N>>);

struct Bar<const N: usize> {
    from: Duration,
    to: Duration,
    rates: [f64; N],
}

impl<const N: usize> Bars<N> {
    fn of(scrapes: &[Scrape], counts: impl Fn(&Page) -> [f64; N]) -> Self {
        let bars = scrapes.windows(2).map(|pair| {
            let (before, after) = (counts(&pair[0].page), counts(&pair[1].page));
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

/// How many calls a second were begun, a step from page to page.
fn offered(scrapes: &[Scrape]) -> Vec<(Duration, f64)> {
    let steps = scrapes.windows(2).flat_map(|pair| {
        let seconds = (pair[1].at - pair[0].at).as_secs_f64();
        let rate = (pair[1].offered - pair[0].offered) as f64 / seconds;
        [(pair[0].at, rate), (pair[1].at, rate)]
    });
    steps.collect()
}
