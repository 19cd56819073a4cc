//! What does it cost to compute a wait: the first wait of a call, and a wait at the maximum?

use super::Cases;
use crate::contenders::{
    backoff_04, backon, by_hand, gax, ours, retry, tokio_retry, tokio_retry2, tower, tryhard,
};
use std::hint::black_box;

use ::tower::retry::backoff::{Backoff as _, ExponentialBackoff as TowerBackoff};

/// More waits than are needed to reach the maximum.
const TO_THE_CAP: usize = 40;

macro_rules! waits {
    ($cases:ident, $who:literal, $delays:path) => {
        // Making the iterator is not counted.
        $cases.each(
            $who,
            "first",
            1,
            |n| {
                for _ in 0..n {
                    let mut delays = $delays();
                    black_box(black_box(&mut delays).next());
                }
            },
            |n| {
                for _ in 0..n {
                    let mut delays = $delays();
                    black_box(&mut delays);
                }
            },
        );
        $cases.call($who, "at the cap", |n| {
            let mut delays = $delays();
            for _ in 0..TO_THE_CAP {
                black_box(delays.next());
            }
            let delays = black_box(&mut delays);
            for _ in 0..n {
                black_box(delays.next());
            }
        });
    };
}

pub(super) fn cases() -> Cases {
    let mut cases = Cases::of("next delay");
    waits!(cases, "by hand", by_hand::delays);
    waits!(cases, "ours", ours::delays);
    waits!(cases, "tokio-retry2", tokio_retry2::delays);
    waits!(cases, "tokio-retry", tokio_retry::delays);
    waits!(cases, "retry", retry::delays);
    waits!(cases, "tryhard (no jitter)", tryhard::delays);
    waits!(cases, "backoff", backoff_04::delays);
    waits!(cases, "backon", backon::delays);
    waits!(cases, "google-cloud-gax", gax::delays);
    // tower's waits are timers of tokio, which need a runtime.
    cases.each(
        "tower (with a timer)",
        "first",
        1,
        |n| with_timers(n, |backoff| drop(black_box(backoff.next_backoff()))),
        |n| with_timers(n, |_| ()),
    );
    cases
}

fn with_timers(n: u64, use_it: impl Fn(&mut TowerBackoff)) {
    let runtime = crate::drive::paused();
    let _inside = runtime.enter();
    for _ in 0..n {
        let mut backoff = tower::timers();
        use_it(black_box(&mut backoff));
    }
}
