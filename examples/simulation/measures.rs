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

fn count(jobs: &[Job], is: fn(&&Job) -> bool) -> usize {
    jobs.iter().filter(is).count()
}

/// Within this time a share of the jobs was done, in nanoseconds.
fn done_within(outcome: &Outcome, share: f64) -> Option<f64> {
    let done = outcome.jobs.iter().filter(is_done).map(took);
    percentile(&done.collect::<Vec<_>>(), share).map(|nanos| nanos as f64)
}

// Of clients that change a row.

pub(crate) const WRITES: Measure = ("calls", |it, _| Some(it.writes.into()));
pub(crate) const READS: Measure = ("reads", |it, _| Some(reads(it)));
pub(crate) const BOTH: Measure = ("reads and writes", |it, _| Some(it.arrived.len() as f64));
pub(crate) const READS_FOR_WRITE: Measure = ("reads / calls", |it, _| {
    Some(reads(it) / f64::from(it.writes))
});
pub(crate) const COMPLETION: Measure = ("completion, ms", |it, _| Some(completion(it)));
pub(crate) const WAIT: Measure = ("a client's wait, ms", |it, _| {
    let sum: u64 = it.jobs.iter().map(took).sum();
    Some(sum as f64 / 1e6 / it.jobs.len() as f64)
});
/// (calls / N − 1) · (time / (N · W) − 1), where W, the window, is two hops: the time from a read to the write after it.
/// Changes that are combined are no longer one call each.
pub(crate) const PRODUCT: Measure = ("product", |it, load| {
    let clients = f64::from(load.workers);
    let more = f64::from(it.writes) / clients - 1.0;
    let longer = completion(it) / (clients * 2.0 * load.hop.0) - 1.0;
    (it.jobs.len() == load.workers as usize).then_some(more * longer)
});
pub(crate) const GAVE_UP: Measure = ("gave up, %", |it, _| {
    let done = part(count(&it.jobs, is_done), it.jobs.len())?;
    Some(100.0 - 100.0 * done)
});
pub(crate) const WRITES_EACH: Measure = ("writes per client", |it, load| {
    Some(f64::from(it.writes) / f64::from(load.workers))
});
pub(crate) const HALF: Measure = ("p50 of success, s", |it, _| {
    Some(done_within(it, 0.5)? / 1e9)
});
pub(crate) const SLOWEST: Measure = ("p99 of success, s", |it, _| {
    Some(done_within(it, 0.99)? / 1e9)
});

fn reads(outcome: &Outcome) -> f64 {
    outcome.arrived.len() as f64 - f64::from(outcome.writes)
}

fn completion(outcome: &Outcome) -> f64 {
    let last = outcome.jobs.iter().map(|job| job.ended).max();
    last.unwrap_or_default() as f64 / 1e6
}

// Of calls under a limit.

