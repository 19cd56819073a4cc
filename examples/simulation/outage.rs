//! A service is down for half a minute: who makes it worse, and does it come back?
//!
//! 20 client processes share a load of 700 requests a second. Each
//! request makes up to five attempts (base 100 ms, full jitter); each process has a budget, a breaker
//! or both of its own, as a `static` in a program is the process' own. The service is that of
//! [`service`](crate::service). It answers for 10 s, then it is down for 30 s, refusing or hanging,
//! then it is up for a minute. In other runs it is up, and answers a share of all attempts with an
//! error for three minutes, the last of which is looked at, once the budgets have settled.
//!
//! It has recovered at the end of the last second in which more than 1 % of the requests that came
//! were not answered at their first attempt.

use crate::Error;
use crate::Findings;
use crate::axis::Scale;
use crate::chart::{Chart, Line, Panel};
use crate::results::Results;
use crate::runs::Crew;
use crate::service::{CAPACITY, Course, LOAD, Tally, Trouble, run};
use crate::stats::Mean;
use crate::strategies::{Contender, OUTAGE};
use crate::verdict::{Bound, Limit, Verdict};

const CLIENTS: usize = 20;

/// A trouble, its name in the table, and from which second on it is looked at.
struct Experiment {
    name: &'static str,
    course: Course,
    looked_at_from: u64,
}

const EXPERIMENTS: [Experiment; 4] = [
    experiment("down, refusing", Trouble::Refusing, 10, (10, 40, 100)),
    experiment(DRAWN, Trouble::Hanging, 10, (10, 40, 100)),
    experiment("5 % errors", Trouble::Errors(0.05), 120, (0, 180, 180)),
    experiment(ERRORS, Trouble::Errors(0.2), 120, (0, 180, 180)),
];

/// The experiment of the chart.
const DRAWN: &str = "down, hanging";
const ERRORS: &str = "20 % errors";

/// So many contenders are on the chart: the other breakers' lines would lie on that of the first one.
const DRAWN_CONTENDERS: usize = 7;

/// Without a budget, the service does not come back from the drawn trouble.
const TITLE: &str = "Without a budget the retries keep the service down after it is up again";

const fn experiment(
    name: &'static str,
    trouble: Trouble,
    looked_at_from: u64,
    (from, until, end): (u64, u64, u64),
) -> Experiment {
    let course = Course {
        trouble,
        from,
        until,
        end,
    };
    Experiment {
        name,
        course,
        looked_at_from,
    }
}

impl Experiment {
    fn is_outage(&self) -> bool {
        !matches!(self.course.trouble, Trouble::Errors(_))
    }

    /// One run for each seed.
    fn run(&self, crew: &Crew, contender: &Contender) -> Vec<Vec<Tally>> {
        let title = format!("{}, {}", self.name, contender.name);
        crew.run(&title, |rng| {
            let clients = [(); CLIENTS].map(|()| (contender.client)());
            run(&self.course, &clients, rng)
        })
    }

    /// The seconds of the trouble that are looked at.
    fn trouble<'a>(&self, tallies: &'a [Tally]) -> &'a [Tally] {
        &tallies[self.looked_at_from as usize..self.course.until as usize]
    }

    fn attempts_per_request(&self, tallies: &[Tally]) -> f64 {
        let trouble = self.trouble(tallies);
        total(trouble, |tally| tally.attempts) / total(trouble, |tally| tally.requests)
    }

    /// Of the requests that came during the trouble, in percent.
    fn answered(&self, tallies: &[Tally]) -> f64 {
        percent_answered(self.trouble(tallies))
    }

    /// From the beginning of the trouble to the end of the run.
    fn lost(&self, tallies: &[Tally]) -> f64 {
        let tallies = &tallies[self.looked_at_from as usize..];
        total(tallies, |tally| tally.requests - tally.answered)
    }

    /// How long a request that came during the trouble took until it was given up, in seconds.
    fn lost_for(&self, tallies: &[Tally]) -> f64 {
        let trouble = self.trouble(tallies);
        let lost = total(trouble, |tally| tally.requests - tally.answered);
        total(trouble, |tally| tally.lost_for) / 1e3 / lost.max(1.0)
    }

    /// Seconds after the end of an outage; `None` if not within the run.
    fn recovery(&self, tallies: &[Tally]) -> Option<f64> {
        let after = &tallies[self.course.until as usize..];
        let troubled = |tally: &Tally| 100 * tally.at_once < 99 * tally.requests;
        let seconds = after.iter().rposition(troubled).map_or(0, |last| last + 1);
        (seconds < after.len()).then_some(seconds as f64)
    }

    fn means(&self, runs: &[Vec<Tally>]) -> Vec<Option<Mean>> {
        let mean = |of: &dyn Fn(&[Tally]) -> f64| Mean::of(runs.iter().map(|run| of(run)));
        let outage = |mean: Option<Mean>| mean.filter(|_| self.is_outage());
        vec![
            mean(&|run| self.attempts_per_request(run)),
            mean(&|run| self.answered(run)),
            mean(&|run| self.lost(run)),
            mean(&|run| self.lost_for(run)),
            outage(Mean::of(runs.iter().filter_map(|run| self.recovery(run)))),
            outage(mean(&|run| match self.recovery(run) {
                Some(_) => 0.0,
                None => 100.0,
            })),
        ]
    }
}

