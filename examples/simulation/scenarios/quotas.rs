//! Services whose replies state what remains of their limits.

use super::rate::WAYS;
use super::*;

/// As OpenAI's. Minutes of small jobs, for which the requests are scarce, alternate with minutes of large ones, for which
/// the tokens are.
const OPENAI: Load = Load {
    hop: (40.0, 10.0),
    limits: &[
        Quota::bucket(500.0 / 60.0, 60.0),
        Quota::bucket(80_000.0 / 60.0, 60.0),
    ],
    hint: Hint::Exact,
    states: true,
    work: 360.0,
    workers: 100,
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
    states: true,
    work: 400.0,
    workers: 10,
    jobs: 2_700,
    ..Load::IDLE
};

const WINDOWS: Load = Load {
    limits: &[Quota::windows(600.0, 60)],
    ..REFILLED
};

/// 300 calls come at once.
const HERD_OF_300: Load = Load {
    work: 30.0,
    ..WINDOWS.crowd(300)
};

const ALL_ROWS: [&[Row]; 3] = [
    rows![REFILLED;
        "steady, 10 workers" {} (1.02, 1.03);
        "steady, 800 workers" { workers: 800, } (1.11, 1.03);
        "steady, 20 processes" { processes: 20, workers: 200, jobs: 135, } (1.04, 1.09);
    ],
    rows![WINDOWS;
        "windows, 10 workers" {} (1.02, 1.08);
        "windows, 800 workers" { workers: 800, } (1.11, 1.03);
        "windows, 20 processes" { processes: 20, workers: 200, jobs: 135, } (1.07, 1.03);
    ],
    rows![HERD_OF_300;
        "300 callers, 60 in 1 s" { limits: &[Quota::windows(60.0, 1)], } (1.84, 1.26);
        "300 callers, 60 in 61 s" { limits: &[Quota::windows(60.0, 61)], } (1.84, 1.06);
        "300 callers, steady, 60 in 300 s" { limits: &[Quota::bucket(0.2, 300.0)], } (1.84, 1.03);
        "300 callers of 10 s, 60 in 300 s" { limits: &[Quota::windows(60.0, 300)], work: 10_000.0, } (1.85, 1.15);
    ],
];

/// Whether a `Rate` keeps the quotas that replies state.
pub(crate) fn check() -> Scenario {
    let title = "A Rate that hears of quotas";
    let mut scenario = Scenario::new(title, ["limit", "strategy"], &[EACH, TIME, DONE]);
    for (name, load, most) in ALL_ROWS.concat().iter().chain(TOKENS) {
        scenario.add(name, *load, &WAYS[2..], &limits(*most));
    }
    scenario
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{measure, missed};

    #[test]
    fn who_hears_nothing_misses_what_a_rate_with_headers_holds() {
        let mut scenario = check();
        scenario.experiments.retain(|it| it.name.ends_with(" 61 s"));
        for (strategy, held) in [(WAYS[2], true), (WAYS[1], false)] {
            scenario.experiments[0].strategy = strategy;
            let missed = missed(&scenario, &measure(&scenario, 2).results);
            assert_eq!(missed.is_empty(), held, "{missed:?}");
        }
    }
}
