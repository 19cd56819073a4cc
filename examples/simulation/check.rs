//! Whether a pace is worth being the default: it is compared with full jitter for crowds of all sizes,
//! near and far, that come at once and one after the other, and its product is held against a limit.

use std::time::Duration;

use crate::Error;
use crate::measured::{Measured, measure};
use crate::quota::{Hint, Quota};
use crate::results::Results;
use crate::row::{Crowd, Hop};
use crate::runs::Crew;
use crate::stats::Mean;
use crate::strategies::{FULL, LIMITED, PACED, PACED_IAM, Strategy};
use crate::verdict::{Bound, Limit, Verdict};

const CLIENTS: [u32; 9] = [1, 2, 3, 5, 10, 20, 50, 100, 200];
/// At this number of clients, who come at once on the first network, the product and the reads are held
/// against limits.
const CROWD: u32 = 100;
/// Mean and standard deviation of a hop in milliseconds. The first network is that of the published
/// simulation.
const NETWORKS: [(u32, u32); 3] = [(10, 2), (10, 8), (100, 20)];
/// The time over which the clients come.
const ARRIVALS: [(&str, Duration); 2] = [
    ("at once", Duration::ZERO),
    ("over 2 s", Duration::from_secs(2)),
];

const CALLS: &str = "calls / full jitter's";
const WAIT: &str = "a client's wait / full jitter's";
const TIME: &str = "time / full jitter's";
const PRODUCT: &str = "product";
const READS: &str = "reads / calls";

/// The most that may be needed. Full jitter's first wait, 10 ms, is short beside the window of far clients: the
/// last of three is done later at a pace.
const LIMITS: [(&str, f64); 5] = [
    (PRODUCT, 5.0),
    (READS, 1.3),
    (CALLS, 1.01),
    (WAIT, 1.3),
    (TIME, 1.45),
];

/// 128 writers under a limit of 60 calls a second, near (a hop of 3 ms): the most reads and writes together, and
/// milliseconds until the last one is done.
const WRITERS: u32 = 128;
const MANY_WRITERS: [(&str, Strategy, [f64; 2]); 2] = [
    // Three of four calls are refused: those who wait as long as they may still call 200 times a second. Each refused
    // write is a read for nothing.
    ("waits up to 1.28 s", LIMITED, [3_650.0, 15_700.0]),
    ("waits up to 64 s", PACED_IAM, [860.0, 17_200.0]),
];

/// Runs everything with so many seeds.
pub(crate) fn check(seeds: u64) -> Result<Verdict, Error> {
    let experiments = NETWORKS.len() * ARRIVALS.len() * CLIENTS.len() * 2 + MANY_WRITERS.len();
    let crew = Crew::new(seeds, experiments);
    Ok(verdict(&crew, &CLIENTS, &PACED)?.and(many_writers(&crew)?))
}

fn many_writers(crew: &Crew) -> Result<Verdict, Error> {
    let mut crowd = Crowd::at_once(WRITERS, Hop::millis(3, 1)?);
    crowd.limit = Some((Quota::bucket(60), Hint::Nothing));
    let mut limits = Vec::new();
    for (name, strategy, [calls, time]) in &MANY_WRITERS {
        let own = measure(crew, &crowd, strategy)?;
        let limit = |what: &str, measured, most| Limit {
            what: what.to_owned(),
            bound: Bound::AtMost(most),
            measured,
            at: format!("{WRITERS} writers, 60 calls/s, {name}"),
        };
        limits.push(limit("reads and writes", own.both, *calls));
        limits.push(limit("time, ms", own.completion, *time));
    }
    Ok(Verdict::new("", limits))
}

/// Of a strategy that wants to be the default, with these numbers of clients.
fn verdict(crew: &Crew, clients: &[u32], strategy: &Strategy) -> Result<Verdict, Error> {
    let results = compare(crew, clients, strategy)?;
    let text = format!(
        "{}\n\
         product: (calls / N - 1) * (time / (N * two hops) - 1).\n\
         a client's wait: the mean from a client's arrival to its success.\n\n",
        results.table(),
    );
    let limit = |(measure, most): (&str, f64)| {
        let (at, measured) = results.largest(measure)?;
        Some(Limit {
            what: measure.to_owned(),
            bound: Bound::AtMost(most),
            measured,
            at: format!("{}, {}, N = {}", at[0], at[1], at[2]),
        })
    };
    Ok(Verdict::new(
        &text,
        LIMITS.into_iter().filter_map(limit).collect(),
    ))
}

fn compare(crew: &Crew, clients: &[u32], strategy: &Strategy) -> Result<Results, Error> {
    let mut results = Results::new(&["hops", "come", "N"], &[CALLS, WAIT, TIME, PRODUCT, READS]);
    for network @ (mean, deviation) in NETWORKS {
        let hop = Hop::millis(mean, deviation)?;
        for (come, over) in ARRIVALS {
            for &clients in clients {
                let crowd = Crowd::over(clients, hop, over);
                let full = measure(crew, &crowd, &FULL)?;
                let own = measure(crew, &crowd, strategy)?;
                let ratio = |of: fn(&Measured) -> Mean| Some(of(&own).over(of(&full)));
                let is_crowd = network == NETWORKS[0] && clients == CROWD && over.is_zero();
                let means = vec![
                    ratio(|measured| measured.calls),
                    ratio(|measured| measured.wait),
                    ratio(|measured| measured.completion),
                    Some(own.product).filter(|_| is_crowd),
                    Some(own.reads.over(own.calls)).filter(|_| is_crowd),
                ];
                let hops = format!("|N({mean}, {deviation})| ms");
                results.add([&hops, come, &clients.to_string()], means);
            }
        }
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategies::CONTENTION;

    fn check(strategy: &Strategy, clients: &[u32]) -> Verdict {
        verdict(&Crew::silent(10), clients, strategy).unwrap()
    }

    fn find<'a>(verdict: &'a Verdict, what: &str) -> &'a Limit {
        let mut limits = verdict.limits.iter();
        limits.find(|limit| limit.what == what).unwrap()
    }

    #[test]
    fn the_pace_holds_where_a_wait_without_jitter_misses() {
        let clients = [1, 2, 10, 100];
        let paced = check(&PACED, &clients);
        // So few seeds measure the product within a tenth, and ratios of one crowd within some percent.
        let product = find(&paced, PRODUCT).measured;
        assert!((product.mean - 4.7).abs() < 0.6, "{product}");
        assert!(find(&paced, READS).is_held(), "{}", paced.text);
        assert_eq!(paced.limits.len(), 5);

        let exponential = CONTENTION.iter().find(|one| one.name == "exponential");
        let alone = check(exponential.unwrap(), &clients);
        for what in [PRODUCT, CALLS, TIME] {
            let limit = find(&alone, what);
            assert!(!limit.is_held(), "{what} is held: {}", limit.measured);
        }
        assert!(alone.text.contains("MISSED"), "{}", alone.text);
        let error = alone.held().unwrap_err().to_string();
        assert!(error.ends_with(" of 5 limits are missed"), "{error}");
    }

    #[test]
    fn full_jitter_is_as_good_as_full_jitter() {
        let verdict = check(&FULL, &[1, 2, 5]);
        verdict.held().unwrap();
        assert_eq!(find(&verdict, CALLS).measured.mean, 1.0);
        assert!(verdict.text.contains("held") && !verdict.text.contains("MISSED"));
    }
}
