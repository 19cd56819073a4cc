//! One way several times: how a single run ends is luck.

use crate::record::Story;

/// The runs of one way, one for each seed. The first one is drawn.
#[derive(Debug)]
pub(crate) struct Runs(Vec<Story>);

impl Runs {
    pub(crate) fn of(drawn: Story) -> Self {
        Self(vec![drawn])
    }

    pub(crate) fn push(&mut self, story: Story) {
        self.0.push(story);
    }

    /// The run that is drawn.
    pub(crate) fn drawn(&self) -> &Story {
        &self.0[0]
    }

    pub(crate) fn number(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Story> {
        self.0.iter()
    }

    /// The mean of all runs, in tenths where that can be other than a whole number.
    pub(crate) fn mean(&self, of: impl Fn(&Story) -> usize) -> String {
        let sum: usize = self.all().map(of).sum();
        let digits = usize::from(!sum.is_multiple_of(self.number()));
        format!("{:.digits$}", sum as f64 / self.number() as f64)
    }

    /// The mean time until the last writer was told, in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        let sum: f64 = self.all().map(|story| story.took.as_secs_f64()).sum();
        sum / self.number() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Ending;

    #[test]
    fn means_are_of_all_runs() {
        let mut runs = Runs::of(Story::of("a way", &[Ending::Arrived; 3], 2000));
        assert_eq!(runs.mean(Story::arrived), "3");
        runs.push(Story::of("a way", &[Ending::Arrived; 4], 3000));
        assert_eq!(runs.mean(Story::arrived), "3.5");
        assert_eq!((runs.number(), runs.seconds()), (2, 2.5));
        assert_eq!(runs.drawn().arrived(), 3);
    }
}
