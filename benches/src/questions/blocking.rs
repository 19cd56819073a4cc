//! What does a success of a blocking call cost?

use super::Cases;
use crate::contenders::{backoff_04, backon, bare, by_hand, ours, retry};
use std::hint::black_box;

macro_rules! known {
    ($cases:ident, $who:literal, $blocking:path) => {
        $cases.call($who, "const policy", |n| {
            for i in 0..n {
                let _ = black_box($blocking(black_box(i)));
            }
        });
    };
}

macro_rules! made {
    ($cases:ident, $who:literal, $policy:expr, $blocking:path) => {
        $cases.call($who, "run time", |n| {
            let policy = black_box($policy);
            for i in 0..n {
                let _ = black_box($blocking(&policy, black_box(i)));
            }
        });
    };
}

pub(super) fn cases() -> Cases {
    let mut cases = Cases::of("blocking");
    known!(cases, "bare", bare::blocking);
    known!(cases, "by hand", by_hand::blocking);
    made!(cases, "by hand", by_hand::RULES, by_hand::blocking_by);
    known!(cases, "ours, attribute", ours::attribute::blocking);
    made!(
        cases,
        "ours, attribute",
        ours::POLICY,
        ours::attribute::blocking_by
    );
    known!(cases, "ours, function form", ours::function::blocking);
    made!(
        cases,
        "ours, function form",
        ours::POLICY,
        ours::function::blocking_by
    );
    known!(cases, "retry", retry::blocking);
    known!(cases, "backoff", backoff_04::blocking);
    made!(
        cases,
        "backoff",
        backoff_04::policy(),
        backoff_04::blocking_by
    );
    known!(cases, "backon", backon::blocking);
    made!(cases, "backon", backon::POLICY, backon::blocking_by);
    known!(cases, "backon-macros", backon::attribute::blocking);
    cases
}
