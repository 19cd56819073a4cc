//! What is measured of a [`Crowd`](crate::row::Crowd) that writes one row.

use crate::row::{Crowd, run};
use crate::runs::Crew;
use crate::stats::Mean;
use crate::strategies::Strategy;

/// Means over the seeds.
pub(crate) struct Measured {
    /// Writes of all clients.
    pub(crate) calls: Mean,
    pub(crate) reads: Mean,
    /// Milliseconds until the last client is told of its success.
    pub(crate) completion: Mean,
    /// Milliseconds from a client's arrival until the client is told of its success.
    pub(crate) wait: Mean,
    /// (calls / N − 1) · (time / (N · W) − 1), where W, the window, is two hops: the time from a read
    /// to the write after it.
    pub(crate) product: Mean,
}

/// Runs a crowd with every seed. Nobody may give up.
pub(crate) fn measure(crew: &Crew, crowd: &Crowd, strategy: &Strategy) -> Option<Measured> {
    let number = f64::from(crowd.clients);
    let experiment = format!("{number} clients, {}", strategy.name);
    let outcomes = crew.run(&experiment, |rng| run(crowd, strategy, rng));
    let of = |value: &dyn Fn(usize) -> f64| Mean::of((0..outcomes.len()).map(value));
    let millis = |nanos: u64| nanos as f64 / 1e6;

    let calls = |run: usize| outcomes[run].writes as f64;
    let completion = |run: usize| millis(outcomes[run].completion);
    let arrival = crowd.mean_arrival(strategy).as_secs_f64() * 1e3;
    let wait = |run: usize| {
        let told = &outcomes[run].succeeded;
        told.iter().copied().map(millis).sum::<f64>() / told.len() as f64 - arrival
    };
    let window = 2e3 * crowd.hop.mean().as_secs_f64();
    let more = |run| calls(run) / number - 1.0;
    let longer = |run| completion(run) / (number * window) - 1.0;
    let runs = (0..outcomes.len()).map(|run| (more(run), longer(run)));
    Some(Measured {
        calls: of(&calls)?,
        reads: of(&|run| outcomes[run].reads as f64)?,
        completion: of(&completion)?,
        wait: of(&wait)?,
        product: product(&runs.collect::<Vec<_>>())?,
    })
}

/// The product of two means. An error in one counts as often as the other is large, and both are of
/// the same runs.
fn product(runs: &[(f64, f64)]) -> Option<Mean> {
    let one = Mean::of(runs.iter().map(|run| run.0))?.mean;
    let other = Mean::of(runs.iter().map(|run| run.1))?.mean;
    let error = Mean::of(runs.iter().map(|run| run.0 * other + run.1 * one))?.error;
    let mean = one * other;
    Some(Mean { mean, error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Hop;
    use crate::strategies::FULL;
    use std::time::Duration;

    #[test]
    fn errors_of_a_product_may_cancel_out() {
        // Where one is larger by a tenth, the other is smaller by as much.
        let against = product(&[(1.1, 0.9), (0.9, 1.1)]).unwrap();
        assert_eq!((against.mean, against.error), (1.0, 0.0));
        let together = product(&[(1.1, 1.1), (0.9, 0.9)]).unwrap();
        assert!((together.error - 0.2).abs() < 1e-12, "{together}");
        assert_eq!(product(&[]), None);
    }

    #[test]
    fn who_is_alone_waits_four_hops_from_the_arrival() {
        let hop = Hop::new(Duration::from_millis(10), Duration::ZERO).unwrap();
        let crowd = Crowd {
            over: Duration::from_secs(2),
            ..Crowd::at_once(10, hop)
        };
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
