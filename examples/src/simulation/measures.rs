//! What is measured of a run.

use super::clock::SECOND;
use super::load::Load;
use super::service::{Job, Outcome};
use crate::stats::percentile;

/// The title of a column, and the value of a run; `None` where it cannot be measured.
pub type Measure = (&'static str, fn(&Outcome, &Load) -> Option<f64>);

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / SECOND as f64
}

fn took(job: &Job) -> u64 {
    job.ended - job.began
}

/// Whether a job was not given up.
pub fn is_done(job: &&Job) -> bool {
    job.is_done
}

/// A part of a whole; `None` of nothing.
fn part(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn successes(jobs: &[Job]) -> usize {
    jobs.iter().filter(is_done).count()
}

fn done(jobs: &[Job]) -> Option<f64> {
    part(successes(jobs), jobs.len()).map(|part| 100.0 * part)
}

/// Within so many seconds a share of the jobs was done.
fn done_within(outcome: &Outcome, share: f64) -> Option<f64> {
    let done: Vec<_> = outcome.jobs.iter().filter(is_done).map(took).collect();
    percentile(&done, share).map(seconds)
}

/// How many calls arrived.
pub const CALLS: Measure = ("calls", |it, _| Some(it.arrived.len() as f64));
/// Calls of the service for each job.
pub const EACH: Measure = ("calls for a job", |it, _| {
    part(it.sent as usize, it.jobs.len())
});
/// How many jobs were not given up.
pub const SUCCESSES: Measure = ("calls done", |it, _| Some(successes(&it.jobs) as f64));
/// The most calls that arrived in a second.
pub const PEAK: Measure = ("most attempts a second", |it, load| {
    let attempts = arrivals(it, SECOND, load.until as usize);
    attempts.into_iter().reduce(f64::max)
});
/// The share of the jobs that were not given up.
pub const DONE: Measure = ("done, %", |it, _| done(&it.jobs));
/// The median of the time of the jobs that were done.
pub const P50: Measure = ("50 % done, s", |it, _| done_within(it, 0.5));
/// The 99th percentile of the time of the jobs that were done.
pub const P99: Measure = ("99 % done, s", |it, _| done_within(it, 0.99));
/// The 99.9th percentile.
pub const P999: Measure = ("99.9 % done, s", |it, _| done_within(it, 0.999));
/// When the last job ended.
pub const ALL: Measure = ("all done, s", |it, _| {
    it.jobs.iter().map(|job| job.ended).max().map(seconds)
});

// Of clients that change a row.

/// How many writes were sent.
pub const WRITES: Measure = ("writes", |it, _| Some(it.writes.into()));
/// Writes for each client.
pub const WRITES_EACH: Measure = ("writes for a client", |it, load| {
    Some(f64::from(it.writes) / f64::from(load.workers))
});
/// The mean time of a job.
pub const WAIT: Measure = ("a client's wait, s", |it, _| {
    let sum: u64 = it.jobs.iter().map(took).sum();
    Some(seconds(sum) / it.jobs.len() as f64)
});
/// (writes / N − 1) · (time / (N · W) − 1), where W, the window, is two hops: the time from a read to the write after it.
/// Changes that are combined are no longer one write each.
pub const PRODUCT: Measure = ("product", |it, load| {
    let clients = f64::from(load.workers);
    let more = f64::from(it.writes) / clients - 1.0;
    let longer = ALL.1(it, load)? * 500.0 / load.hop.0 / clients - 1.0;
    (it.jobs.len() == load.workers as usize).then_some(more * longer)
});

// Of calls under a limit.

/// The most calls in a tenth of a second, after the first.
pub const HERD: Measure = ("herd, calls in 0.1 s", |it, _| {
    let tenths = arrivals(it, SECOND / 10, 2_000);
    tenths.into_iter().skip(1).reduce(f64::max)
});
/// When the last job ended, as a multiple of the time that the limit and the work need.
pub const TIME: Measure = ("time / least", |it, load| {
    let call = (2.0 * load.hop.0 + load.work) / 1e3;
    let in_turn = it.jobs.len().div_ceil(load.workers as usize) as f64 * call;
    Some(ALL.1(it, load)? / (seconds(it.least) + call).max(in_turn))
});
// Of a service that is down. Its troubles are looked at from here to their end: once budgets have settled where a share
// of the calls fails.

fn is_looked_at(load: &Load, time: u64) -> bool {
    let (from, until) = load.ill;
    let from = if from == 0 { 120 } else { from };
    (from * SECOND..until * SECOND).contains(&time)
}

fn came_in(outcome: &Outcome, load: &Load) -> Vec<Job> {
    let came_in = |job: &&Job| is_looked_at(load, job.began);
    outcome.jobs.iter().filter(came_in).copied().collect()
}

/// Attempts in the trouble, for each request that came in it.
pub const ATTEMPTS: Measure = ("attempts per request", |it, load| {
    let attempts = it.arrived.iter().filter(|&&time| is_looked_at(load, time));
    part(attempts.count(), came_in(it, load).len())
});
/// The share of the requests of the trouble that were answered.
pub const ANSWERED: Measure = ("answered, %", |it, load| done(&came_in(it, load)));
/// How many requests were given up, from the beginning of the trouble to the end of the run.
pub const LOST: Measure = ("requests lost", |it, load| {
    let is_lost = |job: &&Job| !is_done(job) && job.began >= load.ill.0 * SECOND;
    Some(it.jobs.iter().filter(is_lost).count() as f64)
});
/// After what time a request of the trouble was given up.
pub const LOST_FOR: Measure = ("given up after, s", |it, load| {
    let came = came_in(it, load);
    let lost: Vec<_> = came.iter().filter(|job| !is_done(job)).map(took).collect();
    (!lost.is_empty()).then(|| seconds(lost.iter().sum()) / lost.len() as f64)
});
/// The end of the last second in which more than 1 % of the requests that came were not answered at their first attempt;
/// `None` if that is the last second of the run.
pub const RECOVERED: Measure = ("recovered after, s", |it, load| {
    let until = load.ill.1 * SECOND;
    let length = (load.by_chance.1 - load.ill.1) as usize;
    let at_once = |job: &&Job| is_done(job) && job.attempts == 1;
    let at_once = shares(&it.jobs, (until, SECOND, length), at_once);
    let troubled = at_once.iter().rposition(|&share| share < 99.0);
    let recovered = troubled.map_or(0, |last| last + 1);
    (recovered < length).then_some(recovered as f64)
});
/// How many of these times lie in each of the first bins.
fn in_bins(times: impl Iterator<Item = u64>, bin: u64, bins: usize) -> Vec<f64> {
    let mut counts = vec![0.0; bins];
    for time in times {
        if let Some(count) = counts.get_mut((time / bin) as usize) {
            *count += 1.0;
        }
    }
    counts
}

/// How many calls arrived in each of the first bins.
pub fn arrivals(outcome: &Outcome, bin: u64, bins: usize) -> Vec<f64> {
    in_bins(outcome.arrived.iter().copied(), bin, bins)
}

/// How many percent of the jobs that came in each of the first bins since a time are such jobs.
pub fn shares(
    jobs: &[Job],
    (since, bin, bins): (u64, u64, usize),
    is_such: fn(&&Job) -> bool,
) -> Vec<f64> {
    let came = |is_such: fn(&&Job) -> bool| {
        let jobs = jobs.iter().filter(is_such);
        let times = jobs.filter_map(|job| job.began.checked_sub(since));
        in_bins(times, bin, bins).into_iter()
    };
    let pairs = came(is_such).zip(came(|_| true));
    pairs.map(|(such, all)| 100.0 * such / all).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(began: u64, ended: u64) -> Job {
        Job {
            began: began * SECOND,
            ended: ended * SECOND,
            attempts: 1,
            is_done: true,
        }
    }

    #[test]
    fn a_measure_is_what_its_name_says() {
        let mut outcome = Outcome {
            sent: 6,
            arrived: [0, 0, 2, 2, 2, 10]
                .map(|tenth| tenth * SECOND / 10)
                .to_vec(),
            writes: 8,
            jobs: vec![job(0, 1), job(0, 2), job(0, 4), job(2, 4)],
            least: SECOND,
            is_stopped: false,
        };
        let of = |measure: Measure, outcome: &Outcome| measure.1(outcome, &Load::IDLE.crowd(4));
        assert_eq!(of(HERD, &outcome), Some(3.0));
        assert_eq!(of(EACH, &outcome), Some(1.5));
        assert_eq!(of(P99, &outcome), Some(4.0));
        assert_eq!(of(WAIT, &outcome), Some(2.25));
        // (8 / 4 − 1) · (4 s / (4 · 20 ms) − 1)
        assert_eq!(of(PRODUCT, &outcome), Some(49.0));
        assert_eq!(of(TIME, &outcome), Some(4.0 / 1.02));
        outcome.jobs.pop();
        outcome.jobs[0].is_done = false;
        let done = of(DONE, &outcome).unwrap();
        assert!((done - 200.0 / 3.0).abs() < 1e-9, "{done}");
    }

    #[test]
    fn an_outage_is_over_when_requests_are_answered_at_once() {
        let load = Load {
            ill: (1, 3),
            by_chance: (1, 8),
            ..Load::IDLE
        };
        let mut outcome = Outcome {
            jobs: (0..8).map(|second| job(second, second + 1)).collect(),
            ..Outcome::default()
        };
        assert_eq!(RECOVERED.1(&outcome, &load), Some(0.0));
        outcome.jobs[2].is_done = false;
        outcome.jobs[4].attempts = 2;
        assert_eq!(RECOVERED.1(&outcome, &load), Some(2.0));
        let of = |measure: Measure| measure.1(&outcome, &load);
        assert_eq!((of(ANSWERED), of(LOST)), (Some(50.0), Some(1.0)));
        assert_eq!(of(LOST_FOR), Some(1.0));
    }
}