pub(crate) const CALLS: Measure = ("calls", |it, _| Some(it.arrived.len() as f64));
pub(crate) const HERD: Measure = ("herd, calls in 0.1 s", |it, _| {
    let tenths = in_bins(&it.arrived, SECOND / 10, 2_000);
    tenths.into_iter().skip(1).reduce(f64::max)
});
pub(crate) const HALF_DONE: Measure = ("half done, s", |it, _| Some(done_within(it, 0.5)? / 1e9));
pub(crate) const ALL_DONE: Measure = ("all done, s", |it, _| Some(done_within(it, 1.0)? / 1e9));
pub(crate) const CALLS_EACH: Measure = ("calls for a job", |it, _| {
    part(it.arrived.len(), it.jobs.len())
});
/// As a multiple of the time that the limit and the work need.
pub(crate) const TIME: Measure = ("time / least", |it, load| {
    let call = 2.0 * load.hop.0 / 1e3 + load.work / 1e3;
    let in_turn = it.jobs.len().div_ceil(load.workers as usize) as f64 * call;
    let least = (seconds(it.least) + call).max(in_turn);
    let last = it.jobs.iter().filter(is_done).map(|job| job.ended).max()?;
    Some(seconds(last) / least)
});
pub(crate) const DONE: Measure = ("done, %", |it, _| {
    Some(100.0 * part(count(&it.jobs, is_done), it.jobs.len())?)
});
pub(crate) const SLOW: Measure = ("99 % ended in, s", |it, _| {
    let all: Vec<_> = it.jobs.iter().map(took).collect();
    percentile(&all, 0.99).map(seconds)
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
/// From the change of the limit until 90 % of it were admitted within a second, or until the last call if they never
/// were.
pub(crate) const USED: Measure = ("90 % used after, s", |it, load| {
    const MANY: usize = 450;
    let change = load.limits.first()?.change()?;
    let before = it.admitted.partition_point(|&time| time < change);
    let mut all = it.admitted[before..].windows(MANY);
    let full = all.find(|times| times[MANY - 1] - times[0] <= SECOND);
    let last = full.unwrap_or(&it.admitted).last()?;
    Some(seconds(last.saturating_sub(change)))
});

// Of reads that are hedged.

pub(crate) const REQUESTS: Measure = ("requests for a call", CALLS_EACH.1);
pub(crate) const HALF_MS: Measure = ("half ended in, ms", |it, _| {
    Some(done_within(it, 0.5)? / 1e6)
});
pub(crate) const P99_MS: Measure = ("99 % ended in, ms", |it, _| {
    Some(done_within(it, 0.99)? / 1e6)
});
pub(crate) const P999_MS: Measure = ("99.9 % ended in, ms", |it, _| {
    Some(done_within(it, 0.999)? / 1e6)
});

// Of a service that is down. Its troubles are looked at from here to their end: once budgets have settled where a share
// of the calls fails.

fn window(load: &Load) -> (u64, u64) {
    let (from, until) = load.ill;
    let settled = if from == 0 { 120 } else { from };
    (settled * SECOND, until * SECOND)
}

fn within(load: &Load, time: u64) -> bool {
    let (from, until) = window(load);
    (from..until).contains(&time)
}

fn came_in(outcome: &Outcome, load: &Load) -> Vec<Job> {
    let all = outcome.jobs.iter();
    all.filter(|job| within(load, job.began)).copied().collect()
}

pub(crate) const ATTEMPTS: Measure = ("attempts per request", |it, load| {
    let attempts = it
        .arrived
        .iter()
        .filter(|&&time| within(load, time))
        .count();
    part(attempts, came_in(it, load).len())
});
pub(crate) const ANSWERED: Measure = ("answered, %", |it, load| {
    let came = came_in(it, load);
    Some(100.0 * part(count(&came, is_done), came.len())?)
});
/// From the beginning of the trouble to the end of the run.
pub(crate) const LOST: Measure = ("requests lost", |it, load| {
    let is_lost = |job: &&Job| job.began >= window(load).0 && job.stopped.is_some();
    Some(it.jobs.iter().filter(is_lost).count() as f64)
});
pub(crate) const LOST_FOR: Measure = ("given up after, s", |it, load| {
    let came = came_in(it, load);
    let lost = || came.iter().filter(|job| job.stopped.is_some());
    let sum: u64 = lost().map(took).sum();
    (lost().count() > 0).then(|| seconds(sum) / lost().count() as f64)
});
pub(crate) const RECOVERED: Measure = ("recovered after, s", recovery);
pub(crate) const NEVER: Measure = ("never recovered, %", |it, load| {
    let never = if recovery(it, load).is_none() {
        100.0
    } else {
        0.0
    };
    (load.ill.0 > 0).then_some(never)
});
/// Calls that a breaker refused after the trouble.
pub(crate) const REFUSED: Measure = ("refused after it", |it, load| {
    Some(refused(it, load).count() as f64)
});
pub(crate) const LAST_REFUSED: Measure = ("last one refused after, s", |it, load| {
    Some(refused(it, load).max().map_or(0.0, seconds))
});

fn refused(outcome: &Outcome, load: &Load) -> impl Iterator<Item = u64> {
    let end = window(load).1;
    let is_refused = |job: &&Job| job.stopped == Some(StopReason::Breaker);
    let all = outcome.jobs.iter().filter(is_refused);
    all.filter_map(move |job| job.ended.checked_sub(end))
}

/// Seconds after the trouble, up to the end of the last second in which more than 1 % of the requests that came were not
/// answered at their first attempt; `None` if that is the last second of the run.
fn recovery(outcome: &Outcome, load: &Load) -> Option<f64> {
    let (_, until) = window(load);
    let seconds = (load.by_chance.1 - load.ill.1) as usize;
    let mut came = vec![(0, 0); seconds];
    for job in &outcome.jobs {
        let Some(since) = job.began.checked_sub(until) else {
            continue;
        };
        let (all, at_once) = &mut came[(since / SECOND) as usize];
        *all += 1;
        *at_once += usize::from(job.stopped.is_none() && job.attempts == 1);
    }
    let is_troubled = |&(all, at_once): &(usize, usize)| 100 * at_once < 99 * all;
    let recovered = came
        .iter()
        .rposition(is_troubled)
        .map_or(0, |last| last + 1);
    (load.ill.0 > 0 && recovered < seconds).then_some(recovered as f64)
}

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
    use crate::quota::Quota;

    const RAISED: Load = Load {
        limits: &[Quota::bucket(50.0, 1.0).then(60, 500.0)],
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
            arrived: vec![0, 0, SECOND / 5, SECOND / 5, SECOND / 5, SECOND],
            admitted: (0..2_000)
                .map(|call| 60 * SECOND + call * SECOND / 449)
                .collect(),
            writes: 8,
            jobs: vec![job(0, 0, 1), job(1, 0, 2), job(0, 0, 4), job(1, 2, 4)],
            least: SECOND,
        };
        let of = |measure: Measure, outcome: &Outcome| measure.1(outcome, &RAISED);
        // Both processes end at the same time.
        assert_eq!(of(FAIR, &outcome), Some(1.0));
        assert_eq!(of(USED, &outcome), Some(1.0));
        assert_eq!(of(HERD, &outcome), Some(3.0));
        assert_eq!(of(CALLS_EACH, &outcome), Some(1.5));
        assert_eq!(of(SLOW, &outcome), Some(4.0));
        assert_eq!(of(WAIT, &outcome), Some(2_250.0));
        // (8 / 4 − 1) · (4 s / (4 · 20 ms) − 1)
        assert_eq!(of(PRODUCT, &outcome), Some(49.0));
        assert_eq!(of(TIME, &outcome), Some(4.0 / 1.02));
        // One at 4 s and one at 2 s are 1 to 2.
        outcome.jobs.pop();
        assert_eq!(of(FAIR, &outcome), Some(0.9));
        outcome.jobs[0].stopped = Some(StopReason::Attempts);
        let gave_up = of(GAVE_UP, &outcome).unwrap();
        assert!((gave_up - 100.0 / 3.0).abs() < 1e-9, "{gave_up}");
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
        outcome.jobs[2].stopped = Some(StopReason::Attempts);
        outcome.jobs[4].attempts = 2;
        assert_eq!(RECOVERED.1(&outcome, &load), Some(2.0));
        let of = |measure: Measure| measure.1(&outcome, &load);
        assert_eq!((of(ANSWERED), of(LOST)), (Some(50.0), Some(1.0)));
        assert_eq!((of(LOST_FOR), of(NEVER)), (Some(1.0), Some(0.0)));
    }
}
