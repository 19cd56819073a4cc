//! What is measured of a run.

use backoff_cloud::StopReason;

use crate::clock::SECOND;
use crate::load::Load;
use crate::service::{Job, Outcome};
use crate::stats::percentile;

/// The title of a column, and the value of a run; `None` where it cannot be measured.
pub(crate) type Measure = (&'static str, fn(&Outcome, &Load) -> Option<f64>);

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / SECOND as f64
}

fn took(job: &Job) -> u64 {
    job.ended - job.began
}

fn is_done(job: &&Job) -> bool {
    job.stopped.is_none()
}

/// A part of a whole; `None` of nothing.
fn part(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn done(jobs: &[Job]) -> Option<f64> {
    part(jobs.iter().filter(is_done).count(), jobs.len()).map(|part| 100.0 * part)
}

/// Within so many seconds a share of the jobs was done.
fn done_within(outcome: &Outcome, share: f64) -> Option<f64> {
    let done: Vec<_> = outcome.jobs.iter().filter(is_done).map(took).collect();
    percentile(&done, share).map(seconds)
}

pub(crate) const CALLS: Measure = ("calls", |it, _| Some(it.arrived.len() as f64));
pub(crate) const EACH: Measure = ("calls for a job", |it, _| {
    part(it.sent as usize, it.jobs.len())
});
pub(crate) const DONE: Measure = ("done, %", |it, _| done(&it.jobs));
pub(crate) const HALF: Measure = ("half done, s", |it, _| done_within(it, 0.5));
pub(crate) const P99: Measure = ("99 % done, s", |it, _| done_within(it, 0.99));
pub(crate) const P999: Measure = ("99.9 % done, s", |it, _| done_within(it, 0.999));
pub(crate) const ALL: Measure = ("all done, s", |it, _| {
    it.jobs.iter().map(|job| job.ended).max().map(seconds)
});

// Of clients that change a row.

pub(crate) const WRITES: Measure = ("writes", |it, _| Some(it.writes.into()));
pub(crate) const WRITES_EACH: Measure = ("writes for a client", |it, load| {
    Some(f64::from(it.writes) / f64::from(load.workers))
});
pub(crate) const FOR_WRITE: Measure = ("calls for a write", |it, _| {
    part(it.arrived.len(), it.writes as usize)
});
pub(crate) const WAIT: Measure = ("a client's wait, s", |it, _| {
    let sum: u64 = it.jobs.iter().map(took).sum();
    Some(seconds(sum) / it.jobs.len() as f64)
});
/// (writes / N − 1) · (time / (N · W) − 1), where W, the window, is two hops: the time from a read to the write after it.
/// Changes that are combined are no longer one write each.
pub(crate) const PRODUCT: Measure = ("product", |it, load| {
    let clients = f64::from(load.workers);
    let more = f64::from(it.writes) / clients - 1.0;
    let longer = ALL.1(it, load)? * 500.0 / load.hop.0 / clients - 1.0;
    (it.jobs.len() == load.workers as usize).then_some(more * longer)
});

// Of calls under a limit.

pub(crate) const HERD: Measure = ("herd, calls in 0.1 s", |it, _| {
    let tenths = in_bins(&it.arrived, SECOND / 10, 2_000);
    tenths.into_iter().skip(1).reduce(f64::max)
});
/// As a multiple of the time that the limit and the work need.
pub(crate) const TIME: Measure = ("time / least", |it, load| {
    let call = (2.0 * load.hop.0 + load.work) / 1e3;
    let in_turn = it.jobs.len().div_ceil(load.workers as usize) as f64 * call;
    Some(ALL.1(it, load)? / (seconds(it.least) + call).max(in_turn))
});
/// Jain's index of the rates of the processes, each until its last job is done.
pub(crate) const FAIR: Measure = ("Jain's index", |it, load| {
    let mut ends = vec![0; load.processes as usize];
    for job in &it.jobs {
        ends[job.process] = job.ended;
    }
    let rates = || ends.iter().map(|&end| 1.0 / seconds(end));
    let squares: f64 = rates().map(|rate| rate * rate).sum();
    let index = rates().sum::<f64>().powi(2) / (squares * ends.len() as f64);
    (ends.len() > 1).then_some(index)
});

// Of a service that is down. Its troubles are looked at from here to their end: once budgets have settled where a share
// of the calls fails.

fn is_looked_at(load: &Load, time: u64) -> bool {
    let (from, until) = load.ill;
    let from = if from == 0 { 120 } else { from };
    (from * SECOND..until * SECOND).contains(&time)
}

fn came_in(outcome: &Outcome, load: &Load) -> Vec<Job> {
    let all = outcome.jobs.iter();
    all.filter(|job| is_looked_at(load, job.began))
        .copied()
        .collect()
}

pub(crate) const ATTEMPTS: Measure = ("attempts per request", |it, load| {
    let attempts = it.arrived.iter().filter(|&&time| is_looked_at(load, time));
    part(attempts.count(), came_in(it, load).len())
});
pub(crate) const ANSWERED: Measure = ("answered, %", |it, load| done(&came_in(it, load)));
/// From the beginning of the trouble to the end of the run.
pub(crate) const LOST: Measure = ("requests lost", |it, load| {
    let is_lost = |job: &&Job| !is_done(job) && job.began >= load.ill.0 * SECOND;
    Some(it.jobs.iter().filter(is_lost).count() as f64)
});
pub(crate) const LOST_FOR: Measure = ("given up after, s", |it, load| {
    let came = came_in(it, load);
    let lost: Vec<_> = came.iter().filter(|job| !is_done(job)).map(took).collect();
    (!lost.is_empty()).then(|| seconds(lost.iter().sum()) / lost.len() as f64)
});
/// The end of the last second in which more than 1 % of the requests that came were not answered at their first attempt;
/// `None` if that is the last second of the run.
pub(crate) const RECOVERED: Measure = ("recovered after, s", |it, load| {
    let until = load.ill.1 * SECOND;
    let length = (load.by_chance.1 - load.ill.1) as usize;
    let bins = |is: fn(&&Job) -> bool| {
        let jobs = it.jobs.iter().filter(is);
        let since = jobs.filter_map(|job| job.began.checked_sub(until));
        in_bins(&since.collect::<Vec<_>>(), SECOND, length)
    };
    let at_once = bins(|job| is_done(job) && job.attempts == 1);
    let is_troubled = |(at_once, all)| at_once < 0.99 * all;
    let recovered = at_once
        .into_iter()
        .zip(bins(|_| true))
        .rposition(is_troubled);
    let recovered = recovered.map_or(0, |last| last + 1);
    (recovered < length).then_some(recovered as f64)
});
pub(crate) const NEVER: Measure = ("never recovered, %", |it, load| {
    let is_never = RECOVERED.1(it, load).is_none();
    (load.ill.0 > 0).then_some(if is_never { 100.0 } else { 0.0 })
});
/// Seconds from the end of the trouble to the last call that a breaker refused.
pub(crate) const REFUSED: Measure = ("refused until, s", |it, load| {
    let is_refused = |job: &&Job| job.stopped == Some(StopReason::Breaker);
    let last = it.jobs.iter().filter(is_refused).map(|job| job.ended).max();
    Some(seconds(
        last.unwrap_or(0).saturating_sub(load.ill.1 * SECOND),
    ))
});

/// How many of these times lie in each of the first bins.
pub(crate) fn in_bins(times: &[u64], bin: u64, bins: usize) -> Vec<f64> {
    let mut counts = vec![0.0; bins];
    for time in times {
        if let Some(count) = counts.get_mut((time / bin) as usize) {
            *count += 1.0;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: Load = Load {
        processes: 2,
        ..Load::IDLE.crowd(4)
    };

    fn job(process: usize, began: u64, ended: u64) -> Job {
        Job {
            process,
            began: began * SECOND,
            ended: ended * SECOND,
            attempts: 1,
            stopped: None,
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
            jobs: vec![job(0, 0, 1), job(1, 0, 2), job(0, 0, 4), job(1, 2, 4)],
            least: SECOND,
        };
        let of = |measure: Measure, outcome: &Outcome| measure.1(outcome, &TWO);
        // Both processes end at the same time.
        assert_eq!(of(FAIR, &outcome), Some(1.0));
        assert_eq!(of(HERD, &outcome), Some(3.0));
        assert_eq!(of(EACH, &outcome), Some(1.5));
        assert_eq!(of(P99, &outcome), Some(4.0));
        assert_eq!(of(WAIT, &outcome), Some(2.25));
        // (8 / 4 − 1) · (4 s / (4 · 20 ms) − 1)
        assert_eq!(of(PRODUCT, &outcome), Some(49.0));
        assert_eq!(of(TIME, &outcome), Some(4.0 / 1.02));
        // One at 4 s and one at 2 s are 1 to 2.
        outcome.jobs.pop();
        assert_eq!(of(FAIR, &outcome), Some(0.9));
        outcome.jobs[0].stopped = Some(StopReason::Attempts);
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
            jobs: (0..8).map(|second| job(0, second, second + 1)).collect(),
            ..Outcome::default()
        };
        assert_eq!(RECOVERED.1(&outcome, &load), Some(0.0));
        outcome.jobs[2].stopped = Some(StopReason::Breaker);
        outcome.jobs[4].attempts = 2;
        assert_eq!(RECOVERED.1(&outcome, &load), Some(2.0));
        let of = |measure: Measure| measure.1(&outcome, &load);
        assert_eq!((of(ANSWERED), of(LOST)), (Some(50.0), Some(1.0)));
        assert_eq!((of(LOST_FOR), of(NEVER)), (Some(1.0), Some(0.0)));
        assert_eq!(of(REFUSED), Some(0.0));
    }
}
