//! Means with their standard errors, and percentiles.

use std::fmt;

/// A mean over seeds, and how far it may be from the truth.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// One standard error.
    pub error: f64,
}

impl Mean {
    /// `None` where there is nothing to take a mean of. Of one value the error is not known, and
    /// given as 0.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values: Vec<_> = values.into_iter().collect();
        let number = values.len() as f64;
        if values.is_empty() {
            return None;
        }
        let mean = values.iter().sum::<f64>() / number;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let error = (squares / (number - 1.0).max(1.0) / number).sqrt();
        Some(Self { mean, error })
    }

    /// Their ratio, of different runs.
    pub fn over(self, other: Self) -> Self {
        let mean = self.mean / other.mean;
        let error = (self.error / self.mean).hypot(other.error / other.mean) * mean;
        Self { mean, error }
    }

    /// How many standard errors of both together lie between this mean and another.
    pub fn distance(self, other: Self) -> f64 {
        (self.mean - other.mean) / self.error.hypot(other.error)
    }
}

/// `51.2 ± 0.1`: as many digits as the first of the error, at most four after the point.
impl fmt::Display for Mean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.error > 0.0 {
            // Rounded first: 0.097 has one digit less than it seems, as it is shown as 0.1.
            let first = self.error.log10().floor();
            let shown = (self.error / 10_f64.powf(first)).round() * 10_f64.powf(first);
            (-(shown * 1.000_001).log10().floor()).clamp(0.0, 4.0) as usize
        } else {
            0
        };
        write!(f, "{:.digits$} ± {:.digits$}", self.mean, self.error)
    }
}

/// The value that a share of all do not exceed (by nearest rank); `None` of nothing.
///
/// ```
/// use examples::stats::percentile;
///
/// let hundred: Vec<_> = (1..=100).rev().collect();
/// assert_eq!(percentile(&hundred, 0.5), Some(50));
/// assert_eq!(percentile(&hundred, 0.99), Some(99));
/// assert_eq!(percentile(&[7], 0.99), Some(7));
/// assert_eq!(percentile(&[1, 2, 3], 0.5), Some(2));
/// assert_eq!(percentile(&[], 0.5), None);
/// ```
pub fn percentile(values: &[u64], share: f64) -> Option<u64> {
    let mut values = values.to_vec();
    values.sort_unstable();
    let rank = (values.len() as f64 * share).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_knows_its_error() {
        assert_eq!(Mean::of([]), None);
        let one = Mean::of([3.0]).unwrap();
        assert_eq!((one.mean, one.error), (3.0, 0.0));
        // Sum of squares 10, variance 2.5, over 5 values 0.5.
        let five = Mean::of([1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(five.mean, 3.0);
        assert!((five.error - 0.5_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_distance_and_a_ratio_have_the_errors_of_both() {
        let mean = |mean, error| Mean { mean, error };
        assert_eq!(mean(10.0, 3.0).distance(mean(20.0, 4.0)), -2.0);
        let ratio = mean(20.0, 0.6).over(mean(10.0, 0.4));
        assert_eq!(ratio.mean, 2.0);
        assert!((ratio.error - 0.1).abs() < 1e-12, "{ratio}");
    }

    #[test]
    fn shows_as_many_digits_as_are_known() {
        let shown = |mean, error| Mean { mean, error }.to_string();
        assert_eq!(shown(51.234, 0.12), "51.2 ± 0.1");
        assert_eq!(shown(51.234, 0.084), "51.23 ± 0.08");
        assert_eq!(shown(51.234, 0.0999), "51.2 ± 0.1");
        assert_eq!(shown(3462.4, 41.3), "3462 ± 41");
        assert_eq!(shown(5.0, 0.0), "5 ± 0");
        assert_eq!(shown(1.0, 1e-9), "1.0000 ± 0.0000");
    }
}
