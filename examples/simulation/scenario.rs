//! A scenario: experiments, what is measured of them, and the limits that they must keep.

use std::collections::BTreeMap;
use std::ops::Range;
use std::thread;

use rand::SeedableRng as _;
use rand::rngs::SmallRng;

use crate::chart::Chart;
use crate::load::{Load, Strategy};
use crate::measures::Measure;
use crate::results::Results;
use crate::service::{Outcome, run};
use crate::stats::Mean;

/// The names of what tells experiments apart.
type Labels = [&'static str; 2];

type Draw = fn(&Findings) -> Chart;

/// What is run, and what it is compared with.
pub(crate) struct Scenario {
    /// What was run, in a line.
    pub(crate) title: &'static str,
    pub(crate) labels: Labels,
    pub(crate) measures: &'static [Measure],
    pub(crate) experiments: Vec<Experiment>,
    /// What is drawn over time, of a run: values that are equally far apart.
    pub(crate) series: fn(&Outcome) -> Vec<f64>,
    /// The name of its file, without the ending, and the picture.
    pub(crate) picture: Option<(&'static str, Draw)>,
}

impl Scenario {
    /// Without experiments and a picture.
    pub(crate) fn new(title: &'static str, labels: Labels, measures: &'static [Measure]) -> Self {
        Self {
            title,
            labels,
            measures,
            experiments: Vec::new(),
            series: |_| Vec::new(),
            picture: None,
        }
    }

    /// Adds an experiment with each of these strategies. The limits are those of the last one.
    pub(crate) fn add(&mut self, name: &str, load: Load, ways: &[Strategy], limits: &[Limit]) {
        for (number, strategy) in ways.iter().enumerate() {
            let is_last = number + 1 == ways.len();
            self.experiments.push(Experiment {
                name: name.to_owned(),
                load,
                strategy: *strategy,
                limits: if is_last { limits.to_vec() } else { vec![] },
            });
        }
    }
}

/// A load and a strategy, which are run with every seed.
pub(crate) struct Experiment {
    pub(crate) name: String,
    pub(crate) load: Load,
    pub(crate) strategy: Strategy,
    limits: Vec<Limit>,
}

/// From where to where the mean of a measure must be, or its ratio to that of the named strategy.
pub(crate) type Limit = (Measure, Option<&'static str>, f64, f64);

type Points = Vec<(f64, Mean)>;

/// What was measured.
pub(crate) struct Findings {
    pub(crate) seeds: u64,
    pub(crate) results: Results,
    /// By the name of the experiment and that of the strategy.
    series: BTreeMap<[String; 2], Vec<Mean>>,
}

impl Findings {
    /// A part of the series of an experiment, as points so far apart; the first one is half as far from zero.
    pub(crate) fn points(&self, labels: [&str; 2], part: Range<usize>, apart: f64) -> Points {
        let means = self.series[&labels.map(str::to_owned)][part].iter();
        let point = |(place, mean): (usize, &Mean)| ((place as f64 + 0.5) * apart, *mean);
        means.enumerate().map(point).collect()
    }
}

/// Runs all experiments.
pub(crate) fn measure(scenario: &Scenario, seeds: u64) -> Findings {
    let measures = scenario.measures;
    let mut results = Results::new(scenario.labels, measures.iter().map(|it| it.0));
    let mut series = BTreeMap::new();
    for it in &scenario.experiments {
        let runs = runs(seeds, |rng| {
            let outcome = run(&it.load, &it.strategy, rng);
            let values = measures.iter().map(|measure| measure.1(&outcome, &it.load));
            let series = (scenario.series)(&outcome).into_iter().map(Some);
            values.chain(series).collect::<Vec<_>>()
        });
        let mean = |at| Mean::of(runs.iter().filter_map(|values| values[at]));
        let mut means: Vec<_> = (0..runs[0].len()).map(mean).collect();
        let over_time = means.drain(measures.len()..).flatten().collect();
        results.add([&it.name, it.strategy.name], means);
        let labels = [it.name.clone(), it.strategy.name.to_owned()];
        series.insert(labels, over_time);
    }
    Findings {
        seeds,
        results,
        series,
    }
}

/// The same run over many seeds, on all cores. The results stand in the order of the seeds. A seed always gives the same
/// run, whichever thread takes it.
fn runs<T: Send>(seeds: u64, run: impl Fn(&mut SmallRng) -> T + Sync) -> Vec<T> {
    let run = |seed| run(&mut SmallRng::seed_from_u64(seed));
    let threads = thread::available_parallelism().map_or(1, |it| it.get() as u64);
    thread::scope(|scope| {
        let part = |of| (seeds * of / threads..seeds * (of + 1) / threads).map(run);
        let spawn = |of| scope.spawn(move || part(of).collect::<Vec<_>>());
        let parts: Vec<_> = (0..threads).map(spawn).collect();
        let joined = parts.into_iter().map(|it| it.join().expect("no panic"));
        joined.flatten().collect()
    })
}

/// A line for each limit that is missed.
pub(crate) fn missed(scenario: &Scenario, results: &Results) -> Vec<String> {
    let mut missed = Vec::new();
    for it in &scenario.experiments {
        for &((what, _), other, least, most) in &it.limits {
            let of = |strategy| results.mean(&[&it.name, strategy], what).unwrap_or(NOTHING);
            let mean = of(it.strategy.name);
            let mean = other.map_or(mean, |other| mean.over(of(other)));
            if !(least..=most).contains(&mean.mean) {
                let (at, with) = (&it.name, it.strategy.name);
                let beside = other.map_or_else(String::new, |it| format!(" / that of {it}"));
                let line = format!("{at}, {with}: {what}{beside} is {mean}, not {least} to {most}");
                missed.push(line);
            }
        }
    }
    missed
}

/// What was not measured misses every limit.
const NOTHING: Mean = Mean {
    mean: f64::NAN,
    error: 0.0,
};

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng as _;

    #[test]
    fn a_seed_gives_the_same_whoever_runs_it() {
        let alone = (0..50).map(|seed| SmallRng::seed_from_u64(seed).next_u64());
        assert_eq!(runs(50, |rng| rng.next_u64()), alone.collect::<Vec<_>>());
    }
}
