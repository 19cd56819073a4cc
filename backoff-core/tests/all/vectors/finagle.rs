//! Finagle: `RetryBudget`; tower: `TpsBudget`.

use super::{LEAST, play::play};
use backoff_core::{Budget, Jitter, Policy};

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
        "503 1 1, 503 2 0, 503 budget 0; ok 0.2; 503 budget 0.2; ok 0.4; ok 0.6; ok 0.8; ok 1; 503 1 0, 503 budget 0",
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
        "ok 0.75; 503 budget 0.75; ok 1.5; ok 2.25; ok 3; 503 1 2, 503 2 1, 503 4 0; 503 budget 0",
    );
}
