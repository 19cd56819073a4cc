//! Whether a [`Rate`](backoff_cloud::Rate) keeps the quotas that replies state, and is not held up by wrong ones.

use crate::Error;
use crate::calls::Sharing;
use crate::headers::{Names, Stated, Zeros};
use crate::quota::{Left, Quota};
use crate::rate::{Experiment, runs};
use crate::rate_check::verdict;
use crate::runs::Crew;
use crate::stated;
use crate::verdict::Verdict;

const WINDOW: Stated = Stated::under(Names::Window);
const STEADY: Stated = Stated::under(Names::Steady);
/// 600 calls a minute.
const WINDOWS: Quota = Quota::window(600, 60);
const REFILLED: Quota = Quota::steady(600, 60);
const SLIDING: Quota = Quota::sliding(600, 60);
/// No limit is near.
const FREE: Quota = Quota::window(1_000_000, 3_000);

/// 300 calls come at once, of which so many seconds admit 60.
const fn herd(name: &'static str, quota: Quota, stated: Stated) -> Experiment {
    Experiment::stated(name, quota, stated)
        .workers(300)
        .jobs(300)
        .working(30)
}

/// Some replies state that nothing is left.
const fn zeros(zeros: Zeros, ends_in: f64) -> Stated {
    Stated {
        zeros,
        ends_in,
        ..WINDOW
    }
}

/// The others state much, whatever the limit is.
const fn else_much(stated: Stated) -> Stated {
    let left = Left {
        limit: 5_000.0,
        left: 4_000.0,
        full_in: 3_000.0,
    };
    Stated {
        instead: Some(left),
        ..stated
    }
}

