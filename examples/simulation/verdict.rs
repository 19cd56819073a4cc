//! Limits, and whether what was measured is within them.

use crate::Error;
use crate::stats::Mean;

/// What a mean must not pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// A bound, and what was measured.
pub(crate) struct Limit {
    pub(crate) what: String,
    pub(crate) bound: Bound,
    pub(crate) measured: Mean,
    /// In which circumstances, if there are several.
    pub(crate) at: String,
}

impl Limit {
    pub(crate) fn is_held(&self) -> bool {
        match self.bound {
            Bound::AtMost(most) => self.measured.mean <= most,
            Bound::AtLeast(least) => self.measured.mean >= least,
        }
    }

    fn row(&self) -> Vec<String> {
        let bound = match self.bound {
            Bound::AtMost(most) => format!("at most {most:.2}"),
            Bound::AtLeast(least) => format!("at least {least:.2}"),
        };
        let verdict = if self.is_held() { "held" } else { "MISSED" };
        vec![
            self.what.clone(),
            self.at.clone(),
            self.measured.to_string(),
            bound,
            verdict.to_owned(),
        ]
    }
}

/// What a check found.
pub(crate) struct Verdict {
    /// For people.
    pub(crate) text: String,
    pub(crate) limits: Vec<Limit>,
}

impl Verdict {
    /// The table of the limits comes after this text.
    pub(crate) fn new(text: &str, limits: Vec<Limit>) -> Self {
        let rows: Vec<_> = limits.iter().map(Limit::row).collect();
        let header = ["limit", "with", "measured", "", ""];
        let table = examples::table::table(&header, 2, &rows);
        let text = format!("{text}{table}\n");
        Self { text, limits }
    }

    /// This one, and another.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.text = format!("{}\n{}", self.text, other.text);
        self.limits.extend(other.limits);
        self
    }

    /// # Errors
    /// Where a limit is missed.
    pub(crate) fn held(&self) -> Result<(), Error> {
        let missed = self.limits.iter().filter(|limit| !limit.is_held()).count();
        if missed > 0 {
            return Err(format!("{missed} of {} limits are missed", self.limits.len()).into());
        }
        Ok(())
    }
}
