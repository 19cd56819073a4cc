//! What does the decision cost, without a loop? Only this project is measured: in the other crates, the
//! decision is a part of the loop.

use super::Cases;
use crate::{contenders::ours_rules::decision, operation::UNAVAILABLE};
use std::hint::black_box;

pub(super) fn cases() -> Cases {
    let mut cases = Cases::of("decision");
    cases.call("ours", "judge and decide", |n| {
        for _ in 0..n {
            let mut state = decision::started();
            let _ = black_box(decision::of_error(&mut state, black_box(&UNAVAILABLE)));
        }
    });
    cases.call("ours", "decide", |n| {
        let verdict = decision::verdict();
        for _ in 0..n {
            let mut state = decision::started();
            let _ = black_box(decision::of_verdict(&mut state, black_box(verdict)));
        }
    });
    cases
}
