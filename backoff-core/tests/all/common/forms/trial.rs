//! One run of one form: the script, the time, and what is written down.

use super::{Came, Ended, Ends, Form, Kind, Own, Setting, Signal, Step, came::Said};
use crate::common::{
    error::TestError,
    time::{Moment, Time},
};
#[cfg(feature = "rate")]
use backoff_core::Rate;
use backoff_core::{Attempt, Budget, Event, Fault, Hedge, Policy, Stop, Updated};
#[cfg(feature = "breaker")]
use backoff_core::{Breaker, Clock as _, FaultKind};
use std::{
    cell::{Cell, RefCell},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::Duration,
};

/// A value, which is a response of this status.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reply(pub(crate) u16);

impl Fault for Reply {
    fn status(&self) -> Option<u16> {
        (self.0 >= 400).then_some(self.0)
    }
}

/// Whether a value is the awaited one: a response of 200.
pub(crate) trait Awaited {
    fn is_awaited(&self) -> bool;
}

impl Awaited for Reply {
    fn is_awaited(&self) -> bool {
        self.0 == 200
    }
}

impl<V> Awaited for Updated<V, Reply> {
    fn is_awaited(&self) -> bool {
        matches!(self, Updated::Written(reply) if reply.is_awaited())
    }
}

/// The policy's own where the call has another one: nobody may touch it.
static OF_POLICY: Budget = Budget::costs(100, 10, 5).starting_with(50);

/// One run of one form.
pub(crate) struct Trial<'t> {
    pub(crate) setting: &'t Setting,
    /// The policy of the settings, with the budget and the rate of this run.
    pub(crate) policy: Policy,
    pub(crate) budget: Option<&'static Budget>,
    #[cfg(feature = "rate")]
    pub(super) rate: Option<&'static Rate>,
    #[cfg(feature = "breaker")]
    pub(super) breaker: Option<&'static Breaker>,
    pub(crate) time: Time,
    script: &'t [Step],
    /// What is known so far.
    log: RefCell<Came>,
    /// What says when a slow attempt gets a second request. Only the forms with a hedge use it.
    pub(super) hedge: &'static Hedge,
    /// How many requests of attempts are running, and since when any is.
    running: Cell<u32>,
    since: Cell<Duration>,
    attempts: Cell<u32>,
    signals: Cell<u32>,
}

/// Tells the recorder of spans what happens now.
fn say(text: &'static str) {
    #[cfg(feature = "tracing")]
    tracing::info!("{text}");
    #[cfg(not(feature = "tracing"))]
    let _ = text;
}

/// No attempt is as slow.
const NEVER: Duration = Duration::from_secs(1_000_000);

/// Counts a request of an attempt as running until it ends or is dropped, and the time of the attempt.
struct Running<'t>(&'t Trial<'t>);

impl<'t> Running<'t> {
    fn new(trial: &'t Trial<'t>) -> Self {
        say("asks");
        let running = trial.running.replace(trial.running.get() + 1);
        let most = u32::from(trial.setting.hedge.is_some());
        assert!(running <= most, "one attempt at a time");
        if running == 0 {
            trial.attempts.set(trial.attempts.get() + 1);
            trial.since.set(trial.time.elapsed());
        }
        Running(trial)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let Running(trial) = self;
        say("ends");
        trial.running.set(trial.running.get() - 1);
        if trial.running.get() == 0 {
            trial.log.borrow_mut().ran += trial.time.elapsed() - trial.since.get();
        }
    }
}

/// The policy's own where the call has another one: a call that asked it would begin at once.
#[cfg(feature = "rate")]
static FREE: Rate = Rate::new();

/// A rate that is closed: the next call may go after this time, and this time is the start.
#[cfg(feature = "rate")]
fn closed(wait: Duration, time: &Time) -> &'static Rate {
    let rate: &Rate = Box::leak(Box::default());
    let policy = Policy::exponential().max_attempts(1).rate(rate);
    // The second probe comes so late that the third one waits a quarter of that time.
    for passes in [4 * wait, Duration::ZERO] {
        let call = policy.blocking(|| Err::<(), _>(TestError::status(429)));
        call.runtime(time.clone()).call().unwrap_err();
        time.pass(passes);
    }
    time.starts();
    rate
}

/// The policy's own where the call has another one: nobody may ask it.
#[cfg(feature = "breaker")]
static UNASKED: Breaker = Breaker::new().opens_at(1, 1);

