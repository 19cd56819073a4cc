//! Whether a [`Breaker`] that an outage has opened spares the service, and closes soon after the outage, whatever
//! the attempts end with and when.
//!
//! A service answers after 50 ms. From 10 s to 25 s it is ill. Its callers share a breaker.

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::time::Duration;

use backoff_cloud::{Breaker, Fault, Policy, StopReason, TimedOut};
use rand::RngExt as _;
use rand::rngs::SmallRng;

use crate::Error;
use crate::executor::{self, Time};
use crate::outage;
use crate::quota::SECOND;
use crate::results::Results;
use crate::runs::Crew;
use crate::stats::Mean;
use crate::strategies::REQUEST;
use crate::verdict::{Bound, Limit, Verdict};

const ANSWER: u64 = SECOND / 20;
const FROM: u64 = 10 * SECOND;
const UNTIL: u64 = 25 * SECOND;
const END: u64 = 70 * SECOND;
/// Who drops calls does so after this time.
const PATIENCE: u64 = 3 * SECOND / 10;

const MEASURES: [&str; 4] = [
    "attempts in it",
    "refused after it",
    "last one refused after, s",
    "opened",
];

/// What becomes of an attempt that begins during the outage.
#[derive(Clone, Copy, Debug)]
enum Ill {
    /// Never answered.
    Hangs,
    /// Not sent.
    Refuses,
    /// Answered after 8 s.
    IsSlow,
    /// Answered with 503 for 3 s, then with 429.
    Throttles,
}

#[derive(Clone, Copy, Debug)]
enum Callers {
    /// So many, each of which calls again a fifth of a second after its last call, more or less.
    Tasks(u32),
    /// 50 calls a second.
    Stream,
}

struct Experiment {
    ill: Ill,
    /// After so many seconds an attempt is cut.
    cut: u64,
    callers: Callers,
    attempts: u32,
    /// Three of four callers drop their calls.
    has_drops: bool,
    /// The service that is well answers with 404.
    is_404: bool,
    /// The most of each measure.
    most: [f64; 4],
}

const fn when(ill: Ill, cut: u64, callers: Callers, most: [f64; 4]) -> Experiment {
    Experiment {
        ill,
        cut,
        callers,
        attempts: 5,
        has_drops: false,
        is_404: false,
        most,
    }
}

impl Experiment {
    const fn once(mut self) -> Self {
        self.attempts = 1;
        self
    }

    const fn dropping(mut self) -> Self {
        self.has_drops = true;
        self
    }

    const fn then_404(mut self) -> Self {
        self.is_404 = true;
        self
    }

    fn name(&self) -> String {
        let then = |is: bool, what: &'static str| if is { what } else { "" };
        format!(
            "{:?}, cut after {} s, {:?}{}{}{}",
            self.ill,
            self.cut,
            self.callers,
            then(self.attempts == 1, ", no retry"),
            then(self.has_drops, ", 3 of 4 dropped"),
            then(self.is_404, ", then 404"),
        )
    }
}

use Callers::{Stream, Tasks};
use Ill::{Hangs, IsSlow, Refuses, Throttles};

const EXPERIMENTS: &[Experiment] = &[
    when(Hangs, 1, Tasks(1), [13.0, 2.0, 0.66, 1.0]),
    when(Hangs, 1, Tasks(50), [67.0, 43.0, 0.17, 1.0]),
    when(Hangs, 5, Tasks(50), [63.0, 36.0, 0.15, 1.0]),
    when(Hangs, 5, Stream, [282.0, 19.0, 0.37, 1.0]),
    when(Hangs, 10, Stream, [524.0, 15.0, 0.31, 1.0]).once(),
    when(Hangs, 30, Tasks(50), [51.0, 273.0, 16.43, 1.0]),
    when(Hangs, 30, Stream, [765.0, 54.0, 16.57, 1.0]).once(),
    when(Hangs, 1, Tasks(50), [137.0, 76.0, 0.31, 1.0]).dropping(),
    when(Hangs, 5, Tasks(50), [432.0, 73.0, 0.29, 1.0]).dropping(),
    when(Hangs, 10, Stream, [561.0, 53.0, 0.85, 1.0]).dropping(),
    when(Refuses, 1, Tasks(1), [23.0, 4.0, 0.58, 1.0]),
    when(Refuses, 1, Tasks(50), [25.0, 43.0, 0.16, 1.0]),
    when(Refuses, 1, Stream, [25.0, 17.0, 0.34, 1.0]),
    when(IsSlow, 5, Tasks(50), [63.0, 36.0, 0.15, 1.0]),
    when(IsSlow, 5, Stream, [282.0, 19.0, 0.37, 1.0]),
    when(IsSlow, 10, Tasks(50), [102.0, 0.0, 0.0, 0.0]),
    when(IsSlow, 30, Stream, [765.0, 0.0, 0.0, 0.0]),
    when(Refuses, 1, Tasks(50), [25.0, 43.0, 0.16, 1.0]).then_404(),
    when(Refuses, 1, Stream, [25.0, 17.0, 0.34, 1.0]).then_404(),
    when(Throttles, 1, Tasks(1), [30.0, 5.0, 0.64, 1.0]),
    when(Throttles, 1, Tasks(50), [39.0, 57.0, 0.22, 1.0]),
    when(Throttles, 1, Stream, [31.0, 21.0, 0.43, 1.0]),
];