/// Each with the most calls for a job, and the longest time as a multiple of the least.
const EXPERIMENTS: &[Experiment] = &[
    Experiment::stated("steady, 10 workers", REFILLED, STEADY).at_most(1.02, 1.03),
    Experiment::stated("steady, 100 workers", REFILLED, STEADY)
        .workers(100)
        .at_most(1.02, 1.03),
    Experiment::stated("steady, 800 workers", REFILLED, STEADY)
        .workers(800)
        .at_most(1.11, 1.03),
    Experiment::stated("steady, 2 processes", REFILLED, STEADY)
        .processes(2)
        .at_most(1.02, 1.03),
    Experiment::stated("steady, 10 processes", REFILLED, STEADY)
        .processes(10)
        .at_most(1.03, 1.05),
    Experiment::stated("steady, 20 processes", REFILLED, STEADY)
        .processes(20)
        .at_most(1.04, 1.09),
    Experiment::stated("steady, GitHub's names, 10 processes", REFILLED, WINDOW)
        .processes(10)
        .at_most(1.03, 1.05),
    Experiment::stated("windows, 10 workers", WINDOWS, WINDOW).at_most(1.02, 1.08),
    Experiment::stated("windows, 100 workers", WINDOWS, WINDOW)
        .workers(100)
        .at_most(1.02, 1.03),
    Experiment::stated("windows, 800 workers", WINDOWS, WINDOW)
        .workers(800)
        .at_most(1.11, 1.03),
    Experiment::stated("windows, 2 processes", WINDOWS, WINDOW)
        .processes(2)
        .at_most(1.03, 1.06),
    Experiment::stated("windows, 10 processes", WINDOWS, WINDOW)
        .processes(10)
        .at_most(1.05, 1.03),
    Experiment::stated("windows, 20 processes", WINDOWS, WINDOW)
        .processes(20)
        .at_most(1.07, 1.03),
    Experiment::stated("windows, OpenAI's names, 10 workers", WINDOWS, STEADY).at_most(1.02, 1.08),
    Experiment::stated("windows, OpenAI's names, 100 workers", WINDOWS, STEADY)
        .workers(100)
        .at_most(1.02, 1.03),
    Experiment::stated("windows, OpenAI's names, 10 processes", WINDOWS, STEADY)
        .processes(10)
        .at_most(1.05, 1.03),
    Experiment::stated("windows, OpenAI's names, 20 processes", WINDOWS, STEADY)
        .processes(20)
        .at_most(1.07, 1.03),
    Experiment::stated("sliding window, 10 processes", SLIDING, WINDOW)
        .processes(10)
        .at_most(1.05, 1.07),
    Experiment::stated("sliding, OpenAI's names, 10 processes", SLIDING, STEADY)
        .processes(10)
        .at_most(1.05, 1.07),
    herd("300 callers, 60 in 1 s", Quota::window(60, 1), WINDOW).at_most(1.84, 1.26),
    herd("300 callers, 60 in 10 s", Quota::window(60, 10), WINDOW).at_most(1.84, 1.06),
    herd("300 callers, 60 in 60 s", Quota::window(60, 60), WINDOW).at_most(1.84, 1.06),
    herd("300 callers, 60 in 61 s", Quota::window(60, 61), WINDOW).at_most(1.84, 1.06),
    herd("300 callers, 60 in 300 s", Quota::window(60, 300), WINDOW).at_most(1.84, 1.06),
    herd(
        "300 callers, 60 in 3,600 s",
        Quota::window(60, 3_600),
        WINDOW,
    )
    .at_most(1.84, 1.06),
    herd(
        "300 callers, steady, 60 in 60 s",
        Quota::steady(60, 60),
        STEADY,
    )
    .at_most(1.84, 1.03),
    herd(
        "300 callers, steady, 60 in 300 s",
        Quota::steady(60, 300),
        STEADY,
    )
    .at_most(1.84, 1.03),
    herd(
        "300 callers, steady, 60 in 3,600 s",
        Quota::steady(60, 3_600),
        STEADY,
    )
    .at_most(1.84, 1.03),
    herd(
        "300 callers of 10 s, 60 in 300 s",
        Quota::window(60, 300),
        WINDOW,
    )
    .working(10_000)
    .at_most(1.85, 1.15),
    Experiment::stated(
        "always 0 left for 3,600 s",
        FREE,
        zeros(Zeros::Part(1.0), 3_600.0),
    )
    .jobs(300)
    .at_most(1.02, 1.24),
    Experiment::stated(
        "always 0 left for 30 s",
        FREE,
        zeros(Zeros::Part(1.0), 30.0),
    )
    .jobs(300)
    .at_most(1.02, 1.24),
    Experiment::stated(
        "always 0 left for 30 s, lone",
        FREE,
        zeros(Zeros::Part(1.0), 30.0),
    )
    .workers(1)
    .jobs(100)
    .at_most(1.02, 1.08),
    Experiment::stated(
        "always 0 left for 3,600 s, 10/s",
        Quota::bucket(10),
        zeros(Zeros::Part(1.0), 3_600.0),
    )
    .hinted()
    .at_most(1.06, 1.03),
    Experiment::stated(
        "one key of five used up, lone",
        FREE,
        else_much(zeros(Zeros::Part(0.2), 3_000.0)),
    )
    .workers(1)
    .jobs(100)
    .at_most(1.02, 1.89),
    Experiment::stated(
        "one reply of a key that is used up, lone",
        FREE,
        else_much(zeros(Zeros::One(40), 3_000.0)),
    )
    .workers(1)
    .jobs(100)
    .at_most(1.02, 1.08),
    Experiment::stated(
        "Retry-After: 1 beside 0 in 3,000 s",
        Quota::bucket(10),
        else_much(zeros(Zeros::Refusals, 3_000.0)),
    )
    .hinted()
    .jobs(600)
    .at_most(1.44, 1.21),
    Experiment::stated(
        "Retry-After: 1 beside 0 in 3,000 s, lone",
        Quota::bucket(10),
        else_much(zeros(Zeros::Refusals, 3_000.0)),
    )
    .hinted()
    .workers(1)
    .working(50)
    .jobs(600)
    .at_most(1.06, 1.07),
    Experiment::stated(
        "the window ends 2 s early",
        WINDOWS,
        Stated {
            late: 2.0,
            ..WINDOW
        },
    )
    .at_most(1.02, 1.09),
    Experiment::stated("a call costs 10, windows", WINDOWS.costs(10.0), WINDOW)
        .jobs(270)
        .at_most(1.05, 1.03),
    Experiment::stated("a call costs 10, steady", REFILLED.costs(10.0), STEADY)
        .jobs(270)
        .at_most(1.05, 1.04),
    Experiment::stated(
        "headers stop",
        WINDOWS,
        Stated {
            replies: 1_000,
            ..WINDOW
        },
    )
    .at_most(1.04, 1.15),
    Experiment::stated(
        "headers stop, 800 workers",
        Quota::window(600, 300),
        Stated {
            replies: 1_000,
            ..WINDOW
        },
    )
    .workers(800)
    .at_most(1.22, 1.07),
    Experiment::stated(
        "one reply in ten says 0",
        WINDOWS,
        zeros(Zeros::Part(0.1), 60.0),
    )
    .at_most(1.03, 2.01),
    Experiment::stated(
        "one reply in ten says 0, lone",
        WINDOWS,
        zeros(Zeros::Part(0.1), 60.0),
    )
    .workers(1)
    .jobs(300)
    .at_most(1.02, 1.53),
];

/// Runs everything with so many seeds.
pub(crate) fn check(seeds: u64) -> Result<Verdict, Error> {
    let crew = Crew::new(seeds, runs(EXPERIMENTS));
    Ok(verdict(&crew, EXPERIMENTS, Sharing::Rate)?.and(stated::check(seeds)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Limit;

    #[test]
    fn who_hears_nothing_misses_what_a_rate_with_headers_holds() {
        let check = |replies| {
            let mut herd = *EXPERIMENTS
                .iter()
                .find(|one| one.name.ends_with(" 61 s"))
                .unwrap();
            let silent = |stated| Stated { replies, ..stated };
            herd.load.stated = herd.load.stated.map(silent);
            verdict(&Crew::silent(2), &[herd], Sharing::Rate).unwrap()
        };
        check(u32::MAX).held().unwrap();
        let deaf = check(0);
        let missed: Vec<_> = deaf
            .limits
            .iter()
            .filter(|it| !Limit::is_held(it))
            .collect();
        assert!(!missed.is_empty(), "{}", deaf.text);
    }
}
