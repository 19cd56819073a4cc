//! One run of one form: the script, the time, and what is written down.

use super::{Came, Ended, Ends, Form, Setting, Signal, Step, came::Said};
use crate::common::{
    error::TestError,
    time::{Moment, Time},
};
use backoff_core::{Attempt, Budget, Event, Fault, Policy, Stop, Updated};
use std::{cell::RefCell, time::Duration};

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
    /// The policy of the settings, with the budget of this run.
    pub(crate) policy: Policy,
    pub(crate) budget: Option<&'static Budget>,
    pub(crate) time: Time,
    script: &'t [Step],
    log: RefCell<Log>,
}

#[derive(Default)]
struct Log {
    begun: Vec<Duration>,
    events: Vec<Said>,
    elapsed: Vec<Option<Duration>>,
    tokens: Vec<f64>,
}

impl<'t> Trial<'t> {
    pub(super) fn new(form: &Form, setting: &'t Setting, script: &'t [Step]) -> Self {
        // A policy's budget is static.
        let budget = setting.budget.map(|new| &*Box::leak(Box::new(new())));
        let policy = match budget {
            Some(_) if form.pays_itself => setting.policy.budget(&OF_POLICY),
            Some(budget) => setting.policy.budget(budget),
            None => setting.policy,
        };
        Trial {
            setting,
            policy,
            budget,
            time: Time::late(setting.late).drawing(setting.random),
            script,
            log: RefCell::default(),
        }
    }

    pub(super) fn run(&'t self, form: &Form) -> Came {
        let ended = (form.run)(self);
        assert_eq!(OF_POLICY.tokens(), 50.0, "{}", form.name);
        let mut log = self.log.take();
        log.tokens.extend(self.budget.map(Budget::tokens));
        let reason = log.events.iter().find_map(|said| match said {
            Said::GaveUp { reason, .. } => Some(*reason),
            _ => None,
        });
        Came {
            begun: log.begun,
            result: ended.as_ref().map(|ended| ended.result),
            reason,
            told: ended.and_then(|ended| ended.told),
            end: self.time.elapsed(),
            waits: self.time.waits(),
            events: log.events,
            elapsed: log.elapsed,
            tokens: log.tokens,
        }
    }

    /// Runs a call to its end, or until its caller drops it.
    pub(super) fn wait<F: Future>(&self, call: F) -> Option<Ended>
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
    pub(super) async fn attempt(&self) -> Result<Reply, TestError> {
        let step = self.begin();
        if !step.takes.is_zero() {
            self.time.after(step.takes).await;
        }
        match step.ends {
            Ends::Well(reply) => Ok(reply),
            Ends::Badly(error) => Err(error),
            Ends::Never => std::future::pending().await,
        }
    }

    pub(super) fn attempt_blocking(&self) -> Result<Reply, TestError> {
        let step = self.begin();
        self.time.pass(step.takes);
        match step.ends {
            Ends::Well(reply) => Ok(reply),
            Ends::Badly(error) => Err(error),
            Ends::Never => unreachable!("a blocking attempt ends"),
        }
    }

    /// Checks what an attempt is told about itself.
    pub(super) fn check_attempt(&self, attempt: &Attempt) {
        let log = self.log.borrow();
        assert_eq!(attempt.number() as usize, log.begun.len() + 1);
        assert_eq!(attempt.elapsed(), self.time.elapsed());
    }

    pub(super) fn hook(&self) -> impl FnMut(&Event<'_, TestError>) + Clone {
        move |event| {
            let said = match event {
                Event::Waiting { attempt, wait, .. } => Said::Waiting {
                    attempt: *attempt,
                    wait: wait.delay,
                    source: wait.source,
                },
                Event::GaveUp {
                    attempts, reason, ..
                } => Said::GaveUp {
                    attempts: *attempts,
                    reason: *reason,
                },
                Event::Succeeded { attempts, .. } => Said::Succeeded {
                    attempts: *attempts,
                },
                _ => unreachable!("no other event"),
            };
            let elapsed = match event {
                Event::Waiting { elapsed, .. }
                | Event::GaveUp { elapsed, .. }
                | Event::Succeeded { elapsed, .. } => *elapsed,
                _ => unreachable!("no other event"),
            };
            let mut log = self.log.borrow_mut();
            log.events.push(said);
            log.elapsed.push(elapsed);
            log.tokens.extend(self.budget.map(Budget::tokens));
        }
    }

    /// The signal of the settings.
    pub(super) fn signal(&self) -> Moment {
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

    pub(super) fn timeout(&self) -> Duration {
        self.setting.timeout.expect("it has a timeout")
    }

    pub(super) fn attempt_timeout(&self) -> Duration {
        self.setting.attempt_timeout.expect("it has a timeout")
    }

    pub(super) fn call_budget(&self) -> &'static Budget {
        self.budget.expect("it has a budget")
    }
}