#[derive(Fault)]
enum Failure {
    #[fault(not_sent)]
    Refused,
    #[fault(status = code)]
    Status { code: u16 },
    #[fault(forward)]
    TimedOut(TimedOut),
}

impl From<TimedOut> for Failure {
    fn from(cut: TimedOut) -> Self {
        Failure::TimedOut(cut)
    }
}

struct Run<'a> {
    experiment: &'a Experiment,
    policy: Policy,
    breaker: Breaker,
    time: Time,
    rng: RefCell<&'a mut SmallRng>,
    was_open: Cell<bool>,
    /// As in [`MEASURES`].
    measured: RefCell<[f64; 4]>,
}

impl Run<'_> {
    fn count(&self, measure: usize) {
        self.measured.borrow_mut()[measure] += 1.0;
    }

    async fn attempt(&self) -> Result<(), Failure> {
        let now = self.time.nanos();
        let is_ill = (FROM..UNTIL).contains(&now);
        if is_ill {
            self.count(0);
        }
        let status = |code| Err(Failure::Status { code });
        match self.experiment.ill {
            Refuses if is_ill => return Err(Failure::Refused),
            Hangs if is_ill => pending().await,
            IsSlow if is_ill => self.time.after(8 * SECOND).await,
            _ => self.time.after(ANSWER).await,
        }
        match self.experiment.ill {
            Throttles if is_ill && now < FROM + 3 * SECOND => status(503),
            Throttles if is_ill => status(429),
            _ if self.experiment.is_404 => status(404),
            _ => Ok(()),
        }
    }

    async fn call(&self) {
        let cut = Duration::from_secs(self.experiment.cut);
        let call = self.policy.retry(|| self.attempt()).attempt_timeout(cut);
        let call = call
            .breaker(&self.breaker)
            .runtime((self.time.clone(), &self.rng));
        let ended = call.reported().await;
        let is_refused = ended.is_err_and(|it| it.reason == StopReason::Breaker);
        let now = self.time.nanos();
        if is_refused && now >= UNTIL {
            self.count(1);
            self.measured.borrow_mut()[2] = (now - UNTIL) as f64 / SECOND as f64;
        }
        let is_open = self.breaker.is_open();
        if is_open && !self.was_open.replace(is_open) {
            self.count(3);
        }
        self.was_open.set(is_open);
    }

    /// A call that may be dropped.
    async fn job(&self, caller: u32) {
        if self.experiment.has_drops && !caller.is_multiple_of(4) {
            tokio::select! {
                () = self.call() => {}
                () = self.time.after(PATIENCE) => {}
            }
        } else {
            self.call().await;
        }
    }

    async fn caller(&self, number: u32) {
        let draw = |most| self.rng.borrow_mut().random_range(0..most);
        match self.experiment.callers {
            Stream => {
                let comes = u64::from(number) * SECOND / 50 + draw(SECOND / 50);
                self.time.until(comes).await;
                self.job(number).await;
            }
            Tasks(_) => {
                while self.time.nanos() < END {
                    self.time.after(SECOND / 10 + draw(SECOND / 5)).await;
                    self.job(number).await;
                }
            }
        }
    }
}

fn run(experiment: &Experiment, breaker: Breaker, rng: &mut SmallRng) -> [f64; 4] {
    let run = Run {
        experiment,
        policy: REQUEST.max_attempts(experiment.attempts),
        breaker,
        time: Time::default(),
        rng: RefCell::new(rng),
        was_open: Cell::new(false),
        measured: RefCell::default(),
    };
    let callers = match experiment.callers {
        Tasks(tasks) => tasks,
        Stream => 50 * (END / SECOND) as u32,
    };
    executor::run(&run.time, (0..callers).map(|number| run.caller(number)));
    run.measured.into_inner()
}

/// Runs everything with so many seeds.
pub(crate) fn check(seeds: u64) -> Result<Verdict, Error> {
    let verdict = verdict(
        &Crew::new(seeds, EXPERIMENTS.len()),
        EXPERIMENTS,
        Breaker::new,
    );
    Ok(verdict.and(outage::check(seeds)?))
}

fn verdict(crew: &Crew, experiments: &[Experiment], breaker: fn() -> Breaker) -> Verdict {
    let mut results = Results::new(&["outage and callers"], &MEASURES);
    let mut limits = Vec::new();
    for experiment in experiments {
        let name = experiment.name();
        let runs = crew.run(&name, |rng| run(experiment, breaker(), rng));
        let means = [0, 1, 2, 3].map(|measure| Mean::of(runs.iter().map(|run| run[measure])));
        for ((what, most), measured) in MEASURES.iter().zip(experiment.most).zip(means) {
            limits.extend(measured.map(|measured| Limit {
                what: (*what).to_owned(),
                bound: Bound::AtMost(most),
                measured,
                at: name.clone(),
            }));
        }
        results.add([&name], means.to_vec());
    }
    Verdict::new(&format!("{}\n", results.table()), limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_breaker_that_opens_late_misses_what_the_usual_one_holds() {
        let check =
            |breaker: fn() -> Breaker| verdict(&Crew::silent(3), &EXPERIMENTS[..2], breaker);
        let usual = check(Breaker::new);
        usual.held().unwrap();
        assert_eq!(usual.limits.len(), 2 * MEASURES.len());
        let late = check(|| Breaker::new().opens_at(24, 24));
        let missed = late.limits.iter().filter(|limit| !limit.is_held());
        assert!(missed.count() >= 2, "{}", late.text);
    }
}
