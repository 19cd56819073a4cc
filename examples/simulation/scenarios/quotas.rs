//! Services whose replies state what remains of their limits.

use super::rate::{THROTTLED, limits};
use super::rows;
use crate::axis::Scale;
use crate::chart::{Chart, Panel};
use crate::headers::{Stated, Zeros};
use crate::load::{Load, Row, Shared, Strategy, Work};
use crate::measures::{CALLS_EACH, DONE, TIME};
use crate::quota::{Hint, Quota};
use crate::results::Results;
use crate::scenario::{Findings, Scenario};

const fn way(name: &'static str, shared: Shared) -> Strategy {
    Strategy::new(name, THROTTLED, Work::Call).sharing(shared)
}

const HEARS: Strategy = way("Rate, with headers", Shared::Rate(true));
const WAYS: [Strategy; 4] = [
    way("full jitter", Shared::Nothing),
    way("Rate, from 429s", Shared::Rate(false)),
    HEARS,
    way("the limits known", Shared::Known),
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
    has_tokens: true,
    ..Load::IDLE
};

const TOKENS: &[Row] = rows![OPENAI;
    "1 process, 10 workers" { workers: 10, } (1.02, 1.02);
    "1 process, 100 workers" { workers: 100, } (1.02, 1.02);
    "4 processes, 40 workers" { processes: 4, workers: 40, } (1.04, 1.13);
    "4 processes, 100 workers" { processes: 4, workers: 100, } (1.06, 1.11);
    "20 processes, 20 workers" { processes: 20, workers: 20, } (1.04, 1.06);
    "20 processes, 200 workers" { processes: 20, workers: 200, } (1.08, 1.12);
    "1 process, 100 workers, headers 1 s late" {
        workers: 100, stated: Some(Stated { old: 1.0, ..STEADY }),
    } (1.06, 1.02);
];

pub(crate) fn tokens() -> Scenario {
    let title = "Ten minutes of jobs, limits of 500 requests and 80,000 tokens a minute";
    let mut scenario = Scenario::new(title, &["load", "strategy"], &[CALLS_EACH, TIME]);
    for (name, load, _) in TOKENS {
        scenario.add(name, *load, &WAYS, &[]);
    }
    scenario.draw = |findings| vec![("quota-calls", drawn(findings))];
    scenario
}

fn drawn(findings: &Findings) -> Chart {
    let processes = [1, 4, 20];
    let mut drawn = Results::new(&["processes", "strategy"], [CALLS_EACH.0]);
    for (count, load) in processes.iter().zip([1, 3, 5]) {
        for way in &WAYS {
            let mean = findings
                .results
                .mean(&[TOKENS[load].0, way.name], CALLS_EACH.0);
            drawn.add([&count.to_string(), way.name], vec![mean]);
        }
    }
    let names = WAYS.map(|way| way.name);
    let lines = drawn.lines(names, &processes, CALLS_EACH.0, 1.0);
    let x = ("processes", Scale::Logarithmic);
    Chart {
        title: "A Rate that hears of quotas is hardly ever refused".into(),
        subtitle: "100 workers, and 200 in 20 processes; 500 requests and 80,000 tokens a minute"
            .into(),
        panels: vec![Panel::new(x, (CALLS_EACH.0, Scale::Linear), lines)],
    }
}

/// 600 calls a minute.
const REFILLED: Quota = Quota::bucket(10.0, 60.0);
const MINUTES: Quota = Quota::windows(600.0, 60);
const SLIDING: Quota = Quota::sliding(600.0, 60);

/// Ten workers with jobs for four and a half minutes.
const TEN: Load = Load {
    limits: &[REFILLED],
    stated: Some(STEADY),
    work: 400.0,
    workers: 10,
    jobs: 2_700,
    ..Load::IDLE
};

const WINDOWS: Load = Load {
    limits: &[MINUTES],
    stated: Some(WINDOW),
    ..TEN
};

/// No limit is near.
const FREE: Load = Load {
    limits: &[Quota::windows(1e6, 3_000)],
    jobs: 300,
    ..WINDOWS
};

/// 300 calls come at once.
const HERD: Load = Load {
    work: 30.0,
    ..WINDOWS.crowd(300)
};

