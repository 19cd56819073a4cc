//! The sizes of the futures: the memory that a task, or an outer future, has to keep.

use crate::{
    contenders::{
        backoff_04, backon, bare, by_hand, gax, ours, ours_rules, tokio_retry, tokio_retry2, tower,
        tower_layer, tryhard,
    },
    table::Figure,
};

const QUESTION: &str = "bytes";
const NAMES: &str = "bytes, the policy's name";
const RULES: &str = "bytes, with a rule";

pub(crate) fn measure() -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut put = |who, column, bytes: usize| {
        figures.push(Figure::new(QUESTION, who, column, bytes as f64));
    };
    let known = "const policy";
    put("bare", known, size_of_val(&bare::success(0)));
    put("by hand", known, size_of_val(&by_hand::success(0)));
    put(
        "ours, attribute",
        known,
        size_of_val(&ours::attribute::success(0)),
    );
    put(
        "ours, function form",
        known,
        size_of_val(&ours::function::success(0)),
    );
    put(
        "tokio-retry2",
        known,
        size_of_val(&tokio_retry2::success(0)),
    );
    put("tokio-retry", known, size_of_val(&tokio_retry::success(0)));
    put("tryhard", known, size_of_val(&tryhard::success(0)));
    put("tower", known, size_of_val(&tower::success(0)));
    put("backoff", known, size_of_val(&backoff_04::success(0)));
    put("backon", known, size_of_val(&backon::success(0)));
    put(
        "backon-macros",
        known,
        size_of_val(&backon::attribute::success(0)),
    );
    put("google-cloud-gax", known, size_of_val(&gax::success(0)));

    let [ours_layer, theirs] = tower_layer::bytes();
    put("ours, layer of tower", "http::Request", ours_layer);
    put("tower's retry layer", "http::Request", theirs);

    let made = "run time";
    let policy = ours::POLICY;
    put(
        "by hand",
        made,
        size_of_val(&by_hand::success_by(&by_hand::RULES, 0)),
    );
    put(
        "ours, attribute",
        made,
        size_of_val(&ours::attribute::success_by(&policy, 0)),
    );
    put(
        "ours, function form",
        made,
        size_of_val(&ours::function::success_by(&policy, 0)),
    );
    put(
        "tokio-retry2",
        made,
        size_of_val(&tokio_retry2::success_by(&tokio_retry2::policy(), 0)),
    );
    put(
        "tokio-retry",
        made,
        size_of_val(&tokio_retry::success_by(&tokio_retry::policy(), 0)),
    );
    put(
        "tryhard",
        made,
        size_of_val(&tryhard::success_by(&tryhard::policy(), 0)),
    );
    put(
        "tower",
        made,
        size_of_val(&tower::success_by(&tower::policy(), 0)),
    );
    put(
        "backoff",
        made,
        size_of_val(&backoff_04::success_by(&backoff_04::policy(), 0)),
    );
    put(
        "backon",
        made,
        size_of_val(&backon::success_by(&backon::POLICY, 0)),
    );
    put(
        "google-cloud-gax",
        made,
        size_of_val(&gax::success_by(&gax::policy(), 0)),
    );

    // Ways to write the policy in the attribute.
    let mut put = |who, column, bytes: usize| {
        figures.push(Figure::new(NAMES, who, column, bytes as f64));
    };
    let one_letter = ours::attribute::success_one_letter(0);
    put("ours, attribute", "policy = P", size_of_val(&one_letter));
    let of_self = ours::attribute::Client::success(0);
    put("ours, attribute", "policy = Self::X", size_of_val(&of_self));

    // One rule more.
    let mut put = |who, rule, bytes: usize| {
        figures.push(Figure::new(RULES, rule, who, bytes as f64));
    };
    put(
        "ours, attribute",
        "deadline",
        size_of_val(&ours_rules::deadline_attribute(0)),
    );
    put(
        "ours, function form",
        "deadline",
        size_of_val(&ours_rules::deadline(0)),
    );
    let bounded = ours_rules::timeout_attribute(0);
    put("ours, attribute", "timeout", size_of_val(&bounded));
    let bounded = ours_rules::timeout_by(&policy, 0);
    let made_at_the_call = "timeout and policy at run time";
    put("ours, attribute", made_at_the_call, size_of_val(&bounded));
    let bounded = ours_rules::timeout(0);
    put("ours, function form", "timeout", size_of_val(&bounded));
    let cut = ours_rules::attempt_timeout_attribute(0);
    put("ours, attribute", "attempt_timeout", size_of_val(&cut));
    let cut = ours_rules::attempt_timeout(0);
    put("ours, function form", "attempt_timeout", size_of_val(&cut));
    put(
        "ours, attribute",
        "notify",
        size_of_val(&ours_rules::notify_attribute(0)),
    );
    put(
        "ours, function form",
        "notify",
        size_of_val(&ours_rules::notify(0)),
    );
    put(
        "ours, function form",
        "reported",
        size_of_val(&ours_rules::reported(0)),
    );
    put(
        "ours, function form",
        "update",
        size_of_val(&ours::update(0)),
    );
    put("by hand", "update", size_of_val(&by_hand::update(0)));
    figures
}
