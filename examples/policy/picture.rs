//! The waits of a policy: for each retry its range, its mean, and what is drawn a few hundred times.

use std::path::Path;
use std::time::Duration;

use backoff_core::{
    Policy,
    schedule::{Fits, PlannedWait},
};
use examples::drawing::{Drawn, FAINT, GRID, INK, SKY, VERMILLION, fill, line, text};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

const WIDTH: i32 = 1_000;
const TOP: i32 = 110;
const LEFT: i32 = 90;
const HEIGHT: i32 = 380;
/// How often each wait is drawn.
const DRAWS: u32 = 300;

pub(crate) fn draw(
    out: &Path,
    name: &str,
    policy: &Policy,
    planned: &[PlannedWait],
    means: &[Duration],
) -> Drawn {
    if let Some(folder) = out.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    let page = SVGBackend::new(out, (WIDTH as u32, (TOP + HEIGHT + 70) as u32)).into_drawing_area();
    page.fill(&WHITE)?;
    text(
        &page,
        &format!("What {name} waits"),
        (24, 30),
        22,
        INK,
        HPos::Left,
    )?;
    let legend = "light: from least to greatest · dots: drawn 300 times · line: mean · grey: does not \
                  fit before the deadline";
    text(&page, legend, (24, 60), 14, FAINT, HPos::Left)?;

    let longest = planned
        .iter()
        .map(|planned| planned.greatest)
        .max()
        .unwrap_or_default();
    let longest = longest.max(Duration::from_nanos(1)).as_secs_f64();
    let y =
        |wait: Duration| TOP + HEIGHT - (wait.as_secs_f64() / longest * f64::from(HEIGHT)) as i32;
    for quarter in 0..=4 {
        let wait = Duration::from_secs_f64(longest * f64::from(quarter) / 4.0);
        line(&page, (LEFT, y(wait)), (WIDTH - 24, y(wait)), GRID, 1)?;
        text(
            &page,
            &format!("{wait:.1?}"),
            (LEFT - 10, y(wait)),
            14,
            FAINT,
            HPos::Right,
        )?;
    }
    let step = (WIDTH - 24 - LEFT) / planned.len().max(1) as i32;
    let x = |retry: u32| LEFT + step * (retry as i32 - 1);
    for planned in planned {
        let (from, to) = (
            x(planned.retry) + step / 8,
            x(planned.retry) + step - step / 8,
        );
        let range = if planned.fits == Fits::Never {
            GRID
        } else {
            RGBColor(219, 238, 250)
        };
        fill(
            &page,
            (from, y(planned.greatest)),
            (to, y(planned.least).max(y(planned.greatest) + 2)),
            range,
        )?;
        let label = (x(planned.retry) + step / 2, TOP + HEIGHT + 20);
        text(
            &page,
            &planned.retry.to_string(),
            label,
            14,
            FAINT,
            HPos::Center,
        )?;
    }
    let mut rng = SmallRng::seed_from_u64(7);
    for _ in 0..DRAWS {
        let mut previous = Duration::ZERO;
        for planned in planned {
            let wait = policy.backoff(planned.retry - 1, previous, rng.random());
            let across = rng.random_range(step / 5..=(step - step / 5).max(step / 5));
            let dot = (x(planned.retry) + across, y(wait));
            page.draw(&Circle::new(dot, 1, SKY.filled()))?;
            previous = wait;
        }
    }
    for (planned, mean) in planned.iter().zip(means) {
        let (from, to) = (
            x(planned.retry) + step / 8,
            x(planned.retry) + step - step / 8,
        );
        line(&page, (from, y(*mean)), (to, y(*mean)), VERMILLION, 3)?;
    }
    text(
        &page,
        "retry",
        (LEFT + step * planned.len() as i32 / 2, TOP + HEIGHT + 46),
        14,
        INK,
        HPos::Center,
    )?;
    text(&page, "wait", (LEFT - 10, TOP - 22), 14, INK, HPos::Right)?;
    page.present()?;
    Ok(())
}
