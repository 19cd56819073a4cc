//! What does each rule cost in a call that uses it? The first line of each form has no rule.

use super::Cases;
use crate::{
    contenders::{ours, ours_rules as rules},
    drive::{failing, in_place},
    operation::FAILURES,
};

macro_rules! success {
    ($cases:ident, $rule:literal, $column:literal, $success:path) => {
        $cases.call($rule, $column, |n| in_place(n, $success));
    };
}

macro_rules! retry {
    ($cases:ident, $rule:literal, $column:literal, $flaky:path) => {
        $cases.each(
            $rule,
            $column,
            FAILURES,
            |n| failing(n, FAILURES, $flaky),
            |n| failing(n, 0, $flaky),
        );
    };
}

/// Both forms of a rule.
macro_rules! both {
    ($cases:ident, $what:ident, $rule:literal, $attribute:path, $function:path) => {
        both!(@ $cases, $what, $rule, $attribute, $function);
    };
    (@ $cases:ident, success, $rule:literal, $attribute:path, $function:path) => {
        success!($cases, $rule, "success, attribute", $attribute);
        success!($cases, $rule, "success, function form", $function);
    };
    (@ $cases:ident, retry, $rule:literal, $attribute:path, $function:path) => {
        retry!($cases, $rule, "a retry, attribute", $attribute);
        retry!($cases, $rule, "a retry, function form", $function);
    };
}

pub(super) fn cases() -> Cases {
    let mut cases = Cases::of("rules");
    both!(
        cases,
        success,
        "none",
        ours::attribute::success,
        ours::function::success
    );
    both!(
        cases,
        retry,
        "none",
        ours::attribute::flaky_ready,
        ours::function::flaky_ready
    );
    both!(
        cases,
        success,
        "deadline",
        rules::deadline_attribute,
        rules::deadline
    );
    both!(
        cases,
        retry,
        "deadline",
        rules::flaky_deadline_attribute,
        rules::flaky_deadline
    );
    both!(
        cases,
        success,
        "timeout",
        rules::timeout_attribute,
        rules::timeout
    );
    both!(
        cases,
        success,
        "attempt_timeout",
        rules::attempt_timeout_attribute,
        rules::attempt_timeout
    );
    #[cfg(feature = "rate")]
    both!(
        cases,
        success,
        "rate, off",
        rules::rate_attribute,
        rules::rate
    );
    both!(
        cases,
        success,
        "budget, full",
        rules::budget_full_attribute,
        rules::budget_full
    );
    both!(
        cases,
        retry,
        "budget, taking tokens",
        rules::flaky_budget_attribute,
        rules::flaky_budget
    );
    both!(
        cases,
        success,
        "budget, filling",
        rules::budget_filling_attribute,
        rules::budget_filling
    );
    both!(
        cases,
        success,
        "notify",
        rules::notify_attribute,
        rules::notify
    );
    success!(cases, "reported", "success, function form", rules::reported);
    both!(
        cases,
        retry,
        "jitter: additive",
        rules::flaky_additive_attribute,
        rules::flaky_additive
    );
    both!(
        cases,
        retry,
        "jitter: decorrelated",
        rules::flaky_decorrelated_attribute,
        rules::flaky_decorrelated
    );
    cases
}
