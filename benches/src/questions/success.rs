//! What does a call cost if it succeeds at once?

use super::Cases;
use crate::{
    contenders::{
        backoff_04, backon, bare, by_hand, gax, ours, tokio_retry, tokio_retry2, tower, tryhard,
    },
    drive::{in_place, moved},
};
use std::hint::black_box;

/// A policy known at compile time: in place, and moved.
macro_rules! known {
    ($cases:ident, $who:literal, $success:path) => {
        $cases.call($who, "in place", |n| in_place(n, $success));
        $cases.call($who, "moved", |n| moved(n, $success));
    };
}

/// A policy that is made before, at run time; moved.
macro_rules! made {
    ($cases:ident, $who:literal, $policy:expr, $success:path) => {
        $cases.call($who, "run time, moved", |n| {
            let policy = black_box($policy);
            moved(n, |i| $success(&policy, i));
        });
    };
}

pub(super) fn cases() -> Cases {
    let mut cases = Cases::of("success");
    known!(cases, "bare", bare::success);
    known!(cases, "by hand", by_hand::success);
    made!(cases, "by hand", by_hand::RULES, by_hand::success_by);
    known!(cases, "ours, attribute", ours::attribute::success);
    made!(
        cases,
        "ours, attribute",
        ours::POLICY,
        ours::attribute::success_by
    );
    known!(cases, "ours, function form", ours::function::success);
    made!(
        cases,
        "ours, function form",
        ours::POLICY,
        ours::function::success_by
    );
    known!(cases, "tokio-retry2", tokio_retry2::success);
    made!(
        cases,
        "tokio-retry2",
        tokio_retry2::policy(),
        tokio_retry2::success_by
    );
    known!(cases, "tokio-retry", tokio_retry::success);
    made!(
        cases,
        "tokio-retry",
        tokio_retry::policy(),
        tokio_retry::success_by
    );
    known!(cases, "tryhard", tryhard::success);
    made!(cases, "tryhard", tryhard::policy(), tryhard::success_by);
    known!(cases, "tower", tower::success);
    made!(cases, "tower", tower::policy(), tower::success_by);
    known!(cases, "backoff", backoff_04::success);
    made!(
        cases,
        "backoff",
        backoff_04::policy(),
        backoff_04::success_by
    );
    known!(cases, "backon", backon::success);
    made!(cases, "backon", backon::POLICY, backon::success_by);
    known!(cases, "backon-macros", backon::attribute::success);
    known!(cases, "google-cloud-gax", gax::success);
    made!(cases, "google-cloud-gax", gax::policy(), gax::success_by);
    cases
}