/// A breaker in words: after how many failures it opens, or `open`, and how long no probe goes. Probes go every 4 s.
#[cfg(feature = "breaker")]
fn breaker(words: &str, time: &Time) -> &'static Breaker {
    let new = Breaker::new().probe_every(Duration::from_secs(4));
    let Some(closed_for) = words.strip_prefix("open ") else {
        return Box::leak(Box::new(new.opens_at(words.parse().unwrap(), 20)));
    };
    let breaker: &Breaker = Box::leak(Box::new(new.opens_at(1, 1)));
    let attempt = breaker.admit(|| time.now()).unwrap();
    breaker.ended(attempt, Some(FaultKind::Transient), || time.now());
    time.pass(Duration::from_secs(4) - super::seconds(closed_for));
    time.starts();
    breaker
}

/// The name of an operation is that of a function, or was given: it has few values.
pub(crate) fn assert_is_name(operation: &str) {
    let is_name = !operation.is_empty() && !operation.contains("{{") && operation.len() < 100;
    assert!(is_name, "{operation}");
}

impl<'t> Trial<'t> {
    pub(super) fn new(form: &Form, setting: &'t Setting, script: &'t [Step]) -> Self {
        // A policy's budget is static.
        let budget = setting
            .budget
            .map(|words| &*Box::leak(Box::new(super::budget(words))));
        let policy = match budget {
            Some(_) if form.own == Some(Own::Budget) => setting.policy.budget(&OF_POLICY),
            Some(budget) => setting.policy.budget(budget),
            None => setting.policy,
        };
        let time = Time::late(setting.late).drawing(setting.random);
        #[cfg(feature = "rate")]
        let rate = setting.rate.map(|wait| closed(wait, &time));
        #[cfg(feature = "rate")]
        let policy = match rate {
            Some(_) if form.own == Some(Own::Rate) => policy.rate(&FREE),
            Some(rate) => policy.rate(rate),
            None => policy,
        };
        #[cfg(feature = "breaker")]
        let breaker = setting.breaker.map(|words| breaker(words, &time));
        #[cfg(feature = "breaker")]
        let policy = match breaker {
            Some(_) if form.own == Some(Own::Breaker) => policy.breaker(&UNASKED),
            Some(breaker) => policy.breaker(breaker),
            None => policy,
        };
        Trial {
            setting,
            policy,
            budget,
            #[cfg(feature = "breaker")]
            breaker,
            #[cfg(feature = "rate")]
            rate,
            time,
            script,
            log: RefCell::default(),
            hedge: Box::leak(Box::new(Hedge::after(setting.hedge.unwrap_or(NEVER)))),
            running: Cell::new(0),
            since: Cell::default(),
            attempts: Cell::default(),
            signals: Cell::new(0),
        }
    }

    pub(crate) fn run(&'t self, form: &Form) -> Came {
        let ended = if self.setting.panics.is_some() {
            let panics = catch_unwind(AssertUnwindSafe(|| (form.run)(self)));
            assert!(panics.is_err(), "{}: the hook did not panic", form.name);
            None
        } else {
            (form.run)(self)
        };
        assert_eq!(self.running.get(), 0, "{}: an attempt runs on", form.name);
        assert!(
            self.signals.get() < 2,
            "{}: a signal for each wait",
            form.name
        );
        assert_eq!(OF_POLICY.tokens(), 50.0, "{}", form.name);
        #[cfg(feature = "breaker")]
        assert!(!UNASKED.is_open(), "{}", form.name);
        #[cfg(feature = "rate")]
        let waiting = self.rate.map_or(0, Rate::waiting);
        #[cfg(feature = "rate")]
        assert_eq!(waiting, 0, "{}: it stands in the queue", form.name);
        let mut came = self.log.take();
        came.tokens.extend(self.budget.map(Budget::tokens));
        came.reason = came.events.iter().find_map(|said| match said {
            Said::GaveUp { reason, .. } => Some(*reason),
            _ => None,
        });
        came.attempts = match form.kind {
            // An attempt begins with the read.
            Kind::UpdateWrite | Kind::BlockingUpdateWrite => came.other_steps,
            _ => self.attempts.get(),
        };
        came.result = ended.as_ref().map(|ended| ended.result);
        came.told = ended.and_then(|ended| ended.told);
        came.end = self.time.elapsed();
        came.waits = self.time.waits();
        came.waits.retain(|wait| *wait != NEVER);
        came
    }

