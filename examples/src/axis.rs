//! From values to places on a chart, and round numbers along an axis.

/// How values are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// From zero.
    Linear,
    /// Values of zero or less are drawn at the lower end.
    Logarithmic,
}

/// An axis with its ends.
#[derive(Debug)]
pub struct Range {
    scale: Scale,
    values: (f64, f64),
    pixels: (i32, i32),
}

impl Range {
    /// Wide enough for all values.
    pub fn new(scale: Scale, values: impl Iterator<Item = f64>, pixels: (i32, i32)) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let values = match scale {
            Scale::Linear => (0.0, finite.fold(0.0, f64::max) * 1.04),
            Scale::Logarithmic => {
                let above_zero = finite.filter(|&value| value > 0.0);
                let (least, most) = above_zero
                    .fold((f64::INFINITY, 0.0), |(least, most), value| {
                        (value.min(least), value.max(most))
                    });
                (least / 1.15, most * 1.15)
            }
        };
        // Without two different values any range that is not empty serves; a linear one begins at zero.
        let values = match values {
            (from, to) if from < to && to.is_finite() => (from, to),
            _ if scale == Scale::Linear => (0.0, 1.0),
            _ => (0.5, 2.0),
        };
        Self {
            scale,
            values,
            pixels,
        }
    }

    /// The places of its ends, in pixels.
    pub fn pixels(&self) -> (i32, i32) {
        self.pixels
    }

    /// The place of a value, in pixels.
    pub fn at(&self, value: f64) -> i32 {
        let place = |value: f64| match self.scale {
            Scale::Linear => value,
            Scale::Logarithmic => value.max(f64::MIN_POSITIVE).ln(),
        };
        let (from, to) = (place(self.values.0), place(self.values.1));
        let share = ((place(value) - from) / (to - from)).clamp(0.0, 1.0);
        self.pixels.0 + (f64::from(self.pixels.1 - self.pixels.0) * share).round() as i32
    }

    /// Round values within the ends, and how they are written, each with so much room.
    pub fn ticks(&self, room: i32) -> Vec<(f64, String)> {
        let fitting = self.candidates().into_iter().find(|ticks| {
            ticks
                .windows(2)
                .all(|pair| (self.at(pair[1]) - self.at(pair[0])).abs() >= room)
        });
        let ticks = fitting.unwrap_or_default();
        ticks
            .into_iter()
            .map(|value| (value, written(value)))
            .collect()
    }

    /// From the densest to the thinnest.
    fn candidates(&self) -> Vec<Vec<f64>> {
        let within = |value: &f64| self.values.0 <= *value && *value <= self.values.1;
        match self.scale {
            Scale::Logarithmic => [&[1, 2, 3, 5][..], &[1, 2, 5], &[1, 3], &[1]]
                .map(|digits| {
                    let decades = (-9..=12).map(|exponent| 10_f64.powi(exponent));
                    let values = decades.flat_map(|decade| {
                        digits.iter().map(move |&digit| f64::from(digit) * decade)
                    });
                    values.filter(within).collect()
                })
                .to_vec(),
            Scale::Linear => {
                let magnitude = 10_f64.powf(self.values.1.log10().floor());
                [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0]
                    .map(|step| {
                        let values = (0..=200).map(|number| f64::from(number) * step * magnitude);
                        values.filter(within).collect()
                    })
                    .to_vec()
            }
        }
    }
}

/// A number as people write it.
///
/// ```
/// use examples::axis::written;
///
/// assert_eq!(written(0.1 + 0.2), "0.3");
/// assert_eq!(written(500.0), "500");
/// assert_eq!(written(1_234_567.0), "1,234,567");
/// ```
pub fn written(value: f64) -> String {
    if value < 1_000.0 {
        // Takes off what floating point added.
        return format!("{}", (value * 1e9).round() / 1e9);
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(scale: Scale, values: &[f64]) -> Range {
        Range::new(scale, values.iter().copied(), (0, 1000))
    }

    #[test]
    fn equal_ratios_are_equally_wide_on_a_logarithmic_axis() {
        let range = range(Scale::Logarithmic, &[1.0, 1_000.0]);
        let [one, ten, hundred] = [1.0, 10.0, 100.0].map(|value| range.at(value));
        assert!((2 * ten - one - hundred).abs() <= 1);
        assert_eq!(range.at(0.0), 0);
    }

    #[test]
    fn a_linear_axis_begins_at_zero() {
        let range = range(Scale::Linear, &[40.0, 100.0]);
        assert_eq!(range.at(0.0), 0);
        assert_eq!(range.at(52.0), 500);
        let zeros = self::range(Scale::Linear, &[0.0, 0.0]);
        assert_eq!([0.0, 1.0].map(|value| zeros.at(value)), [0, 1000]);
    }

    #[test]
    fn ticks_are_round_and_have_room() {
        for scale in [Scale::Linear, Scale::Logarithmic] {
            for most in [0.02, 1.0, 7.0, 130.0, 105_000.0] {
                let range = range(scale, &[most / 30.0, most]);
                let ticks = range.ticks(60);
                assert!(ticks.len() >= 2, "{most}");
                for pair in ticks.windows(2) {
                    assert!(range.at(pair[1].0) - range.at(pair[0].0) >= 60, "{most}");
                }
            }
        }
        let labels: Vec<_> = range(Scale::Logarithmic, &[10.0, 200.0])
            .ticks(60)
            .into_iter()
            .map(|tick| tick.1)
            .collect();
        assert_eq!(labels, ["10", "20", "30", "50", "100", "200"]);
    }

    #[test]
    fn a_short_axis_has_ticks_too() {
        let range = Range::new(Scale::Linear, [890.0].into_iter(), (150, 0));
        let labels: Vec<_> = range.ticks(28).into_iter().map(|tick| tick.1).collect();
        assert_eq!(labels, ["0", "200", "400", "600", "800"]);
    }
}
