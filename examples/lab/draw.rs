//! The numbers and the charts of a state: calls of the library, in virtual time.

use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use backoff_cloud::{Decision, Jitter, Policy, RetryState, Verdict};
use examples::axis::Scale::{Linear, Logarithmic};
use examples::chart::{self, Axis, Chart, Line, PHONE, Panel};
use examples::simulation::clock::SECOND;
use examples::simulation::load::{Load, Strategy, Work};
use examples::simulation::measures::{ALL, CALLS, DONE, EACH, Measure, P50, P99, in_bins};
use examples::simulation::quota::Quota;
use examples::simulation::row::jittered;
use examples::simulation::service::{Outcome, run_until};
use examples::stats::Mean;
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use serde::Serialize;

use crate::Error;
use crate::state::{Crowd, State};

/// A chart, and its numbers as a table.
#[derive(Serialize)]
pub(crate) struct Drawn {
    pub(crate) svg: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<Option<f64>>>,
}

/// Everything that is computed of a state.
#[derive(Serialize)]
pub(crate) struct Charts {
    pub(crate) waits: Drawn,
    /// `None` if the simulation took too long.
    pub(crate) outage: Option<Drawn>,
    pub(crate) contention: Option<Drawn>,
    /// How the calls of each policy ended.
    pub(crate) ends: Vec<(String, Vec<Option<f64>>)>,
    /// The control whose number is to be lowered, and why.
    pub(crate) stopped: Option<(&'static str, String)>,
}

/// The names of the columns of `Charts::ends`, and what is measured.
pub(crate) const ENDS: [Measure; 4] = [DONE, P50, P99, EACH];

/// A policy beside others, and its name.
pub(crate) type Way = (&'static str, Policy);

/// The policy, the same without jitter, and the preset, if they differ.
pub(crate) fn ways(state: &State) -> Vec<Way> {
    let mut ways = vec![("yours", state.policy)];
    let others = [
        ("no jitter", state.policy.jitter(Jitter::None)),
        ("preset", state.preset),
    ];
    for (name, policy) in others {
        if ways.iter().all(|(_, way)| *way != policy) {
            ways.push((name, policy));
        }
    }
    ways
}

/// Draws all, in real time until this moment.
pub(crate) fn draw(state: &State, until: Instant) -> Result<Charts, Error> {
    let (load, ways) = (load(&state.crowd), ways(state));
    let run = |&(name, policy): &Way| {
        let policy = policy.without_budget();
        let strategy = Strategy::new(name, policy, Work::Request).sharing(state.shared());
        let mut rng = SmallRng::seed_from_u64(1);
        run_until(&load, &strategy, &mut rng, Some(until))
    };
    let (outcomes, crowds) = thread::scope(|scope| {
        let crowds = scope.spawn(|| crowds(state, until));
        let runs = ways.iter().map(|way| scope.spawn(|| run(way)));
        let runs: Vec<_> = runs.collect();
        let outcomes = runs.into_iter().map(|it| it.join().expect("no panic"));
        (
            outcomes.collect::<Vec<_>>(),
            crowds.join().expect("no panic"),
        )
    });
    let stopped = outcomes.iter().find(|it| it.is_stopped);
    let stopped = stopped.map(|it| too_much(&state.crowd, it));
    let ends = ways.iter().zip(&outcomes).map(|((name, _), outcome)| {
        let values = ENDS.map(|measure| measure.1(outcome, &load));
        ((*name).to_owned(), values.to_vec())
    });
    let ends = match stopped {
        Some(_) => Vec::new(),
        None => ends.collect(),
    };
    let outage = match stopped {
        Some(_) => None,
        None => Some(outage(&load, &ways, &outcomes)?),
    };
    Ok(Charts {
        waits: waits(&state.policy.without_budget())?,
        outage,
        contention: crowds.map(|lines| contention(&lines)).transpose()?,
        ends,
        stopped,
    })
}

fn too_much(crowd: &Crowd, outcome: &Outcome) -> (&'static str, String) {
    let each = outcome.sent / crowd.clients;
    let (control, why) = match each {
        200.. => (
            "max_attempts",
            format!("each client has called {each} times"),
        ),
        _ if crowd.clients > 100 => ("clients", format!("{} clients are many", crowd.clients)),
        _ => ("seconds", "it is long".to_owned()),
    };
    (
        control,
        format!("The simulation was stopped after two seconds: {why}. Lower this number."),
    )
}

/// How many retries the chart of the waits shows at most.
const RETRIES: usize = 12;
const SAMPLES: u64 = 100;

/// The waits of one call whose attempts all fail at once.
pub(crate) fn sample(policy: &Policy, seed: u64) -> Vec<Duration> {
    let (mut rng, mut now, mut waits) = (SmallRng::seed_from_u64(seed), Duration::ZERO, Vec::new());
    let mut retry = RetryState::start(policy, || now);
    while waits.len() < RETRIES
        && let Decision::Wait(wait) =
            retry.failed(policy, Verdict::from(true), || now, || rng.next_u64())
    {
        now += wait.delay;
        waits.push(wait.delay);
    }
    waits
}

fn waits(policy: &Policy) -> Result<Drawn, Error> {
    let samples: Vec<_> = (0..SAMPLES).map(|seed| sample(policy, seed)).collect();
    let (mut rows, mut means, mut dots) = (Vec::new(), Vec::new(), Vec::new());
    for planned in policy.schedule().take(RETRIES) {
        let x = f64::from(planned.retry);
        let of_retry = samples
            .iter()
            .filter_map(|waits| waits.get(planned.retry as usize - 1));
        let of_retry: Vec<_> = of_retry.map(Duration::as_secs_f64).collect();
        let spread =
            |(at, wait): (usize, &f64)| (x + (at as f64 / SAMPLES as f64 - 0.5) * 0.4, *wait);
        dots.extend(of_retry.iter().enumerate().map(spread));
        let mean = Mean::of(of_retry);
        means.extend(mean.map(|mean| (x, mean)));
        let [least, greatest] = [planned.least, planned.greatest].map(|it| it.as_secs_f64());
        rows.push(vec![
            Some(x),
            Some(least),
            mean.map(|it| it.mean),
            Some(greatest),
        ]);
    }
    let bound = |name, column: usize| {
        let points = rows.iter().filter_map(|row| Some((row[0]?, row[column]?)));
        Line::bound(name, points.collect::<Vec<_>>())
    };
    let lines = vec![
        bound("greatest", 3),
        Line::measured("mean", 2, means),
        bound("least", 1),
    ];
    let mut panel = Panel::new(("retry", Linear), ("wait, s", Linear), lines);
    panel.dots = dots;
    drawn(
        "The waits of one call",
        "Dots: the waits of a hundred calls whose attempts all fail.",
        vec![panel],
        &["retry", "least, s", "mean of 100 calls, s", "greatest, s"],
        rows,
    )
}

/// Seconds before the outage, and after it.
const BEFORE: u64 = 5;
const AFTER: u64 = 30;
/// A client waits so many seconds between two calls, on average.
const REST: f64 = 2.0;
/// Clients of one process share a budget.
const TOGETHER: u32 = 10;

/// Clients that call all the time, through an outage and after it.
pub(crate) fn load(crowd: &Crowd) -> Load {
    let end = BEFORE + u64::from(crowd.seconds);
    let quota = (crowd.quota > 0).then(|| Quota::bucket(crowd.quota.into(), 1.0));
    Load {
        limits: Vec::from_iter(quota).leak(),
        hint: crowd.hint(),
        capacity: crowd.capacity.into(),
        ill: crowd.outage().map_or((0, 0), |_| (BEFORE, end)),
        errors: crowd.outage().unwrap_or_default(),
        processes: crowd.clients.div_ceil(TOGETHER),
        workers: crowd.clients,
        rest: REST,
        until: end + AFTER,
        ..Load::IDLE
    }
}

fn outage(load: &Load, ways: &[Way], outcomes: &[Outcome]) -> Result<Drawn, Error> {
    let seconds = load.until as usize;
    let bins = |outcome: &Outcome| in_bins(outcome.arrived.iter().copied(), SECOND, seconds);
    let series: Vec<_> = outcomes.iter().map(bins).collect();
    let exact = |(second, &mean): (usize, &f64)| (second as f64 + 0.5, Mean { mean, error: 0.0 });
    let lines = ways
        .iter()
        .zip(&series)
        .zip([2, 0, 3])
        .map(|((way, series), number)| {
            Line::measured(
                way.0,
                number,
                series.iter().enumerate().map(exact).collect(),
            )
        });
    let y = ("calls a second at the service", Linear);
    let mut panel = Panel::new(("time, s", Linear), y, lines.collect());
    let (from, until) = load.ill;
    panel.band = (until > 0).then_some((from as f64, until as f64, "outage"));
    let row = |second| {
        let calls = series.iter().map(|series| Some(series[second]));
        std::iter::once(Some(second as f64)).chain(calls).collect()
    };
    let names = ways.iter().map(|way| way.0);
    drawn(
        "An outage, and after it",
        &format!(
            "{} clients, each with a call about every {REST} s.",
            load.workers
        ),
        vec![panel],
        &["second"].into_iter().chain(names).collect::<Vec<_>>(),
        (0..seconds).map(row).collect(),
    )
}

const CLIENTS: [u32; 4] = [10, 20, 50, 100];
const JITTERS: [(&str, Jitter); 4] = [
    ("none", Jitter::None),
    ("full", Jitter::Full),
    ("equal", Jitter::Equal),
    ("decorrelated", Jitter::Decorrelated),
];

/// A name, and for each number of clients the calls and the seconds until all are done.
type Crowds = (String, Vec<[f64; 2]>);

/// Clients that write one row, with waits of this jitter; `None` if that took too long.
fn crowded(name: &str, jitter: Jitter, until: Option<Instant>) -> Option<Crowds> {
    let measured = |clients| {
        let load = Load::IDLE.crowd(clients);
        let mut rng = SmallRng::seed_from_u64(1);
        let outcome = run_until(&load, &jittered("", jitter), &mut rng, until);
        let [calls, time] = [CALLS, ALL].map(|measure| measure.1(&outcome, &load));
        (!outcome.is_stopped).then_some([calls?, time?])
    };
    let measured: Option<Vec<_>> = CLIENTS.into_iter().map(measured).collect();
    Some((name.to_owned(), measured?))
}

/// The jitters that AWS' article compares. They are the same for all states.
pub(crate) fn documented() -> &'static [Crowds] {
    static ONCE: OnceLock<Vec<Crowds>> = OnceLock::new();
    ONCE.get_or_init(|| {
        let crowds = JITTERS.map(|(name, jitter)| crowded(name, jitter, None));
        crowds.into_iter().flatten().collect()
    })
}

/// The documented jitters, and that of the policy, if it is another one.
fn crowds(state: &State, until: Instant) -> Option<Vec<Crowds>> {
    let mut all = documented().to_vec();
    // A jitter that nobody said is that of the preset, which only its settings tell.
    let settings = state.policy.without_budget().settings().ok();
    if let Some(jitter) = settings.map_or(state.settings.jitter, |it| it.jitter) {
        match JITTERS.iter().position(|it| it.1 == jitter) {
            Some(place) => all[place].0 += ", yours",
            None => all.push(crowded("yours", jitter, Some(until))?),
        }
    }
    Some(all)
}

fn contention(crowds: &[Crowds]) -> Result<Drawn, Error> {
    let panel = |y: Axis, of: usize| {
        let line = |(number, (name, points)): (usize, &Crowds)| {
            let points = CLIENTS.iter().zip(points);
            let points = points.map(|(&x, it)| {
                (
                    x.into(),
                    Mean {
                        mean: it[of],
                        error: 0.0,
                    },
                )
            });
            Line::measured(name, number, points.collect())
        };
        let lines = crowds.iter().enumerate().map(line).collect();
        Panel::new(("clients", Logarithmic), y, lines)
    };
    let panels = vec![
        panel(("calls", Logarithmic), 0),
        panel(("time until all are done, s", Logarithmic), 1),
    ];
    let row = |(place, clients): (usize, &u32)| {
        let of = |of: usize| crowds.iter().map(move |it| Some(it.1[place][of]));
        let clients = Some(f64::from(*clients));
        std::iter::once(clients).chain(of(0)).chain(of(1)).collect()
    };
    let names = |what: &'static str| crowds.iter().map(move |it| format!("{}: {what}", it.0));
    let columns: Vec<_> = names("calls").chain(names("s")).collect();
    let columns = ["clients"]
        .into_iter()
        .chain(columns.iter().map(String::as_str));
    drawn(
        "Clients that write one row",
        "As in AWS' article: hops of |N(10, 2)| ms, base 5 ms, cap 2 s, and each of these jitters.",
        panels,
        &columns.collect::<Vec<_>>(),
        CLIENTS.iter().enumerate().map(row).collect(),
    )
}

fn drawn(
    title: &str,
    subtitle: &str,
    panels: Vec<Panel>,
    columns: &[&str],
    rows: Vec<Vec<Option<f64>>>,
) -> Result<Drawn, Error> {
    let chart = Chart {
        title: title.to_owned(),
        subtitle: subtitle.to_owned(),
        width: PHONE,
        panels,
    };
    Ok(Drawn {
        svg: chart::draw(&chart)?,
        columns: columns.iter().map(|&it| it.to_owned()).collect(),
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(query: &str) -> (State, Charts) {
        let state = State::read(query).expect(query);
        let charts = draw(&state, Instant::now() + Duration::from_secs(600)).unwrap();
        (state, charts)
    }

    #[test]
    fn the_chart_of_waits_has_the_numbers_of_the_schedule() {
        let (state, charts) = drawn("base=2s&jitter=equal&deadline=20s&clients=1");
        let planned: Vec<_> = state.policy.schedule().collect();
        assert_eq!(charts.waits.rows.len(), planned.len());
        for (row, planned) in charts.waits.rows.iter().zip(planned) {
            let numbers = [planned.least, planned.greatest].map(|it| Some(it.as_secs_f64()));
            assert_eq!([row[1], row[3]], numbers);
            let mean = row[2].unwrap_or(planned.least.as_secs_f64());
            assert!(row[1] <= Some(mean) && Some(mean) <= row[3], "{row:?}");
        }
        let none = drawn("jitter=none&max_attempts=3&clients=1").1.waits.rows;
        assert_eq!(
            none.iter().map(|row| row[2]).collect::<Vec<_>>(),
            [Some(1.0), Some(2.0)]
        );
    }

    #[test]
    fn an_outage_ends_calls_without_retries_and_others_outlast_it() {
        let query = "preset=iam::READ_MODIFY_WRITE&clients=10&seconds=3";
        let (_, charts) = drawn(query);
        assert_eq!(charts.ends[0].1[0], Some(100.0));
        assert_eq!(
            charts.outage.unwrap().columns,
            ["second", "yours", "no jitter"]
        );
        let (_, charts) = drawn(&format!("{query}&max_attempts=1"));
        assert!(charts.ends[0].1[0] < Some(95.0), "{:?}", charts.ends);
        // The preset stands beside it. Without a retry there is no jitter to leave out.
        assert!(charts.ends.last().unwrap().1[0] == Some(100.0));
        let (_, calm) = drawn(&format!("{query}&max_attempts=1&outage=none"));
        assert_eq!(calm.ends[0].1[0], Some(100.0));
    }

    #[test]
    fn a_simulation_that_takes_too_long_is_stopped_and_names_a_number() {
        let state = State::read("clients=10000").expect("a state");
        let charts = draw(&state, Instant::now()).unwrap();
        let (control, why) = charts.stopped.unwrap();
        assert_eq!(control, "clients");
        assert!(why.contains("10000 clients") && charts.outage.is_none() && charts.ends.is_empty());
        // The waits of one call are drawn all the same.
        assert!(!charts.waits.rows.is_empty());
    }

    #[test]
    fn the_jitter_of_the_policy_stands_beside_the_documented_ones() {
        let columns = |query| drawn(query).1.contention.unwrap().columns.join("; ");
        assert!(columns("jitter=equal&clients=1").contains("; equal, yours: calls; "));
        assert!(columns("jitter=proportional(0.2)&clients=1").contains("; yours: calls; "));
    }
}