    /// Runs a call to its end, or until its caller drops it.
    pub(crate) fn wait<F: Future>(&self, call: F) -> Option<Ended>
    where
        F::Output: Into<Ended>,
    {
        let end = self.setting.dropped.unwrap_or(Duration::MAX);
        self.time.run_until(end, call).map(Into::into)
    }

    fn begin(&self) -> Step {
        let mut log = self.log.borrow_mut();
        let number = log.begun.len();
        assert!(number < 10_000, "it is called without end");
        log.begun.push(self.time.elapsed());
        self.script[number.min(self.script.len() - 1)]
    }

    /// Plays the next step of the script.
    pub(crate) async fn attempt(&self) -> Result<Reply, TestError> {
        let step = self.begin();
        let _running = Running::new(self);
        self.time.pass(step.blocks);
        if !step.takes.is_zero() {
            self.time.after(step.takes).await;
        }
        match step.ends {
            Ends::Well(reply) => Ok(reply),
            Ends::Badly(error) => Err(error),
            Ends::Never => std::future::pending().await,
        }
    }

    pub(crate) fn attempt_blocking(&self) -> Result<Reply, TestError> {
        let step = self.begin();
        let _running = Running::new(self);
        self.time.pass(step.blocks + step.takes);
        match step.ends {
            Ends::Well(reply) => Ok(reply),
            Ends::Badly(error) => Err(error),
            Ends::Never => unreachable!("a blocking attempt ends"),
        }
    }

    /// Makes the step of an update that is not in the script.
    pub(super) fn other_step(&self, reply: Reply) -> Result<Reply, TestError> {
        say("other step");
        self.log.borrow_mut().other_steps += 1;
        Ok(reply)
    }

    /// Checks what an attempt is told about itself.
    pub(super) fn check_attempt(&self, attempt: &Attempt) {
        let mut log = self.log.borrow_mut();
        log.doubts.push(attempt.maybe_applied());
        assert_eq!(attempt.number() as usize, log.begun.len() + 1);
        let elapsed = self.time.elapsed();
        assert_eq!(attempt.elapsed(), elapsed);
        // A timeout of zero counts as a nanosecond.
        let timeout = self
            .setting
            .timeout
            .map(|limit| limit.max(Duration::from_nanos(1)));
        let limits = [timeout, self.setting.deadline];
        if let Some(limit) = limits.into_iter().flatten().min() {
            assert_eq!(attempt.remaining(), limit.saturating_sub(elapsed));
        }
    }

    pub(super) fn hook(&self) -> impl FnMut(&Event<'_, TestError>) + Clone {
        move |event| {
            let (said, elapsed) = match *event {
                Event::Waiting {
                    attempt,
                    wait,
                    elapsed,
                    ..
                } => (
                    Said::Waiting {
                        attempt,
                        wait: wait.delay,
                        source: wait.source,
                    },
                    elapsed,
                ),
                Event::GaveUp {
                    attempts,
                    reason,
                    elapsed,
                    ..
                } => (Said::GaveUp { attempts, reason }, elapsed),
                Event::Succeeded {
                    attempts, elapsed, ..
                } => (Said::Succeeded { attempts }, elapsed),
                #[cfg(feature = "rate")]
                Event::RateChanged { .. } => {
                    assert_is_name(event.operation());
                    let mut log = self.log.borrow_mut();
                    log.changes.push(event.to_string());
                    self.panics_at(log.events.len() + log.changes.len());
                    return;
                }
                _ => unreachable!("no other event"),
            };
            assert_eq!(self.running.get(), 0, "an attempt ends before its event");
            say("told");
            assert_is_name(event.operation());
            let mut log = self.log.borrow_mut();
            log.events.push(said);
            log.elapsed.push(elapsed);
            log.tokens.extend(self.budget.map(Budget::tokens));
            self.panics_at(log.events.len() + log.changes.len());
        }
    }

    /// The hook panics at the event of this number, if the setting says so.
    fn panics_at(&self, event: usize) {
        if self.setting.panics == Some(event) {
            // Without a message on the terminal.
            resume_unwind(Box::new("the hook"));
        }
    }

    /// The signal of the settings.
    pub(super) fn signal(&self) -> Moment {
        self.signals.set(self.signals.get() + 1);
        match self.setting.signal {
            Some(Signal::StopOn(at) | Signal::CutOn(at)) => self.time.at(at),
            None => unreachable!("it has no signal"),
        }
    }

    pub(super) fn stop(&self) -> Stop {
        match self.setting.signal {
            Some(Signal::StopOn(at)) => self.time.stops_at(at),
            _ => unreachable!("it has no stop"),
        }
    }
}
