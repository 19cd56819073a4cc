//! Finagle: `RetryBudget`.

use super::{
    LEAST,
    play::{play, stops, succeeds, waits},
    status,
};
use backoff_core::{Budget, Jitter, Policy, StopReason};

/// A success gives back a share of a retry, to three decimals: Finagle, `RetryBudget`, with its
/// percentage of 20 and a reserve of 2.
#[test]
fn finagle_share_of_successes() {
    use StopReason::Budget as Spent;
    let dry = || stops(status(503), Spent, 0.0);
    play(
        "Finagle, RetryBudget, 20 percent",
        Policy::exponential().jitter(Jitter::None),
        Budget::ratio(0.2, 2),
        LEAST,
        &[
            &[
                waits(status(503), 1.0, 1.0),
                waits(status(503), 2.0, 0.0),
                dry(),
            ],
            &[succeeds(0.2)],
            &[stops(status(503), Spent, 0.2)],
            &[succeeds(0.4)],
            &[succeeds(0.6)],
            &[succeeds(0.8)],
            &[succeeds(1.0)],
            &[waits(status(503), 1.0, 0.0), dry()],
        ],
    );
}
