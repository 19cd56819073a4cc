//! A scenario: experiments, what is measured of them, and the limits that they must keep.

use std::collections::BTreeMap;

use crate::Error;
use crate::chart::{Chart, Line};
use crate::load::{Load, Strategy};
use crate::measures::Measure;
use crate::results::Results;
use crate::runs::Crew;
use crate::service::{Outcome, run};
use crate::stats::Mean;
use crate::table::table;

/// What is run, and what it is compared with.
pub(crate) struct Scenario {
    /// What was run, in a line.
    pub(crate) title: String,
    /// The names of what tells the experiments apart.
    pub(crate) labels: &'static [&'static str],
    pub(crate) measures: &'static [Measure],
    pub(crate) experiments: Vec<Experiment>,
    /// What the table does not say by itself; lines.
    pub(crate) remarks: &'static str,
    /// What is drawn over time: of a run, values that are equally far apart.
    pub(crate) series: fn(&Outcome) -> Vec<Vec<f64>>,
    /// By file name, without its ending.
    pub(crate) draw: fn(&Findings) -> Vec<(&'static str, Chart)>,
}

impl Scenario {
    /// Without charts.
    pub(crate) fn new(
        title: &str,
        labels: &'static [&'static str],
        measures: &'static [Measure],
    ) -> Self {
        Self {
            title: title.to_owned(),
            labels,
            measures,
            experiments: Vec::new(),
            remarks: "",
            series: |_| Vec::new(),
            draw: |_| Vec::new(),
        }
    }

    /// Adds an experiment with each of these strategies.
    pub(crate) fn add<'a>(
        &mut self,
        name: &str,
        load: Load,
        strategies: impl IntoIterator<Item = &'a Strategy>,
        limits: &[Limit],
    ) {
        for strategy in strategies {
            self.experiments.push(Experiment {
                name: name.to_owned(),
                load,
                strategy: *strategy,
                limits: limits.to_vec(),
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

/// What the mean of a measure must not pass.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    AtMost(Measure, f64),
    AtLeast(Measure, f64),
    /// So many times what another strategy needs.
    Times(Measure, &'static str, f64),
}

/// What was measured.
pub(crate) struct Findings {
    pub(crate) seeds: u64,
    pub(crate) results: Results,
    /// By the name of the experiment and that of the strategy.
    series: BTreeMap<[String; 2], Vec<Vec<Mean>>>,
}

impl Findings {
    /// One of the series of an experiment as a line; `number` gives its colour and mark. Its values are so far apart,
    /// and the first one is half as far from zero.
    pub(crate) fn line(
        &self,
        labels: [&str; 2],
        series: usize,
        apart: f64,
        (name, number): (&str, usize),
    ) -> Line {
        let means = &self.series[&labels.map(str::to_owned)][series];
        let point = |(place, mean): (usize, &Mean)| ((place as f64 + 0.5) * apart, *mean);
        Line::measured(name, number, means.iter().enumerate().map(point).collect())
    }

    /// A mean in words.
    pub(crate) fn mean(&self, labels: [&str; 2], measure: Measure, digits: usize) -> String {
        let mean = self.results.mean(&labels, measure.0);
        format!("{:.digits$}", mean.unwrap_or_default().mean)
    }
}

/// Runs all experiments.
pub(crate) fn measure(scenario: &Scenario, crew: &Crew) -> Findings {
    let mut results = Results::new(scenario.labels, scenario.measures.iter().map(|it| it.0));
    let mut series = BTreeMap::new();
    for Experiment {
        name,
        load,
        strategy,
        ..
    } in &scenario.experiments
    {
        let runs = crew.run(&format!("{name}, {}", strategy.name), |rng| {
            let outcome = run(load, strategy, rng);
            let measured = scenario.measures.iter().map(|it| it.1(&outcome, load));
            (measured.collect::<Vec<_>>(), (scenario.series)(&outcome))
        });
        let means = (0..scenario.measures.len())
            .map(|place| Mean::of(runs.iter().filter_map(|(measured, _)| measured[place])));
        results.add([name, strategy.name], means.collect());
        let drawn: Vec<_> = runs.into_iter().map(|(_, series)| series).collect();
        let shape: Vec<_> = drawn.first().into_iter().flatten().map(Vec::len).collect();
        let means = shape.into_iter().enumerate().map(|(one, length)| {
            let mean = |at| Mean::of(drawn.iter().map(|run| run[one][at]));
            (0..length).filter_map(mean).collect()
        });
        let labels = [name.clone(), strategy.name.to_owned()];
        series.insert(labels, means.collect());
    }
    Findings {
        seeds: crew.seeds(),
        results,
        series,
    }
}

/// A table of all limits, and how many of them are missed.
pub(crate) fn check(scenario: &Scenario, results: &Results) -> Result<(String, usize), Error> {
    let mut rows = Vec::new();
    let mut missed = 0;
    for experiment in &scenario.experiments {
        let (name, own) = (&*experiment.name, experiment.strategy.name);
        let of = |strategy: &str, (what, _): Measure| {
            let mean = results.mean(&[name, strategy], what);
            mean.ok_or_else(|| format!("{name}, {strategy}: no {what}"))
        };
        for limit in &experiment.limits {
            let (what, mean, is_held, bound) = match *limit {
                Limit::AtMost(measure, most) => {
                    let mean = of(own, measure)?;
                    let bound = format!("at most {most:.2}");
                    (measure.0.to_owned(), mean, mean.mean <= most, bound)
                }
                Limit::AtLeast(measure, least) => {
                    let mean = of(own, measure)?;
                    let bound = format!("at least {least:.2}");
                    (measure.0.to_owned(), mean, mean.mean >= least, bound)
                }
                Limit::Times(measure, other, most) => {
                    let mean = of(own, measure)?.over(of(other, measure)?);
                    let bound = format!("at most {most:.2}");
                    let what = format!("{} / that of {other}", measure.0);
                    (what, mean, mean.mean <= most, bound)
                }
            };
            missed += usize::from(!is_held);
            let verdict = if is_held { "held" } else { "MISSED" };
            rows.push(vec![
                what,
                format!("{name}, {own}"),
                mean.to_string(),
                bound,
                verdict.to_owned(),
            ]);
        }
    }
    let header = ["limit", "with", "measured", "", ""];
    let missed_of = format!("{missed} of {} limits are missed", rows.len());
    Ok((format!("{}{missed_of}\n", table(&header, 2, &rows)), missed))
}