fn total(tallies: &[Tally], of: impl Fn(&Tally) -> u32) -> f64 {
    tallies.iter().map(|tally| f64::from(of(tally))).sum()
}

fn percent_answered(tallies: &[Tally]) -> f64 {
    100.0 * total(tallies, |tally| tally.answered) / total(tallies, |tally| tally.requests)
}

const ATTEMPTS: &str = "attempts per request";
const ANSWERED: &str = "answered, %";
const RECOVERED: &str = "recovered after, s";
const LABELS: [&str; 2] = ["trouble", "budget or breaker"];
const MEASURES: [&str; 6] = [
    ATTEMPTS,
    ANSWERED,
    "requests lost",
    "given up after, s",
    RECOVERED,
    "never recovered, %",
];

/// Whether a breaker spares a service that is down, and lets most calls through if a part of them fails.
pub(crate) fn check(seeds: u64) -> Result<Verdict, Error> {
    let [usual, slower] = ["breaker", "breaker, 15 of 24"];
    let bounds = [
        (DRAWN, usual, ATTEMPTS, Bound::AtMost(0.0772)),
        (DRAWN, usual, RECOVERED, Bound::AtMost(1.0)),
        (ERRORS, usual, ANSWERED, Bound::AtLeast(96.3)),
        (DRAWN, slower, ATTEMPTS, Bound::AtMost(0.0865)),
        (DRAWN, slower, RECOVERED, Bound::AtMost(1.0)),
        (ERRORS, slower, ANSWERED, Bound::AtLeast(99.9)),
    ];
    let crew = Crew::new(seeds, 4);
    let mut results = Results::new(&LABELS, &MEASURES);
    for experiment in EXPERIMENTS
        .iter()
        .filter(|it| [DRAWN, ERRORS].contains(&it.name))
    {
        for contender in OUTAGE
            .iter()
            .filter(|it| [usual, slower].contains(&it.name))
        {
            let runs = experiment.run(&crew, contender);
            results.add([experiment.name, contender.name], experiment.means(&runs));
        }
    }
    let limits = bounds.map(|(trouble, breaker, what, bound)| {
        let measured = results.mean(&[trouble, breaker], what);
        Ok(Limit {
            what: what.to_owned(),
            bound,
            measured: measured.ok_or_else(|| format!("{trouble}, {breaker}: no {what}"))?,
            at: format!("{trouble}, {breaker}"),
        })
    });
    let limits: Result<_, Error> = limits.into_iter().collect();
    Ok(Verdict::new(&format!("{}\n", results.table()), limits?))
}

/// Every budget and every breaker in every trouble.
pub(crate) fn findings(seeds: u64) -> Result<Findings, Error> {
    let crew = Crew::new(seeds, EXPERIMENTS.len() * OUTAGE.len());
    let mut results = Results::new(&LABELS, &MEASURES);
    let [mut attempts, mut answered] = [Vec::new(), Vec::new()];
    for experiment in &EXPERIMENTS {
        for (index, contender) in OUTAGE.iter().enumerate() {
            let runs = experiment.run(&crew, contender);
            results.add([experiment.name, contender.name], experiment.means(&runs));
            if experiment.name == DRAWN && index < DRAWN_CONTENDERS {
                let line = |of| Line::measured(contender.name, index, over_time(&runs, of));
                let attempted =
                    |bin: &[Tally]| total(bin, |tally| tally.attempts) / bin.len() as f64;
                attempts.push(line(&attempted));
                answered.push(line(&percent_answered));
            }
        }
    }
    drop(crew);
    Ok(Findings {
        title: format!(
            "A service of {CAPACITY}/s at a load of {LOAD}/s from {CLIENTS} processes, {seeds} seeds."
        ),
        results,
        remarks:
            "attempts, answered, given up: during the trouble. recovered after: the mean of the runs that \
                  recovered within a minute.\n"
                .to_owned(),
        charts: vec![("outage-hanging", chart(attempts, answered, seeds))],
    })
}

