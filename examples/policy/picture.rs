//! The waits of a policy: for each retry its range, its mean, and what is drawn a few hundred times.

use std::time::Duration;

use backoff_core::{
    Policy,
    schedule::{Fits, PlannedWait},
};
use examples::axis::{Axis, Range, Scale};
use examples::drawing::{
    Area, Drawn, FAINT, GRID, INK, LEADER, PAGE, PALE_SKY, Picture, SHADE, SKY, SMALL, VERMILLION,
    fill, line, picture, text,
};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

const WIDTH: i32 = PAGE;
const LEFT: i32 = 64;
const RIGHT: i32 = WIDTH - 20;
const TOP: i32 = 126;
const BOTTOM: i32 = TOP + 340;
const HEIGHT: i32 = BOTTOM + 62;
/// Marks keep so far from the frame.
const INSET: i32 = 9;
/// How often each wait is drawn.
const DRAWS: u32 = 300;

/// Gives the text of the SVG.
pub(crate) fn draw(
    name: &str,
    policy: &Policy,
    planned: &[PlannedWait],
    means: &[Duration],
) -> Picture {
    picture(HEIGHT, &format!("What {name} waits"), &[], |page| {
        legend(page)?;
        Waits::new(page, planned).draw(policy, means)
    })
}

fn legend(page: &Area) -> Drawn {
    let y = 66;
    let words = |words, x| text(page, words, (x, y), SMALL, INK, HPos::Left);
    fill(page, (20, y - 7), (40, y + 7), PALE_SKY)?;
    words("from least to greatest", 48)?;
    for (x, y) in [(226, y - 4), (232, y + 3), (238, y - 1)] {
        page.draw(&Circle::new((x, y), 1, SKY.filled()))?;
    }
    words("drawn 300 times", 248)?;
    line(page, (380, y), (400, y), VERMILLION, 3)?;
    words("mean", 408)?;
    fill(page, (464, y - 7), (484, y + 7), SHADE)?;
    line(page, (464, y), (484, y), LEADER, 3)?;
    words("never comes: the deadline ends the call", 492)
}

/// What a wait is measured in, and how many of them a second has.
fn unit(longest: Duration) -> (&'static str, f64) {
    match longest {
        wait if wait >= Duration::from_secs(1) => ("wait before the retry, s", 1.0),
        wait if wait >= Duration::from_millis(1) => ("wait before the retry, ms", 1e3),
        _ => ("wait before the retry, µs", 1e6),
    }
}

/// The retries side by side over an axis of waits.
struct Waits<'a, 'svg> {
    page: &'a Area<'svg>,
    planned: &'a [PlannedWait],
    name: &'static str,
    in_a_second: f64,
    waits: Range,
    /// The width of a retry.
    step: i32,
}

impl<'a, 'svg> Waits<'a, 'svg> {
    fn new(page: &'a Area<'svg>, planned: &'a [PlannedWait]) -> Self {
        let greatest = || planned.iter().map(|planned| planned.greatest);
        let (name, in_a_second) = unit(greatest().max().unwrap_or_default());
        let values = greatest().map(|wait| wait.as_secs_f64() * in_a_second);
        let axis = Axis::new(name, Scale::Linear);
        Self {
            page,
            planned,
            name,
            in_a_second,
            waits: Range::new(axis, values, (BOTTOM - INSET, TOP + INSET)),
            step: (RIGHT - LEFT) / planned.len().max(1) as i32,
        }
    }

    fn draw(&self, policy: &Policy, means: &[Duration]) -> Drawn {
        self.axes()?;
        for planned in self.planned {
            let (from, to) = self.sides(planned);
            let top = self.y(planned.greatest);
            let bottom = self.y(planned.least).max(top + 2);
            let colour = if planned.fits == Fits::Never {
                SHADE
            } else {
                PALE_SKY
            };
            fill(self.page, (from, top), (to, bottom), colour)?;
        }
        self.dots(policy)?;
        for (planned, mean) in self.planned.iter().zip(means) {
            let (from, to) = self.sides(planned);
            let y = self.y(*mean);
            let colour = if planned.fits == Fits::Never {
                LEADER
            } else {
                VERMILLION
            };
            line(self.page, (from, y), (to, y), colour, 3)?;
        }
        Ok(())
    }

