//! Whether a [`Rate`](backoff_cloud::Rate) is worth its place: it is compared with full jitter, and held
//! against limits.

use crate::Error;
use crate::calls::Sharing;
use crate::rate::{CALLS, DONE, EXPERIMENTS, Experiment, FAIR, TIME, USED, measure, runs};
use crate::results::Results;
use crate::runs::Crew;
use crate::verdict::{Bound, Limit, Verdict};

/// Calls for a job, and the time as a multiple of the least.
const ONE_PROCESS: (f64, f64) = (1.06, 1.10);
/// The first burst of 500 calls costs 0.15 alone.
const MANY_WORKERS: (f64, f64) = (1.18, 1.10);
const PROCESSES: (f64, f64) = (1.12, 1.08);
const JAIN: f64 = 0.96;
/// Seconds until 90 % of a higher limit are used.
const FOUND: f64 = 8.0;
/// How many times what full jitter needs may be needed.
const WORST: f64 = 1.02;

/// Runs everything with so many seeds.
pub(crate) fn check(seeds: u64) -> Result<Verdict, Error> {
    let crew = Crew::new(seeds, runs(EXPERIMENTS));
    verdict(&crew, EXPERIMENTS, Sharing::Rate)
}

pub(crate) fn verdict(
    crew: &Crew,
    experiments: &[Experiment],
    checked: Sharing,
) -> Result<Verdict, Error> {
    let results = measure(crew, experiments)?;
    let limits = experiments.iter().map(|one| limits(one, checked, &results));
    let limits: Vec<_> = limits.collect::<Result<_, _>>()?;
    Ok(Verdict::new(
        &format!("{}\n", results.table()),
        limits.into_iter().flatten().collect(),
    ))
}

fn limits(
    experiment: &Experiment,
    checked: Sharing,
    results: &Results,
) -> Result<Vec<Limit>, Error> {
    let name = experiment.name;
    let load = &experiment.load;
    let of = |sharing: Sharing, measure| {
        let cell = results.mean(&[name, sharing.name()], measure);
        cell.ok_or_else(|| format!("{name}, {}: no {measure}", sharing.name()))
    };
    let limit = |what: &str, measured, bound| Limit {
        what: what.to_owned(),
        bound,
        measured,
        at: name.to_owned(),
    };
    let own = |measure, bound| of(checked, measure).map(|own| limit(measure, own, bound));
    let mut limits = vec![own(DONE, Bound::AtLeast(100.0))?];
    if load.processes > 1 {
        limits.push(own(FAIR, Bound::AtLeast(JAIN))?);
    }
    if let Some((calls, time)) = experiment.most {
        limits.push(own(CALLS, Bound::AtMost(calls))?);
        limits.push(own(TIME, Bound::AtMost(time))?);
        return Ok(limits);
    }
    for measure in [CALLS, TIME] {
        let ratio = of(checked, measure)?.over(of(Sharing::Nothing, measure)?);
        let what = format!("{measure} / full jitter's");
        limits.push(limit(&what, ratio, Bound::AtMost(WORST)));
    }
    if load.trickle == 0 && !load.quota.is_raised() {
        let (calls, time) = match (load.processes, load.workers) {
            (1, ..=100) => ONE_PROCESS,
            (1, _) => MANY_WORKERS,
            _ => PROCESSES,
        };
        limits.push(own(CALLS, Bound::AtMost(calls))?);
        limits.push(own(TIME, Bound::AtMost(time))?);
    }
    if load.quota.is_raised() && !load.quota.has_windows() {
        limits.push(own(USED, Bound::AtMost(FOUND))?);
    }
    Ok(limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_holds_the_limits_that_full_jitter_misses() {
        // One process, several, and a limit that is raised: all limits that there are.
        let experiments = [1, 10, 12].map(|number| EXPERIMENTS[number]);
        let crew = Crew::silent(6);
        let verdict = |checked| verdict(&crew, &experiments, checked).unwrap();
        let rate = verdict(Sharing::Rate);
        assert!(rate.held().is_ok(), "{}", rate.text);
        assert_eq!(rate.limits.len(), 5 + 6 + 4);
        assert!(!rate.text.contains("MISSED"));
        // In one process and in several.
        let alone = verdict(Sharing::Nothing);
        let missed = alone.limits.iter().filter(|limit| !limit.is_held());
        let missed: Vec<_> = missed.map(|limit| limit.what.as_str()).collect();
        let misses = |what| missed.iter().filter(|missed| **missed == what).count();
        let all = [CALLS, TIME, DONE].map(misses);
        assert_eq!(all, [2, 2, 0], "{}", alone.text);
        let error = alone.held().unwrap_err().to_string();
        assert_eq!(error, format!("{} of 15 limits are missed", missed.len()));
        assert!(alone.text.contains("MISSED"));
    }
}