/// The seconds of a point on a chart.
const BIN: usize = 2;

fn over_time(runs: &[Vec<Tally>], of: &dyn Fn(&[Tally]) -> f64) -> Vec<(f64, Mean)> {
    let seconds = runs.first().map_or(0, Vec::len);
    (0..seconds / BIN)
        .filter_map(|bin| {
            let from = bin * BIN;
            let mean = Mean::of(runs.iter().map(|tallies| of(&tallies[from..from + BIN])))?;
            Some((from as f64 + BIN as f64 / 2.0, mean))
        })
        .collect()
}

fn chart(mut attempts: Vec<Line>, answered: Vec<Line>, seeds: u64) -> Chart {
    let Course {
        from, until, end, ..
    } = EXPERIMENTS[1].course;
    let half = BIN as f64 / 2.0;
    attempts.push(Line::bound(
        "the service's capacity",
        [half, end as f64 - half].map(|time| (time, CAPACITY as f64)),
    ));
    let panel = |y, scale, lines| Panel {
        band: Some((from as f64, until as f64, "down")),
        ..Panel::new(("time, s", Scale::Linear), (y, scale), lines)
    };
    Chart {
        title: TITLE.to_owned(),
        subtitle: format!(
            "For 30 s a service of {CAPACITY}/s does not answer; {CLIENTS} processes call it {LOAD} times a \
             second, with up to five attempts.\nMeans of {seeds} seeds in steps of {BIN} s; bars \
             show ± 1 standard error where it is larger than the line."
        ),
        panels: vec![
            panel("attempts a second", Scale::Logarithmic, attempts),
            panel("requests that are answered, %", Scale::Linear, answered),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Attempts per request, percent answered, and seconds to recovery, of one run.
    fn one(trouble: Trouble, name: &str) -> (f64, f64, Option<f64>) {
        let contender = OUTAGE.iter().find(|one| one.name == name).unwrap();
        let experiment = experiment("", trouble, 10, (10, 40, 60));
        let runs = experiment.run(&Crew::silent(1), contender);
        let attempts = experiment.attempts_per_request(&runs[0]);
        (
            attempts,
            experiment.answered(&runs[0]),
            experiment.recovery(&runs[0]),
        )
    }

    #[test]
    fn without_a_budget_a_service_that_hung_does_not_come_back() {
        let (refused, _, recovery) = one(Trouble::Refusing, "no budget");
        assert!((refused - 4.95).abs() < 0.05, "{refused}");
        assert!(recovery.is_some());
        let (hanging, _, recovery) = one(Trouble::Hanging, "no budget");
        assert!((hanging - 4.62).abs() < 0.05, "{hanging}");
        assert_eq!(recovery, None);
    }

    #[test]
    fn with_a_budget_it_does() {
        for (name, most) in [("gRPC (10, 0.1)", 1.01), ("AWS, retry costs 5", 1.1)] {
            let (attempts, _, recovery) = one(Trouble::Refusing, name);
            assert!(attempts < most, "{name}: {attempts}");
            assert!(recovery.is_some_and(|seconds| seconds <= 2.0), "{name}");
        }
    }

    #[test]
    fn with_a_breaker_few_attempts_are_made_and_the_service_comes_back() {
        for trouble in [Trouble::Refusing, Trouble::Hanging] {
            let (attempts, _, recovery) = one(trouble, "breaker");
            assert!(attempts < 0.1, "{attempts}");
            assert!(
                recovery.is_some_and(|seconds| seconds <= 3.0),
                "{recovery:?}"
            );
        }
    }

    #[test]
    fn without_retries_there_is_an_attempt_for_each_request() {
        let (attempts, answered, recovery) = one(Trouble::Hanging, "no retry");
        assert_eq!((attempts, answered, recovery), (1.0, 0.0, Some(0.0)));
    }
}
