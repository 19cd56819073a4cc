//! The numbers and the charts of a state: calls of the library, in virtual time.

use std::{sync::OnceLock, thread, time::Duration};

use backoff_cloud::{Decision, Jitter, Policy, RetryState, Verdict, schedule::Fits};
use examples::axis::Scale::{Linear, Logarithmic};
use examples::chart::{self, Chart, Line, PHONE, Panel};
use examples::simulation::load::{Load, Strategy, Work};
use examples::simulation::measures::{self, ALL, CALLS, EACH, Measure, arrivals};
use examples::simulation::service::{Outcome, run_until};
use examples::simulation::{clock::SECOND, quota::Quota, row::jittered};
use examples::stats::Mean;
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};
use serde::Serialize;

use crate::Error;
use crate::state::{AWS, BUDGETS, Crowd, HINTS, NONE, OUTAGES, State, has_budget, of_reads};

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
    pub(crate) ends: Vec<(&'static str, [Option<f64>; 5])>,
    /// The control whose number is to be lowered, and why.
    pub(crate) stopped: Option<(&'static str, String)>,
}

/// The names of the columns of `Charts::ends`, and what is measured.
pub(crate) const ENDS: [Measure; 5] = {
    use measures::{DONE, P99, PEAK, SUCCESSES};
    [DONE, PEAK, P99, ("attempts for a call", EACH.1), SUCCESSES]
};

/// Whether nobody waits for the numbers any more; asked all the time.
pub(crate) type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// A policy beside others: its name, and the place of its budget.
type Way = (&'static str, Policy, usize);

/// The policy, the same without jitter, and the preset, if they differ. A preset's own budget is never used, because other
/// requests would use it too.
fn ways(state: &State) -> Vec<Way> {
    let of_preset = if has_budget(&state.preset) { AWS } else { NONE };
    let budget = match state.crowd.budget {
        0 => of_preset,
        other => other,
    };
    let all = [
        ("yours", state.policy, budget),
        ("no jitter", state.policy.jitter(Jitter::None), budget),
        ("preset", state.preset, of_preset),
    ];
    let mut ways: Vec<Way> = Vec::new();
    for (name, policy, budget) in all {
        let policy = of_reads(&policy);
        if ways.iter().all(|way| (way.1, way.2) != (policy, budget)) {
            ways.push((name, policy, budget));
        }
    }
    ways
}

/// Draws all, but what is not computed when it is to stop.
pub(crate) fn draw(state: &State, stop: Stop) -> Result<Charts, Error> {
    let (load, ways) = (load(&state.crowd), ways(state));
    let run = |&(name, policy, budget): &Way| {
        let strategy = Strategy::new(name, policy, Work::Request).sharing(BUDGETS[budget].2.1);
        let mut rng = SmallRng::seed_from_u64(1);
        run_until(&load, &strategy, &mut rng, stop)
    };
    let (outcomes, crowds) = thread::scope(|scope| {
        let crowds = scope.spawn(|| crowds(state, stop));
        let runs: Vec<_> = ways.iter().map(|way| scope.spawn(|| run(way))).collect();
        let outcomes = runs.into_iter().map(|it| it.join().expect("no panic"));
        let outcomes: Vec<_> = outcomes.collect();
        (outcomes, crowds.join().expect("no panic"))
    });
    let stopped = outcomes.iter().position(|it| it.is_stopped);
    let mut charts = Charts {
        waits: waits(&state.policy.without_budget())?,
        outage: None,
        ends: Vec::new(),
        contention: crowds.map(|crowds| contention(&crowds)).transpose()?,
        stopped: stopped.map(|place| too_much(&state.crowd, &outcomes[place], place == 0)),
    };
    if stopped.is_none() {
        charts.outage = Some(crowd(&load, &ways, &outcomes)?);
        let of = |outcome| ENDS.map(|measure| measure.1(outcome, &load));
        let names = ways.iter().map(|way| way.0);
        charts.ends = names.zip(outcomes.iter().map(of)).collect();
        if charts.contention.is_none() {
            let why = "The clients that compete were stopped: choose another jitter.";
            charts.stopped = Some(("jitter", why.to_owned()));
        }
    }
    Ok(charts)
}

/// The control whose number is to be lowered, and why.
fn too_much(crowd: &Crowd, outcome: &Outcome, is_yours: bool) -> (&'static str, String) {
    let (clients, seconds) = (crowd.clients, crowd.seconds);
    // Each client may have a call that has not ended.
    let each = outcome.sent as usize / (outcome.jobs.len() + clients as usize);
    let (control, why) = match (each, seconds / 20 > clients / 100) {
        (20.., _) if is_yours => ("max_attempts", format!("a call had {each} attempts")),
        (_, true) => ("seconds", format!("{seconds} seconds are long")),
        (_, false) => ("clients", format!("{clients} clients are many")),
    };
    let why = format!("Stopped after two seconds: {why}. Write a lower number, or a longer base.");
    (control, why)
}

/// How many retries the chart of the waits shows at most.
const RETRIES: usize = 12;
const SAMPLES: u64 = 100;

/// The waits of one call whose attempts all fail at once.
fn sample(policy: &Policy, seed: u64) -> Vec<Duration> {
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
    let [mut least, mut greatest, mut dots] = [const { Vec::new() }; 3];
    let mut mean = Vec::new();
    let planned = policy.schedule().take_while(|it| it.fits != Fits::Never);
    let planned: Vec<_> = planned.take(RETRIES + 1).collect();
    let more = match planned.len() {
        0 => " There are no retries.",
        1..=RETRIES => "",
        _ => " The first 12 retries.",
    };
    for planned in planned.iter().take(RETRIES) {
        let (x, place) = (f64::from(planned.retry), planned.retry as usize - 1);
        let waits = samples.iter().filter_map(|waits| waits.get(place));
        let waits: Vec<_> = waits.map(Duration::as_secs_f64).collect();
        let beside = |at: usize| x + (at as f64 / SAMPLES as f64 - 0.5) * 0.4;
        let dot = |(at, wait): (usize, &f64)| (beside(at), *wait);
        dots.extend(waits.iter().enumerate().map(dot));
        mean.extend(Mean::of(waits).map(|mean| (x, mean)));
        least.push((x, planned.least.as_secs_f64()));
        greatest.push((x, planned.greatest.as_secs_f64()));
    }
    let bounds = [("greatest", greatest), ("least", least)];
    let [greatest, least] = bounds.map(|(name, points)| Line::bound(name, points));
    let lines = vec![greatest, Line::measured("mean", 2, mean), least];
    let mut panel = Panel::new(("retry", Linear), ("wait, s", Linear), lines);
    panel.dots = dots;
    let what = format!("Dots: the waits of a hundred calls whose attempts all fail.{more}");
    drawn("The waits of one call", &what, vec![panel])
}

/// Seconds before the outage, and after it, if that lasted no longer.
const BEFORE: u64 = 5;
const AFTER: u64 = 20;
/// A client waits so many seconds between two calls, on average.
const REST: f64 = 2.0;
/// Clients of one process share a budget.
const TOGETHER: u32 = 10;

/// Clients that call all the time, through an outage and after it.
fn load(crowd: &Crowd) -> Load {
    let end = BEFORE + u64::from(crowd.seconds);
    let errors = OUTAGES[crowd.outage].2;
    let quota = (crowd.quota > 0).then(|| Quota::bucket(crowd.quota.into(), 1.0));
    Load {
        limits: Vec::from_iter(quota).leak(),
        hint: HINTS[crowd.hint].2,
        capacity: crowd.capacity.into(),
        ill: errors.map_or((0, 0), |_| (BEFORE, end)),
        errors: errors.unwrap_or_default(),
        processes: crowd.clients.div_ceil(TOGETHER),
        workers: crowd.clients,
        rest: REST,
        until: end + AFTER.max(crowd.seconds.into()),
        ..Load::IDLE
    }
}

/// Attempts a second of all clients.
fn crowd(load: &Load, ways: &[Way], outcomes: &[Outcome]) -> Result<Drawn, Error> {
    let line = |((way, outcome), number): ((&Way, &Outcome), usize)| {
        let attempts = arrivals(outcome, SECOND, load.until as usize);
        let points = (0_u32..).zip(attempts).map(|(at, it)| exact(at.into(), it));
        Line::measured(way.0, number, points.collect())
    };
    let lines = ways.iter().zip(outcomes).zip([2, 0, 3]).map(line);
    let y = ("attempts a second at the service", Linear);
    let capacity = (0..load.until).map(|at| (at as f64, load.capacity as f64));
    let capacity = (load.capacity > 0).then(|| Line::bound("capacity", capacity));
    let mut panel = Panel::new(("time, s", Linear), y, lines.chain(capacity).collect());
    let (from, until) = load.ill;
    panel.band = (until > 0).then_some((from as f64, until as f64, "outage"));
    let what = format!(
        "{} clients. Each rests about {REST} s between two calls.",
        load.workers
    );
    let title = ["No outage", "An outage, and after it"][usize::from(until > 0)];
    drawn(title, &what, vec![panel])
}

const CLIENTS: [u32; 4] = [10, 20, 50, 100];
const JITTERS: [(&str, Jitter); 4] = [
    ("none", Jitter::None),
    ("full", Jitter::Full),
    ("equal", Jitter::Equal),
    ("decorrelated", Jitter::Decorrelated),
];

/// A name, and for each number of clients the attempts and the seconds until all are done.
type Crowds = (String, Vec<[f64; 2]>);

/// Clients that write one row, with waits of this jitter; `None` if that took too long.
fn crowded(name: &str, jitter: Jitter, stop: Stop) -> Option<Crowds> {
    let measured = |clients| {
        let load = Load::IDLE.crowd(clients);
        let mut rng = SmallRng::seed_from_u64(1);
        let outcome = run_until(&load, &jittered("", jitter), &mut rng, stop);
        let [calls, time] = [CALLS, ALL].map(|measure| measure.1(&outcome, &load));
        (!outcome.is_stopped).then_some([calls?, time?])
    };
    let measured: Option<Vec<_>> = CLIENTS.into_iter().map(measured).collect();
    Some((name.to_owned(), measured?))
}

/// The jitters that AWS' article compares. They are the same for all states.
pub(crate) fn documented() -> &'static [Crowds] {
    static ONCE: OnceLock<Vec<Crowds>> = OnceLock::new();
    let measured = |(name, jitter)| crowded(name, jitter, &|| false);
    ONCE.get_or_init(|| JITTERS.into_iter().filter_map(measured).collect())
}

/// The documented jitters, and that of the policy, if it is another one.
fn crowds(state: &State, stop: Stop) -> Option<Vec<Crowds>> {
    let mut all = documented().to_vec();
    // A jitter that nobody said is that of the preset, which only its settings tell.
    let settings = of_reads(&state.policy).settings().ok();
    if let Some(jitter) = settings.map_or(state.settings.jitter, |it| it.jitter) {
        match JITTERS.iter().position(|it| it.1 == jitter) {
            Some(place) => all[place].0 += ", yours",
            None => all.push(crowded("yours", jitter, stop)?),
        }
    }
    Some(all)
}

fn contention(crowds: &[Crowds]) -> Result<Drawn, Error> {
    let panel = |y, of: usize| {
        // These colours stand out against light paper and dark; blue is yours.
        let line = |(number, (name, measured)): (usize, &Crowds)| {
            let points = CLIENTS.into_iter().zip(measured);
            let points = points.map(|(clients, it)| exact(clients.into(), it[of]));
            Line::measured(name, number, points.collect())
        };
        let lines = [0, 4, 3, 7, 2].into_iter().zip(crowds).map(line);
        Panel::new(("clients", Logarithmic), (y, Logarithmic), lines.collect())
    };
    let panels = vec![panel("attempts", 0), panel("time until all are done, s", 1)];
    let what = "As in AWS' article “Exponential Backoff And Jitter”: each message takes about 10 ms, \
                and waits grow up to 2 s.";
    drawn("Clients that write one row", what, panels)
}

fn exact(x: f64, mean: f64) -> (f64, Mean) {
    (x, Mean { mean, error: 0.0 })
}

/// The first line has a point at each place; others may end before it.
fn drawn(title: &str, subtitle: &str, panels: Vec<Panel>) -> Result<Drawn, Error> {
    let lines = || panels.iter().flat_map(|panel| &panel.lines);
    let mut columns = vec![panels[0].x.0.to_owned()];
    for panel in &panels {
        let name = |line: &Line| format!("{}: {}", line.name, panel.y.0);
        columns.extend(panel.lines.iter().map(name));
    }
    let row = |(place, &(x, _)): (usize, &(f64, Mean))| {
        let at = |line: &Line| Some(line.points.get(place)?.1.mean);
        [Some(x)].into_iter().chain(lines().map(at)).collect()
    };
    let places = panels[0].lines[0].points.iter().enumerate();
    let rows = places.map(row).collect();
    let chart = Chart {
        title: title.to_owned(),
        subtitle: subtitle.to_owned(),
        width: PHONE,
        panels,
    };
    let svg = chart::draw(&chart)?;
    Ok(Drawn { svg, columns, rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(query: &str) -> (State, Charts) {
        let state = State::read(query).expect(query);
        let charts = draw(&state, &|| false).unwrap();
        (state, charts)
    }

    #[test]
    fn the_chart_of_waits_has_the_numbers_of_the_schedule() {
        let (state, charts) = drawn("base=2s&jitter=equal&deadline=20s&clients=1");
        // The last one never begins.
        let planned: Vec<_> = state.policy.schedule().collect();
        assert_eq!(charts.waits.rows.len(), planned.len() - 1);
        for (row, planned) in charts.waits.rows.iter().zip(planned) {
            let numbers = [planned.least, planned.greatest].map(|it| Some(it.as_secs_f64()));
            assert_eq!([row[3], row[1]], numbers);
            let mean = row[2].unwrap_or(planned.least.as_secs_f64());
            assert!(row[3] <= Some(mean) && Some(mean) <= row[1], "{row:?}");
        }
        for (query, is_cut) in [("max_attempts=13", false), ("max_attempts=14", true)] {
            let svg = drawn(&format!("{query}&deadline=1d&clients=1")).1.waits.svg;
            assert_eq!(svg.contains("12 retries."), is_cut, "{query}");
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
        let columns = charts.outage.unwrap().columns.join("; ");
        assert!(!columns.contains("preset") && columns.contains("; no jitter: attempts a second"));
        let (_, charts) = drawn(&format!("{query}&max_attempts=1"));
        assert!(charts.ends[0].1[0] < Some(95.0), "{:?}", charts.ends);
        // The preset stands beside it. Without a retry there is no jitter to leave out.
        assert!(charts.ends.last().unwrap().1[0] == Some(100.0));
        let (_, calm) = drawn(&format!("{query}&max_attempts=1&outage=none"));
        assert_eq!(calm.ends[0].1[0], Some(100.0));
        // The clients come back, also after an outage that lasts long.
        let after = drawn("seconds=40").1.outage.unwrap().rows;
        let came = |row: &&Vec<Option<f64>>| row[0] >= Some(45.0) && row[1] > Some(0.0);
        assert!(after.iter().filter(came).count() > 10, "{after:?}");
        let (_, reads) = drawn("preset=plain_http::BY_METHOD&clients=10&seconds=3");
        assert!(reads.ends[0].1[3] > Some(1.1), "reads are repeated");
    }

    #[test]
    fn a_simulation_that_takes_too_long_is_stopped_and_names_a_number() {
        let state = State::read("clients=10000").expect("a state");
        let charts = draw(&state, &|| true).unwrap();
        let (control, why) = charts.stopped.unwrap();
        assert_eq!(control, "clients");
        assert!(why.contains("10000 clients") && charts.outage.is_none() && charts.ends.is_empty());
        // The waits of one call are drawn all the same.
        assert!(!charts.waits.rows.is_empty());
        for (query, sent, is_yours, control) in [
            ("clients=1000", 19_000, true, "clients"),
            ("clients=1000", 20_000, true, "max_attempts"),
            // Those of the preset are not yours to change.
            ("clients=1000", 20_000, false, "clients"),
            ("seconds=3600", 0, true, "seconds"),
        ] {
            let state = State::read(query).expect(query);
            let outcome = Outcome {
                sent,
                ..Outcome::default()
            };
            let (named, _) = too_much(&state.crowd, &outcome, is_yours);
            assert_eq!(named, control, "{query}");
        }
    }

    #[test]
    fn the_longest_waits_and_the_largest_numbers_are_drawn() {
        let long = "preset=plain_http::IDEMPOTENT&base=213504d&max_backoff=213504d&jitter=none";
        for more in [
            "&capacity=10",
            "&capacity=1&outage=hangs",
            "&max_attempts=unlimited&quota=1&hint=turn",
            "&max_attempts=unlimited&quota=1&outage=none&retry_after_alone=true&hint=same",
            "&throttled_base=213504d&quota=1&max_retry_after=213504d&retry_after_slack=213504d",
            "&growth=linear(213504d)&capacity=1000000&quota=1000000&spread_retry_after=true",
        ] {
            let (_, charts) = drawn(&format!("{long}{more}"));
            assert!(
                charts.ends[0].1[0] < Some(100.0),
                "{more}: {:?}",
                charts.ends
            );
        }
    }

    #[test]
    fn the_jitter_of_the_policy_stands_beside_the_documented_ones() {
        let columns = |query| drawn(query).1.contention.unwrap().columns.join("; ");
        assert!(columns("jitter=equal&clients=1").contains("; equal, yours: attempts; "));
        assert!(columns("jitter=proportional(0.2)&clients=1").contains("; yours: attempts; "));
    }
}
