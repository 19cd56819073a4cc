//! Messages about numbers. One crate, because each costs a call of rustc.

mod numbers {
    mod attempt_timeout_zero;
    mod attempts_zero;
    mod duration_bad_unit;
    mod duration_conflict;
    mod duration_negative;
    mod duration_no_unit;
    mod factor_below_one;
    mod jitter_of_other_kind;
    mod jitter_unknown;
}

fn main() {}
