//! Attempts, calls and the budget over time, as a scraper read them.

use std::time::Duration;

use examples::axis::Range;
use examples::drawing::{
    BLUE, BROWN, Drawn, FAINT, GREEN, GRID, INK, ORANGE, PAGE, PURPLE, SHADE, SKY, SMALL,
    VERMILLION, adapting, fill, line, text,
};
use examples::panel::{Bar, Panel, legend, seconds};
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
        let last = scrapes.last().map_or(Duration::ZERO, |scrape| scrape.at);
        let time = seconds(last, (LEFT, RIGHT));
        let panel = |index: i32| Panel {
            page: &page,
            time: &time,
            top: HEAD + TITLE + index * PANEL,
            bottom: HEAD + TITLE + index * PANEL + PLOT,
        };
        attempts(&panel(0), scrapes)?;
        calls(&panel(1), scrapes)?;
        budget(&panel(2), scrapes)?;
        panel(2).seconds()?;
        page.present()?;
    }
    Ok(adapting(&svg))
}

fn attempts(panel: &Panel, scrapes: &[Scrape]) -> Drawn {
    let name = "retry_attempt_duration_seconds_count";
    let bars = bars(scrapes, &ATTEMPTS, name, "error_type");
    let begun = begun(scrapes);
    let most = bars.iter().map(Bar::height);
    let most = most.chain(begun.iter().map(|point| point.1));
    let rates = begin(panel, "Attempts ended, per second, by error.type", most)?;
    stack(panel, &bars, &rates, &ATTEMPTS)?;
    let points = begun.into_iter();
    panel.line(points.map(|(at, rate)| (at, rates.at(rate))), INK, 2)?;
    let (x, y) = (RIGHT - 110, panel.top - 64);
    line(panel.page, (x, y), (x + 18, y), INK, 2)?;
    panel.words("calls begun", (x + 24, y), INK, HPos::Left)
}

fn calls(panel: &Panel, scrapes: &[Scrape]) -> Drawn {
    let name = "retry_call_duration_seconds_count";
    let bars = bars(scrapes, &CALLS, name, "retry_outcome");
    let rates = begin(
        panel,
        "Calls ended, per second, by retry.outcome; a call that waits has not ended",
        bars.iter().map(Bar::height),
    )?;
    stack(panel, &bars, &rates, &CALLS)
}

fn budget(panel: &Panel, scrapes: &[Scrape]) -> Drawn {
    let name = "retry_budget_level";
    // Before the first call has ended there is no level on the page.
    let levels: Vec<_> = scrapes
        .iter()
        .filter(|scrape| scrape.page.series(name).next().is_some())
        .map(|scrape| (scrape.at, scrape.page.sum(name)))
        .collect();
    let most = levels.iter().map(|level| level.1);
    let tokens = begin(panel, "Tokens left in the budget, retry.budget.level", most)?;
    let rules = "A retry takes 14, after throttling 5. Below that: no retries. A success gives back 1, or \
                 what its last retry took.";
    panel.words(rules, (LEFT, panel.top - 38), FAINT, HPos::Left)?;
    let levels = levels.into_iter();
    panel.line(levels.map(|(at, level)| (at, tokens.at(level))), BLUE, 3)
}

/// Draws the title, the shade, the phases and the axis of values, from zero to the greatest.
fn begin(panel: &Panel, title: &str, values: impl Iterator<Item = f64>) -> Result<Range, Error> {
    let above = panel.top - 20;
    text(
        panel.page,
        title,
        (LEFT, panel.top - 64),
        18,
        INK,
        HPos::Left,
    )?;
    for (phase, from, to) in phases() {
        let (from, to) = (panel.x(from), panel.x(to).min(RIGHT));
        let mut colour = FAINT;
        if phase.is_outage {
            fill(panel.page, (from, above), (to, panel.bottom), SHADE)?;
            line(panel.page, (from, above), (from, panel.bottom), GRID, 1)?;
            line(panel.page, (to, above), (to, panel.bottom), GRID, 1)?;
            colour = INK;
        }
        let middle = ((from + to) / 2, panel.top - 10);
        panel.words(phase.name, middle, colour, HPos::Center)?;
    }
    panel.values(values)
}

/// Draws the bars and their legend.
fn stack<const N: usize>(
    panel: &Panel,
    bars: &[Bar<N>],
    rates: &Range,
    shares: &[Share; N],
) -> Drawn {
    panel.stack(bars, rates, shares.map(|share| share.0))?;
    let names = shares.iter().map(|(colour, name, _)| (*colour, *name));
    legend(panel.page, (LEFT, panel.top - 38), names)?;
    Ok(())
}

/// Each phase, when it begins, and when it ends.
fn phases() -> impl Iterator<Item = (&'static Phase, Duration, Duration)> {
    PHASES.iter().scan(Duration::ZERO, |begins, phase| {
        let from = *begins;
        *begins += phase.lasts;
        Some((phase, from, *begins))
    })
}

/// The rates of a count between each page and the next, by a label.
fn bars<const N: usize>(
    scrapes: &[Scrape],
    shares: &[Share; N],
    name: &str,
    label: &str,
) -> Vec<Bar<N>> {
    let counts = |scrape: &Scrape| {
        let sums = scrape.page.sum_by(name, label);
        let counts = shares.map(|(_, _, value)| sums.get(value).copied().unwrap_or_default());
        (scrape.at, counts)
    };
    let pairs = scrapes.windows(2);
    pairs
        .map(|pair| Bar::between(counts(&pair[0]), counts(&pair[1])))
        .collect()
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
