//! A scenario: experiments, what is measured of them, and the limits that they must keep.

use std::collections::BTreeMap;

use crate::Error;
use crate::chart::Chart;
use crate::load::{Load, Strategy};
use crate::measures::Measure;
use crate::results::Results;
use crate::runs::runs;
use crate::service::{Outcome, run};
use crate::stats::Mean;
use crate::table::table;

/// What is run, and what it is compared with.
pub(crate) struct Scenario {
    /// What was run, in a line.
    pub(crate) title: &'static str,
    /// The names of what tells the experiments apart.
    pub(crate) labels: [&'static str; 2],
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
    /// Without experiments and charts.
    pub(crate) fn new(
        title: &'static str,
        labels: [&'static str; 2],
        measures: &'static [Measure],
    ) -> Self {
        Self {
            title,
            labels,
            measures,
            experiments: Vec::new(),
            remarks: "",
            series: |_| Vec::new(),
            draw: |_| Vec::new(),
        }
    }

    /// Adds an experiment with each of these strategies.
    pub(crate) fn add(
        &mut self,
        name: &str,
        load: Load,
        strategies: &[Strategy],
        limits: &[Limit],
    ) {
        let experiments = strategies.iter().map(|strategy| Experiment {
            name: name.to_owned(),
            load,
            strategy: *strategy,
            limits: limits.to_vec(),
        });
        self.experiments.extend(experiments);
    }
}

/// A load and a strategy, which are run with every seed.
pub(crate) struct Experiment {
    pub(crate) name: String,
    pub(crate) load: Load,
    pub(crate) strategy: Strategy,
    limits: Vec<Limit>,
}

/// From where to where the mean of a measure must be, or its ratio to that of another strategy.
#[derive(Clone, Copy)]
pub(crate) struct Limit(Measure, Option<&'static str>, f64, f64);

impl Limit {
    pub(crate) fn at_most(measure: Measure, most: f64) -> Self {
        Self(measure, None, f64::MIN, most)
    }

    pub(crate) fn at_least(measure: Measure, least: f64) -> Self {
        Self(measure, None, least, f64::MAX)
    }

    pub(crate) fn times(measure: Measure, other: &'static str, most: f64) -> Self {
        Self(measure, Some(other), f64::MIN, most)
    }
}

/// What was measured.
pub(crate) struct Findings {
    pub(crate) seeds: u64,
    pub(crate) results: Results,
    /// By the name of the experiment and that of the strategy.
    series: BTreeMap<[String; 2], Vec<Vec<Mean>>>,
}

impl Findings {
    /// A mean in words.
    pub(crate) fn mean(&self, labels: [&str; 2], measure: Measure, digits: usize) -> String {
        let mean = self.results.mean(&labels, measure.0);
        format!("{:.digits$}", mean.unwrap_or_default().mean)
    }

    /// The points of one of the series of an experiment, so far apart; the first one is half as far from zero.
    pub(crate) fn points(&self, labels: [&str; 2], series: usize, apart: f64) -> Vec<(f64, Mean)> {
        let means = self.series[&labels.map(str::to_owned)][series].iter();
        let point = |(place, mean): (usize, &Mean)| ((place as f64 + 0.5) * apart, *mean);
        means.enumerate().map(point).collect()
    }
}

/// Runs all experiments.
pub(crate) fn measure(scenario: &Scenario, seeds: u64) -> Findings {
    let measures = scenario.measures;
    let mut findings = Findings {
        seeds,
        results: Results::new(scenario.labels, measures.iter().map(|it| it.0)),
        series: BTreeMap::new(),
    };
    for it in &scenario.experiments {
        let runs = runs(seeds, |rng| {
            let outcome = run(&it.load, &it.strategy, rng);
            let values = measures.iter().map(|measure| measure.1(&outcome, &it.load));
            (values.collect::<Vec<_>>(), (scenario.series)(&outcome))
        });
        let mean = |at| Mean::of(runs.iter().filter_map(|(values, _)| values[at]));
        let means = (0..measures.len()).map(mean).collect();
        findings.results.add([&it.name, it.strategy.name], means);
        let series = (0..runs[0].1.len()).map(|one| {
            let mean = |at| Mean::of(runs.iter().map(|(_, series)| series[one][at]));
            (0..runs[0].1[one].len()).filter_map(mean).collect()
        });
        let labels = [it.name.clone(), it.strategy.name.to_owned()];
        findings.series.insert(labels, series.collect());
    }
    findings
}

/// A table of all limits, and how many of them are missed.
pub(crate) fn check(scenario: &Scenario, results: &Results) -> Result<(String, usize), Error> {
    let (mut rows, mut missed) = (Vec::new(), 0);
    for it in &scenario.experiments {
        for Limit((what, _), other, least, most) in &it.limits {
            let of = |strategy: &str| {
                let mean = results.mean(&[&it.name, strategy], what);
                mean.ok_or_else(|| format!("{}, {strategy}: no {what}", it.name))
            };
            let (mut mean, mut name) = (of(it.strategy.name)?, (*what).to_owned());
            if let Some(other) = other {
                mean = mean.over(of(other)?);
                name += &format!(" / that of {other}");
            }
            let is_held = (*least..=*most).contains(&mean.mean);
            missed += usize::from(!is_held);
            let bound = match *most < f64::MAX {
                true => format!("at most {most}"),
                false => format!("at least {least}"),
            };
            let at = format!("{}, {}", it.name, it.strategy.name);
            let verdict = if is_held { "held" } else { "MISSED" };
            rows.push(vec![name, at, mean.to_string(), bound, verdict.to_owned()]);
        }
    }
    let header = ["limit", "with", "measured", "", ""];
    Ok((table(&header, 2, &rows), missed))
}