    fn axes(&self) -> Drawn {
        let words = |words: &str, at, colour, side| text(self.page, words, at, SMALL, colour, side);
        for (wait, label) in self.waits.ticks(28) {
            let y = self.waits.at(wait);
            line(self.page, (LEFT, y), (RIGHT, y), GRID, 1)?;
            words(&label, (LEFT - 10, y), FAINT, HPos::Right)?;
        }
        line(self.page, (LEFT, BOTTOM), (RIGHT, BOTTOM), FAINT, 1)?;
        // Numbers need room: of many retries only some have theirs.
        let every = (24 / self.step.max(1) + 1) as u32;
        for planned in self.planned {
            if planned.retry % every == 0 {
                let (from, to) = self.sides(planned);
                let under = ((from + to) / 2, BOTTOM + 17);
                words(&planned.retry.to_string(), under, FAINT, HPos::Center)?;
            }
        }
        let middle = LEFT + self.step * self.planned.len() as i32 / 2;
        words("retry", (middle, BOTTOM + 40), INK, HPos::Center)?;
        words(self.name, (20, TOP - 18), INK, HPos::Left)
    }

    /// What the policy waits if its random numbers are drawn again and again.
    fn dots(&self, policy: &Policy) -> Drawn {
        let mut rng = SmallRng::seed_from_u64(7);
        for _ in 0..DRAWS {
            let mut previous = Duration::ZERO;
            for planned in self.planned {
                let wait = policy.backoff(planned.retry - 1, previous, rng.random());
                let (from, to) = self.sides(planned);
                let x = rng.random_range(from + 2..=(to - 2).max(from + 2));
                if planned.fits != Fits::Never {
                    let dot = Circle::new((x, self.y(wait)), 1, SKY.filled());
                    self.page.draw(&dot)?;
                }
                previous = wait;
            }
        }
        Ok(())
    }

    fn y(&self, wait: Duration) -> i32 {
        self.waits.at(wait.as_secs_f64() * self.in_a_second)
    }

    fn sides(&self, planned: &PlannedWait) -> (i32, i32) {
        let left = LEFT + self.step * (planned.retry as i32 - 1);
        (left + self.step / 8, left + self.step - self.step / 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backoff_core::Jitter;

    fn drawn(policy: &Policy) -> String {
        let planned: Vec<_> = policy.schedule().take(60).collect();
        let means: Vec<_> = planned.iter().map(|planned| planned.greatest / 2).collect();
        draw("a policy", policy, &planned, &means).unwrap()
    }

    /// How many marks have this colour.
    fn of_colour(svg: &str, RGBColor(red, green, blue): RGBColor) -> usize {
        svg.matches(&format!("=\"#{red:02X}{green:02X}{blue:02X}\""))
            .count()
    }

    #[test]
    fn what_never_comes_is_grey() {
        let second = Duration::from_secs(1);
        let policy = Policy::constant(second)
            .jitter(Jitter::None)
            .max_attempts(u32::MAX);
        let all_come = drawn(&policy.max_attempts(4));
        // Of the ten waits of a second each, the last one would end after the deadline.
        let one_does_not = drawn(&policy.deadline(second * 9 + second / 2));
        assert_eq!(
            of_colour(&one_does_not, LEADER),
            of_colour(&all_come, LEADER) + 1
        );
    }

    #[test]
    fn waits_have_a_unit_that_fits_and_zero_has_none() {
        let millisecond = Duration::from_millis(1);
        for (first, unit) in [
            (Duration::from_nanos(51_200), "µs"),
            (20 * millisecond, "ms"),
            (2_000 * millisecond, "s"),
            (Duration::ZERO, "µs"),
        ] {
            let svg = drawn(&Policy::constant(first).max_attempts(5));
            assert!(svg.contains(&format!("retry, {unit}\n")), "{unit}");
            assert!(!svg.contains("0.0"), "{unit}");
        }
    }
}
