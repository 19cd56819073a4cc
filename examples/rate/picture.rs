//! The calls a second over time, a panel for each strategy, and the limit.

use std::time::Duration;

use examples::axis::written;
use examples::drawing::{Drawn, FAINT, GREEN, INK, ORANGE, PAGE, Picture, line, picture, text};
use examples::panel::{Bar, Panel, legend, line_legend, seconds};
use plotters::style::text_anchor::HPos;

use crate::Options;
use crate::batch::{Batch, LATENCY};
use crate::client::Strategy;

const LEFT: i32 = 60;
const RIGHT: i32 = PAGE - 20;
/// The title, the circumstances and the legend.
const HEAD: i32 = 136;
/// Above the axes of a panel: the strategy and its figures.
const TITLE: i32 = 64;
const PLOT: i32 = 150;
const PANEL: i32 = TITLE + PLOT + 24;
const FOOT: i32 = 26;

/// Gives the text of the SVG.
pub(crate) fn draw(batches: &[Batch], options: &Options) -> Picture {
    let rate = options.rate;
    let jobs = written(options.jobs.into());
    let title = format!("{jobs} jobs under a limit of {rate} calls a second");
    let workers = format!(
        "{} workers, real HTTP, {} ms a call; a call too many gets 429 {}.",
        options.workers,
        LATENCY.as_millis(),
        options.hint(),
    );
    let least = format!(
        "The least time is {:.1} s: the service lets {rate} calls through at once, and then {rate} a second.",
        options.least().as_secs_f64(),
    );
    let height = HEAD + PANEL * batches.len() as i32 + FOOT;
    picture(height, &title, &[&workers, &least], |page| {
        let shares = [
            (GREEN, "calls a second, admitted"),
            (ORANGE, "refused with 429"),
        ];
        let x = legend(page, (20, 108), shares)?;
        line_legend(page, (x, 108), INK, "the limit")?;

        let bars: Vec<_> = batches.iter().map(Batch::bars).collect();
        let last = bars.iter().flatten().map(|bar| bar.to).max();
        let last = last.unwrap_or_default();
        for (row, (batch, own)) in batches.iter().zip(&bars).enumerate() {
            let top = HEAD + PANEL * row as i32 + TITLE;
            let panel = Panel {
                page,
                time: &seconds(last, (LEFT, RIGHT)),
                top,
                bottom: top + PLOT,
            };
            let highest = bars.iter().flatten().map(Bar::height);
            let rates = panel.values(highest.chain([rate.into()]))?;
            panel.stack(own, &rates, [GREEN, ORANGE])?;
            let limit = rates.at(rate.into());
            let ends = [Duration::ZERO, last].map(|end| (end, limit));
            panel.line(ends.into_iter(), INK, 2)?;
            done(&panel, batch.took)?;
            figures(&panel, batch, options)?;
            panel.seconds()?;
        }
        Ok(())
    })
}

/// Marks the end of the last job: a single call is too low to be seen.
fn done(panel: &Panel, took: Duration) -> Drawn {
    let x = panel.x(took);
    line(panel.page, (x, panel.top + 40), (x, panel.bottom), FAINT, 1)?;
    let (beside, side) = if x > RIGHT - 100 {
        (x - 6, HPos::Right)
    } else {
        (x + 6, HPos::Left)
    };
    panel.words("all done", (beside, panel.top + 48), INK, side)
}

/// What came of the strategy, above its panel.
fn figures(panel: &Panel, batch: &Batch, options: &Options) -> Drawn {
    let y = panel.top - 42;
    let Strategy { name, refused, .. } = batch.strategy;
    text(panel.page, name, (LEFT, y), 18, INK, HPos::Left)?;
    panel.words(refused, (LEFT, y + 22), FAINT, HPos::Left)?;
    let took = batch.took.as_secs_f64();
    let words = format!(
        "{:.2} calls a job, done after {took:.1} s ({:.2} × the least)",
        batch.calls_per_job(),
        took / options.least().as_secs_f64(),
    );
    text(panel.page, &words, (RIGHT, y), 18, INK, HPos::Right)
}
