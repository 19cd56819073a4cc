//! Finagle: `RetryBudget`; tower: `TpsBudget`.

use super::{
    LEAST,
    play::{done, play, stop, wait},
};
use backoff_core::{Budget, Jitter, Policy, StopReason::Budget as NoTokens};

const POLICY: Policy = Policy::exponential().jitter(Jitter::None);

/// A success gives back a share of a retry, to three decimals: Finagle, `RetryBudget`, with its
/// percentage of 20 and a reserve of 2.
#[test]
fn finagle_share_of_successes() {
    play(
        "Finagle, RetryBudget, 20 percent",
        POLICY,
        Budget::ratio(0.2, 2),
        LEAST,
        &[
            &[wait(503, 1.0, 1), wait(503, 2.0, 0), stop(503, NoTokens, 0)],
            &[done(0.2)],
            &[stop(503, NoTokens, 0.2)],
            &[done(0.4)],
            &[done(0.6)],
            &[done(0.8)],
            &[done(1)],
            &[wait(503, 1.0, 0), stop(503, NoTokens, 0)],
        ],
    );
}

/// tower keeps a share in whole percents as `1 / percent`, so that 0.75 counts as 1: after four successes it
/// allows four retries.
#[test]
fn a_share_of_successes_is_not_cut_to_a_whole_fraction() {
    play(
        "tower, a share of 0.75",
        POLICY,
        Budget::ratio(0.75, 100).starting_with(0),
        LEAST,
        &[
            &[done(0.75)],
            &[stop(503, NoTokens, 0.75)],
            &[done(1.5)],
            &[done(2.25)],
            &[done(3)],
            &[wait(503, 1.0, 2), wait(503, 2.0, 1), wait(503, 4.0, 0)],
            &[stop(503, NoTokens, 0)],
        ],
    );
}
