//! What users are promised that this project costs, by the names that the tables use. The page of this package says why
//! each limit is a promise. A figure that is not here is printed and has no limit.

use crate::table::Figure;
use std::fmt;

/// The largest value that a figure may have.
#[derive(Clone, Copy)]
pub(crate) struct Limit {
    question: &'static str,
    who: &'static str,
    column: &'static str,
    most: f64,
}

const fn limit(
    question: &'static str,
    who: &'static str,
    column: &'static str,
    most: f64,
) -> Limit {
    Limit {
        question,
        who,
        column,
        most,
    }
}

const ATTRIBUTE: &str = "ours, attribute";
const FUNCTION: &str = "ours, function form";
const TOKIO: &str = "5 failures, tokio's timer";
const BIG_HEADERS: &str = "400 KB less 10 × 4 KB";

/// How many instructions a feature of the core may add that is on and not used. The goal is 30.
const UNUSED: f64 = if cfg!(feature = "rate") {
    50.0
} else if cfg!(feature = "metrics") {
    65.0
} else {
    40.0
};

/// In instructions, without a feature that is on and not used.
const CALLS: &[Limit] = &[
    limit("success", ATTRIBUTE, "in place", 100.0),
    limit("success", FUNCTION, "in place", 110.0),
    limit("blocking", ATTRIBUTE, "const policy", 45.0),
    limit("blocking", FUNCTION, "const policy", 57.0),
    limit("retry", ATTRIBUTE, "a retry, ready timer", 260.0),
    limit("retry", FUNCTION, "a retry, ready timer", 290.0),
    limit("other loops", "ours", "update", 160.0),
];

/// In instructions. Not compared with a build that has a feature.
const OTHERS: &[Limit] = &[
    limit("retry", ATTRIBUTE, TOKIO, 18_000.0),
    limit("retry", FUNCTION, TOKIO, 18_500.0), // goal: 18,000
    limit("other loops", "ours", ".version", 402.0),
    limit("other loops", "ours", "reported", 650.0),
    limit("other loops", "ours", "layer, success", 1_000.0),
    limit("other loops", "ours", "layer, a retry", 1_400.0),
    limit("other loops", "ours", "send", 6_600.0),
];

/// For every set of features: how long a client reads does not grow with what a reply sends.
const HEADERS: &[Limit] = &[
    limit("headers", "RateLimit", BIG_HEADERS, 0.0),
    limit("headers", "RateLimit, one item", BIG_HEADERS, 0.0),
    limit("headers", "remaining and reset", BIG_HEADERS, 0.0),
    limit("headers", "Retry-After", BIG_HEADERS, 0.0),
    limit(
        "headers",
        "Retry-After and Date, one item",
        BIG_HEADERS,
        0.0,
    ),
    limit("headers", "many lines", BIG_HEADERS, 0.0),
    limit("headers", "many lines of RateLimit", BIG_HEADERS, 0.0),
    limit("headers", "long names", BIG_HEADERS, 0.0),
];

/// In bytes; not with the feature `metrics`, with which a call keeps when it began.
const BYTES: &[Limit] = &[
    limit("bytes", ATTRIBUTE, "const policy", 144.0),
    limit("bytes", FUNCTION, "const policy", 144.0),
    limit("bytes, with a rule", "timeout", ATTRIBUTE, 208.0),
    limit("bytes, with a rule", "timeout", FUNCTION, 208.0),
    limit("heap, bytes a task", ATTRIBUTE, "100,000 tasks", 275.0),
    limit("heap, bytes a task", FUNCTION, "100,000 tasks", 275.0),
];

/// For every set of features.
const ALLOCATIONS: &[Limit] = &[
    limit("allocations", ATTRIBUTE, "success", 0.0),
    limit("allocations", ATTRIBUTE, "5 failures", 0.0),
    limit("allocations", FUNCTION, "success", 0.0),
    limit("allocations", FUNCTION, "5 failures", 0.0),
];

/// What a call of the function form compiles. `calls` measures it.
pub(crate) const COMPILED: &[Limit] = &[limit(
    "one call of a function form, compiled",
    "ours",
    "in % of backon's",
    140.0,
)];

/// The limits for the features of this build, of what runs.
pub(crate) fn limits() -> impl Iterator<Item = &'static Limit> {
    let has_feature = cfg!(any(
        feature = "rate",
        feature = "tracing",
        feature = "metrics"
    ));
    let others: &[Limit] = if has_feature { &[] } else { OTHERS };
    let bytes: &[Limit] = if cfg!(feature = "metrics") {
        &[]
    } else {
        BYTES
    };
    // The log tells of each failure, also without a subscriber: `tracing` passes it on to the crate `log`.
    let is_told = |limit: &&Limit| cfg!(feature = "tracing") && limit.question == "retry";
    let calls = CALLS.iter().filter(move |limit| !is_told(limit));
    let rest = [others, HEADERS, bytes, ALLOCATIONS];
    calls.chain(rest.into_iter().flatten())
}

impl Limit {
    pub(crate) fn is_for(&self, question: &str, who: &str, column: &str) -> bool {
        (self.question, self.who, self.column) == (question, who, column)
    }

    fn is_same(&self, other: &Limit) -> bool {
        self.is_for(other.question, other.who, other.column)
    }

    /// The figure of this limit in what [`check`] printed.
    fn printed_in(&self, text: &str) -> Option<f64> {
        let end = format!(": {self}");
        let line = text.lines().find(|line| line.ends_with(&end))?;
        line.split_whitespace().nth(1)?.parse().ok()
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, {}", self.question, self.who, self.column)
    }
}

/// Prints each figure with its limit. Returns whether all limits hold. `without` is what this function printed in a build
/// without features: then a limit for [`CALLS`] is the figure of that build and [`UNUSED`].
pub(crate) fn check<'l>(
    limits: impl IntoIterator<Item = &'l Limit>,
    figures: &[Figure],
    without: Option<&str>,
) -> bool {
    let mut all_kept = true;
    for limit in limits {
        let most = match without {
            Some(without) if CALLS.iter().any(|it| it.is_same(limit)) => limit
                .printed_in(without)
                .map_or(f64::NAN, |it| it.round() + UNUSED),
            _ => limit.most,
        };
        let found = figures
            .iter()
            .find(|figure| limit.is_for(figure.question, figure.who, figure.column));
        let verdict = match found {
            // The random jitter changes a figure by less than one.
            Some(figure) if figure.number.round() <= most => "held",
            Some(_) => "OVER",
            None => "none",
        };
        all_kept &= verdict == "held";
        let number = found.map_or(f64::NAN, |figure| figure.number);
        println!("{verdict:<5}{number:>7.1} of {most:>5}: {limit}");
    }
    all_kept
}
