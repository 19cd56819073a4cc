//! Attempts, calls and the budget over time, as a scraper read them.

use std::time::Duration;

use examples::axis::Range;
use examples::drawing::{
    BLUE, BROWN, Drawn, FAINT, GREEN, GRID, INK, ORANGE, PAGE, PURPLE, SHADE, SKY, VERMILLION,
    fill, line, picture, text,
};
use examples::panel::{Bar, Panel, legend, line_legend, seconds};
use plotters::style::{RGBColor, text_anchor::HPos};

use crate::scrape::{self, Scrape};
use crate::service::{self, PHASES};
use crate::{EVERY, Error};

const LEFT: i32 = 56;
const RIGHT: i32 = PAGE - 20;
const HEAD: i32 = 96;
/// Above the axes of a panel: its title, its legend, and the names of the phases.
const TITLE: i32 = 78;
const PLOT: i32 = 170;
const PANEL: i32 = TITLE + PLOT + 22;
const FOOT: i32 = 30;

/// The colour of a share, its name in the legend, and the value of the label.
type Share = (RGBColor, &'static str, &'static str);

/// By `error.type`, which an attempt that succeeded has not.
pub(crate) const ATTEMPTS: [Share; 7] = [
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

const fn same(colour: RGBColor, label: &'static str) -> Share {
    (colour, label, label)
}

/// Gives the text of the SVG.
pub(crate) fn draw(scrapes: &[Scrape]) -> Result<String, Error> {
    let every = scrape::EVERY.as_millis();
    let words = [
        &format!("Read from /metrics every {every} ms. Shaded: the outage. The service throttles;"),
        "then it fails, and some requests hang; then it is down; then it recovers.",
    ];
    let title = "One outage as an operator sees it";
    picture(HEAD + 3 * PANEL + FOOT, title, &words, |page| {
        let last = scrapes.last().map_or(Duration::ZERO, |scrape| scrape.0);
        let time = seconds(last, (LEFT, RIGHT));
        let panel = |index: i32| Panel {
            page,
            time: &time,
            top: HEAD + TITLE + index * PANEL,
            bottom: HEAD + TITLE + index * PANEL + PLOT,
        };
        let attempts = bars(
            scrapes,
            "retry_attempt_duration_seconds_count",
            "error_type",
            &ATTEMPTS,
        );
        let title = "Attempts ended, per second, by error.type";
        ended(&panel(0), title, &attempts, &ATTEMPTS)?;
        let calls = bars(
            scrapes,
            "retry_call_duration_seconds_count",
            "retry_outcome",
            &CALLS,
        );
        let title = "Calls ended, per second, by retry.outcome; a call that waits has not ended";
        ended(&panel(1), title, &calls, &CALLS)?;
        budget(&panel(2), scrapes)?;
        panel(2).seconds()
    })
}

/// The rates of a count between each page and the next, by a label.
fn bars<const N: usize>(
    scrapes: &[Scrape],
    name: &str,
    label: &str,
    shares: &[Share; N],
) -> Vec<Bar<N>> {
    let counts = |(at, page): &Scrape| (*at, shares.map(|share| page.sum_of(name, label, share.2)));
    Bar::between(&scrapes.iter().map(counts).collect::<Vec<_>>())
}

/// Draws what ended, and how many calls were begun.
fn ended<const N: usize>(
    panel: &Panel,
    title: &str,
    bars: &[Bar<N>],
    shares: &[Share; N],
) -> Drawn {
    let begun = 1.0 / EVERY.as_secs_f64();
    let most = bars.iter().map(Bar::height).chain([begun]);
    let rates = begin(panel, title, most)?;
    panel.stack(bars, &rates, shares.map(|share| share.0))?;
    let names = shares.iter().map(|(colour, name, _)| (*colour, *name));
    legend(panel.page, (LEFT, panel.top - 38), names)?;
    let load = [Duration::ZERO, service::lasts()].map(|at| (at, rates.at(begun)));
    panel.line(load.into_iter(), INK, 2)?;
    line_legend(
        panel.page,
        (RIGHT - 110, panel.top - 64),
        INK,
        "calls begun",
    )?;
    Ok(())
}

fn budget(panel: &Panel, scrapes: &[Scrape]) -> Drawn {
    let levels = scrapes
        .iter()
        .map(|(at, page)| (*at, page.sum("retry_budget_level")));
    // Before the first call has ended there is no level on the page.
    let levels: Vec<_> = levels.skip_while(|level| level.1 == 0.0).collect();
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
    let (page, top, bottom) = (panel.page, panel.top - 20, panel.bottom);
    text(page, title, (LEFT, panel.top - 64), 18, INK, HPos::Left)?;
    let mut begins = Duration::ZERO;
    for phase in &PHASES {
        let ends = begins + phase.lasts;
        let (from, to) = (panel.x(begins), panel.x(ends));
        begins = ends;
        let is_outage = phase.name != "healthy";
        if is_outage {
            fill(page, (from, top), (to, bottom), SHADE)?;
            line(page, (from, top), (from, bottom), GRID, 1)?;
            line(page, (to, top), (to, bottom), GRID, 1)?;
        }
        let middle = ((from + to) / 2, panel.top - 10);
        let colour = if is_outage { INK } else { FAINT };
        panel.words(phase.name, middle, colour, HPos::Center)?;
    }
    panel.values(values)
}
