//! What is measured of a [`Crowd`](crate::row::Crowd) that writes one row.

use crate::Error;
use crate::row::{Crowd, Outcome, run};
use crate::runs::Crew;
use crate::stats::Mean;
use crate::strategies::Strategy;

/// Means over the seeds.
pub(crate) struct Measured {
    /// Writes of all clients.
    pub(crate) calls: Mean,
    pub(crate) reads: Mean,
    pub(crate) both: Mean,
    /// Milliseconds until the last client is told of its success.
    pub(crate) completion: Mean,
    /// Milliseconds from a client's arrival until the client is told of its success.
    pub(crate) wait: Mean,
    /// (calls / N − 1) · (time / (N · W) − 1), where W, the window, is two hops: the time from a read
    /// to the write after it.
    pub(crate) product: Mean,
}

/// Runs a crowd with every seed. Nobody may give up.
pub(crate) fn measure(crew: &Crew, crowd: &Crowd, strategy: &Strategy) -> Result<Measured, Error> {
    let number = f64::from(crowd.clients);
    let experiment = format!("{number} clients, {}", strategy.name);
    let outcomes = crew.run(&experiment, |rng| run(crowd, strategy, rng));
    let of = |value: &dyn Fn(&Outcome) -> f64| {
        let mean = Mean::of(outcomes.iter().map(value));
        mean.ok_or("there is nothing to take a mean of without seeds")
    };
    let millis = |nanos: u64| nanos as f64 / 1e6;

    let calls = |outcome: &Outcome| outcome.writes as f64;
    let completion = |outcome: &Outcome| millis(outcome.completion);
    let arrival = crowd.mean_arrival(strategy).as_secs_f64() * 1e3;
    let wait = |outcome: &Outcome| {
        let told = &outcome.succeeded;
        told.iter().copied().map(millis).sum::<f64>() / told.len() as f64 - arrival
    };
    let window = 2e3 * crowd.hop.mean().as_secs_f64();
    let more = |outcome: &Outcome| calls(outcome) / number - 1.0;
    let longer = |outcome: &Outcome| completion(outcome) / (number * window) - 1.0;
    // The product of two means. An error in one counts as often as the other is large, and both are of the
    // same runs.
    let (one, other) = (of(&more)?.mean, of(&longer)?.mean);
    let product = of(&|outcome| more(outcome) * other + longer(outcome) * one)?;
    Ok(Measured {
        calls: of(&calls)?,
        reads: of(&|outcome| outcome.reads as f64)?,
        both: of(&|outcome| (outcome.reads + outcome.writes) as f64)?,
        completion: of(&completion)?,
        wait: of(&wait)?,
        product: Mean {
            mean: one * other,
            error: product.error,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Hop;
    use crate::strategies::FULL;
    use std::time::Duration;

    #[test]
    fn who_is_alone_waits_four_hops_from_the_arrival() {
        let hop = Hop::millis(10, 0).unwrap();
        let crowd = Crowd::over(10, hop, Duration::from_secs(2));
        let measured = measure(&Crew::silent(2), &crowd, &FULL).unwrap();
        assert_eq!((measured.calls.mean, measured.reads.mean), (10.0, 10.0));
        assert!(
            (measured.wait.mean - 40.0).abs() < 1e-9,
            "{}",
            measured.wait
        );
        // The last comes after 1.8 s.
        assert!((measured.completion.mean - 1_840.0).abs() < 1e-9);
        assert_eq!(measured.product.mean, 0.0);
    }
}