/// A limit of ten a second, and what is stated of it is wrong.
const WRONG: Load = Load {
    limits: &[Quota::bucket(10.0, 1.0)],
    hint: Hint::Next,
    jobs: 600,
    ..WINDOWS
};

/// Some replies state that nothing is left.
const fn zeros(zeros: Zeros, ends_in: f64, is_much: bool) -> Option<Stated> {
    Some(Stated {
        zeros,
        ends_in,
        is_much,
        ..WINDOW
    })
}

const ALWAYS: Zeros = Zeros::Part(1.0);

const ALL: [&[Row]; 5] = [
    rows![TEN;
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
        "sliding window" { limits: &[SLIDING], processes: 10, workers: 100, jobs: 270, } (1.05, 1.07);
        "the window ends 2 s early" { stated: Some(Stated { late: 2.0, ..WINDOW }), } (1.02, 1.09);
        "headers stop" { stated: Some(Stated { replies: 1_000, ..WINDOW }), } (1.04, 1.15);
        "one reply in ten says 0" { stated: zeros(Zeros::Part(0.1), 60.0, false), } (1.03, 2.01);
    ],
    rows![HERD;
        "300 callers, 60 in 1 s" { limits: &[Quota::windows(60.0, 1)], } (1.84, 1.26);
        "300 callers, 60 in 10 s" { limits: &[Quota::windows(60.0, 10)], } (1.84, 1.06);
        "300 callers, 60 in 61 s" { limits: &[Quota::windows(60.0, 61)], } (1.84, 1.06);
        "300 callers, 60 in 3,600 s" { limits: &[Quota::windows(60.0, 3_600)], } (1.84, 1.06);
        "300 callers, steady, 60 in 300 s" { limits: &[Quota::bucket(0.2, 300.0)], stated: Some(STEADY), } (1.84, 1.03);
        "300 callers of 10 s, 60 in 300 s" { limits: &[Quota::windows(60.0, 300)], work: 10_000.0, } (1.85, 1.15);
    ],
    rows![FREE;
        "always 0 left for 3,600 s" { stated: zeros(ALWAYS, 3_600.0, false), } (1.02, 1.24);
        "always 0 left for 30 s" { stated: zeros(ALWAYS, 30.0, false), } (1.02, 1.24);
        "one key of five used up, lone" {
            stated: zeros(Zeros::Part(0.2), 3_000.0, true), workers: 1, jobs: 100,
        } (1.02, 1.89);
    ],
    rows![WRONG;
        "always 0 left for 3,600 s, 10/s" { stated: zeros(ALWAYS, 3_600.0, false), jobs: 2_700, } (1.06, 1.03);
        "Retry-After: 1 beside 0 in 3,000 s" { stated: zeros(Zeros::Refusals, 3_000.0, true), } (1.44, 1.21);
        "the same, lone" {
            stated: zeros(Zeros::Refusals, 3_000.0, true), work: 50.0, workers: 1,
        } (1.06, 1.07);
    ],
];

/// Whether a `Rate` keeps the quotas that replies state, and is not held up by wrong ones.
pub(crate) fn check() -> Scenario {
    let title = "A Rate that hears of quotas";
    let measures = &[CALLS_EACH, TIME, DONE];
    let mut scenario = Scenario::new(title, &["limit", "strategy"], measures);
    for (name, load, most) in ALL.iter().copied().flatten().chain(TOKENS) {
        scenario.add(name, *load, [&HEARS], &limits(*most));
    }
    scenario
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::Crew;
    use crate::scenario::{check as verdict, measure};

    #[test]
    fn who_hears_nothing_misses_what_a_rate_with_headers_holds() {
        let mut scenario = check();
        scenario.experiments.retain(|it| it.name.ends_with(" 61 s"));
        for (hears, held) in [(true, true), (false, false)] {
            scenario.experiments[0].strategy.shared = Shared::Rate(hears);
            let findings = measure(&scenario, &Crew::silent(2));
            let (text, missed) = verdict(&scenario, &findings.results).unwrap();
            assert_eq!(missed == 0, held, "{text}");
        }
    }
}
