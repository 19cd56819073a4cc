//! Services whose replies state what remains of their limits.

use super::rate::{THROTTLED, throttled};
use super::*;
use crate::headers::Stated;

const HEARS: Strategy =
    throttled("Rate, with headers", THROTTLED).sharing(|it| Process::rated(it, true));
const WAYS: [Strategy; 3] = [
    throttled("full jitter", THROTTLED),
    throttled("Rate, from 429s", THROTTLED).sharing(|it| Process::rated(it, false)),
    HEARS,
];

const STEADY: Stated = Stated::STEADY;
const WINDOW: Stated = Stated::WINDOW;

/// As OpenAI's. Minutes of small jobs, for which the requests are scarce, alternate with minutes of large ones, for which
/// the tokens are.
const OPENAI: Load = Load {
    hop: (40.0, 10.0),
    limits: &[
        Quota::bucket(500.0 / 60.0, 60.0),
        Quota::bucket(80_000.0 / 60.0, 60.0),
    ],
    hint: Hint::Exact,
    stated: Some(STEADY),
    work: 360.0,
    workers: 100,
    has_tokens: true,
    ..Load::IDLE
};

const TOKENS: &[Row] = rows![OPENAI;
    "1 process, 100 workers" {} (1.02, 1.02);
    "4 processes, 100 workers" { processes: 4, } (1.06, 1.11);
    "20 processes, 20 workers" { processes: 20, workers: 20, } (1.04, 1.06);
    "20 processes, 200 workers" { processes: 20, workers: 200, } (1.08, 1.12);
];

pub(crate) fn tokens() -> Scenario {
    let title = "Ten minutes of jobs, limits of 500 requests and 80,000 tokens a minute";
    let mut scenario = Scenario::new(title, ["load", "strategy"], &[EACH, TIME]);
    for (name, load, _) in TOKENS {
        scenario.add(name, *load, &WAYS, &[]);
    }
    scenario
}

/// 600 calls a minute; ten workers with jobs for four and a half minutes.
const REFILLED: Load = Load {
    limits: &[Quota::bucket(10.0, 60.0)],
    stated: Some(STEADY),
    work: 400.0,
    workers: 10,
    jobs: 2_700,
    ..Load::IDLE
};

const WINDOWS: Load = Load {
    limits: &[Quota::windows(600.0, 60)],
    stated: Some(WINDOW),
    ..REFILLED
};

/// 300 calls come at once.
const HERD_OF_300: Load = Load {
    work: 30.0,
    ..WINDOWS.crowd(300)
};

/// Such a part of the replies states that nothing is left for so many seconds.
const fn zeros(part: f64, seconds: f64) -> Option<Stated> {
    Some(Stated {
        zeros: (part, seconds),
        ..WINDOW
    })
}

const ALL_ROWS: [&[Row]; 3] = [
    rows![REFILLED;
        "steady, 10 workers" {} (1.02, 1.03);
        "steady, 800 workers" { workers: 800, } (1.11, 1.03);
        "steady, 10 processes" { processes: 10, workers: 100, jobs: 270, } (1.03, 1.05);
        "steady, 20 processes" { processes: 20, workers: 200, jobs: 135, } (1.04, 1.09);
        "steady, GitHub's names" { stated: Some(WINDOW), processes: 10, workers: 100, jobs: 270, } (1.03, 1.05);
    ],
    rows![WINDOWS;
        "windows, 10 workers" {} (1.02, 1.08);
        "windows, 800 workers" { workers: 800, } (1.11, 1.03);
        "windows, 10 processes" { processes: 10, workers: 100, jobs: 270, } (1.05, 1.03);
        "windows, 20 processes" { processes: 20, workers: 200, jobs: 135, } (1.07, 1.03);
        "windows, OpenAI's names" { stated: Some(STEADY), processes: 10, workers: 100, jobs: 270, } (1.05, 1.03);
        "the window ends 2 s early" { stated: Some(Stated { late: 2.0, ..WINDOW }), } (1.02, 1.09);
        "headers stop" { stated: Some(Stated { replies: 1_000, ..WINDOW }), } (1.04, 1.15);
        "one reply in ten says 0" { stated: zeros(0.1, 60.0), } (1.03, 2.01);
        // No limit is near.
        "always 0 left for 3,600 s" { stated: zeros(1.0, 3_600.0), limits: &[Quota::windows(1e6, 3_000)], jobs: 300, } (1.02, 1.24);
        "always 0 left for 3,600 s, 10/s" {
            stated: zeros(1.0, 3_600.0), limits: &[Quota::bucket(10.0, 1.0)], hint: Hint::Next,
        } (1.06, 1.03);
    ],
    rows![HERD_OF_300;
        "300 callers, 60 in 1 s" { limits: &[Quota::windows(60.0, 1)], } (1.84, 1.26);
        "300 callers, 60 in 10 s" { limits: &[Quota::windows(60.0, 10)], } (1.84, 1.06);
        "300 callers, 60 in 61 s" { limits: &[Quota::windows(60.0, 61)], } (1.84, 1.06);
        "300 callers, 60 in 3,600 s" { limits: &[Quota::windows(60.0, 3_600)], } (1.84, 1.06);
        "300 callers, steady, 60 in 300 s" { limits: &[Quota::bucket(0.2, 300.0)], stated: Some(STEADY), } (1.84, 1.03);
        "300 callers of 10 s, 60 in 300 s" { limits: &[Quota::windows(60.0, 300)], work: 10_000.0, } (1.85, 1.15);
    ],
];

/// Whether a `Rate` keeps the quotas that replies state, and is not held up by wrong ones.
pub(crate) fn check() -> Scenario {
    let title = "A Rate that hears of quotas";
    let mut scenario = Scenario::new(title, ["limit", "strategy"], &[EACH, TIME, DONE]);
    for (name, load, most) in ALL_ROWS.concat().iter().chain(TOKENS) {
        scenario.add(name, *load, &[HEARS], &limits(*most));
    }
    scenario
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{check as verdict, measure};

    #[test]
    fn who_hears_nothing_misses_what_a_rate_with_headers_holds() {
        let mut scenario = check();
        scenario.experiments.retain(|it| it.name.ends_with(" 61 s"));
        for (strategy, held) in [(HEARS, true), (WAYS[1], false)] {
            scenario.experiments[0].strategy = strategy;
            let findings = measure(&scenario, 2);
            let (text, missed) = verdict(&scenario, &findings.results).unwrap();
            assert_eq!(missed == 0, held, "{text}");
        }
    }
}
