//! What does a retry cost, without the wait? Measured with a timer that is ready at once, and with tokio's
//! timer, whose clock is paused.

use super::Cases;
use crate::{
    contenders::{
        backoff_04, backon, bare, by_hand, gax, ours, tokio_retry, tokio_retry2, tower, tryhard,
    },
    drive::{failing, failing_on_tokio},
    operation::FAILURES,
};

/// A call with five failures, and the cost of each failure.
macro_rules! ready {
    ($cases:ident, $who:literal, $flaky:path) => {
        $cases.each(
            $who,
            "a retry, ready timer",
            FAILURES,
            |n| failing(n, FAILURES, $flaky),
            |n| failing(n, 0, $flaky),
        );
        $cases.call($who, "5 failures, ready timer", |n| {
            failing(n, FAILURES, $flaky)
        });
    };
}

macro_rules! tokio {
    ($cases:ident, $who:literal, $flaky:path) => {
        $cases.call($who, "5 failures, tokio's timer", |n| {
            failing_on_tokio(n, FAILURES, $flaky)
        });
    };
}

pub(super) fn cases() -> Cases {
    let mut cases = Cases::of("retry");
    ready!(cases, "bare", bare::flaky);
    tokio!(cases, "bare", bare::flaky);
    ready!(cases, "by hand", by_hand::flaky_ready);
    tokio!(cases, "by hand", by_hand::flaky);
    ready!(cases, "ours, attribute", ours::attribute::flaky_ready);
    tokio!(cases, "ours, attribute", ours::attribute::flaky);
    ready!(cases, "ours, function form", ours::function::flaky_ready);
    tokio!(cases, "ours, function form", ours::function::flaky);
    tokio!(cases, "tokio-retry2", tokio_retry2::flaky);
    tokio!(cases, "tokio-retry", tokio_retry::flaky);
    tokio!(cases, "tryhard (no jitter)", tryhard::flaky);
    ready!(cases, "tower (ready: no delay)", tower::flaky_ready);
    tokio!(cases, "tower (ready: no delay)", tower::flaky);
    ready!(cases, "backoff", backoff_04::flaky_ready);
    tokio!(cases, "backoff", backoff_04::flaky);
    ready!(cases, "backon", backon::flaky_ready);
    tokio!(cases, "backon", backon::flaky);
    ready!(cases, "backon-macros", backon::attribute::flaky_ready);
    tokio!(cases, "backon-macros", backon::attribute::flaky);
    ready!(cases, "google-cloud-gax", gax::flaky_ready);
    tokio!(cases, "google-cloud-gax", gax::flaky);
    cases
}
