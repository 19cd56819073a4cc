//! What happened over time: bars of shares, one on the other, and lines, over an axis of seconds.

use std::time::Duration;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::axis::{Range, Scale};
use crate::drawing::{Area, Drawn, FAINT, GRID, INK, SMALL, fill, line, text};

/// An axis of seconds from zero to the last moment, without room after it.
///
/// ```
/// use std::time::Duration;
///
/// let time = examples::panel::seconds(Duration::from_secs(10), (50, 850));
/// assert_eq!((time.at(0.0), time.at(10.0)), (50, 850));
/// ```
pub fn seconds(last: Duration, pixels: (i32, i32)) -> Range {
    // `Range` adds some room, which time does not need.
    let last = last.as_secs_f64() / 1.04;
    Range::new(Scale::Linear, [last].into_iter(), pixels)
}

/// The rates between two moments, one for each share.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar<const N: usize> {
    /// When the first count was read.
    pub from: Duration,
    /// When the second one was read.
    pub to: Duration,
    /// How much was counted in a second between them.
    pub rates: [f64; N],
}

impl<const N: usize> Bar<N> {
    /// From moments, and what had been counted by then.
    ///
    /// ```
    /// use std::time::Duration;
    /// use examples::panel::Bar;
    ///
    /// let moment = |millis, counts| (Duration::from_millis(millis), counts);
    /// let bars = Bar::between(&[moment(0, [1.0, 0.0]), moment(500, [4.0, 2.0])]);
    /// assert_eq!((bars[0].rates, bars[0].height()), ([6.0, 4.0], 10.0));
    /// ```
    pub fn between(moments: &[(Duration, [f64; N])]) -> Vec<Self> {
        let bar = |pair: &[(Duration, [f64; N])]| {
            let ((from, before), (to, after)) = (pair[0], pair[1]);
            let seconds = (to - from).as_secs_f64();
            let rates = std::array::from_fn(|share| (after[share] - before[share]) / seconds);
            Self { from, to, rates }
        };
        moments.windows(2).map(bar).collect()
    }

    /// All shares together.
    pub fn height(&self) -> f64 {
        self.rates.iter().sum()
    }
}

/// A chart over an axis of time, which several charts share.
pub struct Panel<'a, 'svg> {
    /// Where to draw.
    pub page: &'a Area<'svg>,
    /// The axis of time.
    pub time: &'a Range,
    /// Where the axis of values ends.
    pub top: i32,
    /// Where the axis of values begins.
    pub bottom: i32,
}

impl Panel<'_, '_> {
    /// Draws the axis of values, from zero to the greatest.
    ///
    /// # Errors
    /// When the picture cannot be written; the same holds for all methods.
    pub fn values(
        &self,
        values: impl Iterator<Item = f64>,
    ) -> Result<Range, Box<dyn std::error::Error + Send + Sync>> {
        let range = Range::new(Scale::Linear, values, (self.bottom, self.top));
        let (left, right) = self.time.pixels();
        for (value, label) in range.ticks(28) {
            let y = range.at(value);
            line(self.page, (left, y), (right, y), GRID, 1)?;
            self.words(&label, (left - 8, y), FAINT, HPos::Right)?;
        }
        Ok(range)
    }

    /// Draws bars of shares, the first share below.
    ///
    /// # Errors
    /// See [`values`](Self::values).
    pub fn stack<const N: usize>(
        &self,
        bars: &[Bar<N>],
        rates: &Range,
        colours: [RGBColor; N],
    ) -> Drawn {
        for bar in bars {
            let (left, right) = (self.x(bar.from) + 1, self.x(bar.to));
            let mut below = 0.0;
            for (rate, colour) in bar.rates.iter().zip(colours) {
                let (from, to) = (rates.at(below + rate), rates.at(below));
                if from < to {
                    fill(self.page, (left, from), (right, to), colour)?;
                }
                below += rate;
            }
        }
        Ok(())
    }

    /// Draws a line through these moments and heights.
    ///
    /// # Errors
    /// See [`values`](Self::values).
    pub fn line(
        &self,
        points: impl Iterator<Item = (Duration, i32)>,
        colour: RGBColor,
        width: u32,
    ) -> Drawn {
        let points: Vec<_> = points.map(|(at, y)| (self.x(at), y)).collect();
        let style = colour.stroke_width(width);
        Ok(self.page.draw(&PathElement::new(points, style))?)
    }

    /// Draws the axis of time, below.
    ///
    /// # Errors
    /// See [`values`](Self::values).
    pub fn seconds(&self) -> Drawn {
        for (second, label) in self.time.ticks(40) {
            let x = self.time.at(second);
            line(self.page, (x, self.bottom), (x, self.bottom + 5), FAINT, 1)?;
            let label = format!("{label} s");
            self.words(&label, (x, self.bottom + 18), FAINT, HPos::Center)?;
        }
        Ok(())
    }

    /// Writes small words.
    ///
    /// # Errors
    /// See [`values`](Self::values).
    pub fn words(&self, words: &str, at: (i32, i32), colour: RGBColor, side: HPos) -> Drawn {
        text(self.page, words, at, SMALL, colour, side)
    }

    /// The place of a moment.
    pub fn x(&self, at: Duration) -> i32 {
        self.time.at(at.as_secs_f64())
    }
}

/// Says what the colours mean, from `at` to the right; gives the place after it.
///
/// # Errors
/// See [`Panel::values`].
pub fn legend<'a>(
    page: &Area,
    (mut x, y): (i32, i32),
    shares: impl IntoIterator<Item = (RGBColor, &'a str)>,
) -> Result<i32, Box<dyn std::error::Error + Send + Sync>> {
    for (colour, name) in shares {
        fill(page, (x, y - 6), (x + 12, y + 6), colour)?;
        text(page, name, (x + 18, y), SMALL, INK, HPos::Left)?;
        // The width of a name is guessed: an SVG brings no fonts to measure with.
        x += 18 + 7 * name.len() as i32 + 12;
    }
    Ok(x)
}

/// Says what a line means, from `at` to the right; gives the place after it.
///
/// # Errors
/// See [`Panel::values`].
pub fn line_legend(
    page: &Area,
    (x, y): (i32, i32),
    colour: RGBColor,
    name: &str,
) -> Result<i32, Box<dyn std::error::Error + Send + Sync>> {
    line(page, (x, y), (x + 22, y), colour, 2)?;
    text(page, name, (x + 28, y), SMALL, INK, HPos::Left)?;
    Ok(x + 28 + 7 * name.len() as i32 + 12)
}
