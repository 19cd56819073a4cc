//! What came of a call.

use super::{Form, Kind, Reply};
use crate::common::error::TestError;
use backoff_core::{Report, RetryError, StopReason, UpdateReport, Updated, WaitSource};
use std::{fmt, time::Duration};

/// How a call ended, as its caller sees it.
pub(crate) struct Ended {
    pub(crate) result: Result<Reply, TestError>,
    /// What the report says, in forms that have one.
    pub(crate) told: Option<Told>,
}

/// What a report says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Told {
    pub(crate) reason: Option<StopReason>,
    pub(crate) last: Option<TestError>,
    /// The hint of the last failure.
    pub(crate) hint: Option<Duration>,
    pub(crate) attempts: u32,
    pub(crate) elapsed: Duration,
    pub(crate) slept: Duration,
    /// Of an update: reads, writes, conflicts.
    pub(crate) steps: Option<[u32; 3]>,
}

impl From<Report> for Told {
    fn from(report: Report) -> Self {
        Told {
            attempts: report.attempts,
            elapsed: report.elapsed,
            slept: report.slept,
            ..Told::default()
        }
    }
}

impl From<UpdateReport> for Told {
    fn from(report: UpdateReport) -> Self {
        Told {
            attempts: report.attempts,
            elapsed: report.elapsed,
            slept: report.slept,
            steps: Some([report.reads, report.writes, report.conflicts]),
            ..Told::default()
        }
    }
}

impl From<Result<Reply, TestError>> for Ended {
    fn from(result: Result<Reply, TestError>) -> Self {
        Ended { result, told: None }
    }
}

impl<V: Into<Reply>, R: Into<Told>> From<Result<(V, R), RetryError<TestError, R>>> for Ended {
    fn from(result: Result<(V, R), RetryError<TestError, R>>) -> Self {
        match result {
            Ok((value, report)) => Ended {
                result: Ok(value.into()),
                told: Some(report.into()),
            },
            Err(gave_up) => Ended {
                result: Err(gave_up.error),
                told: Some(Told {
                    reason: Some(gave_up.reason),
                    hint: gave_up.last_retry_after(),
                    last: gave_up.last,
                    ..gave_up.report.into()
                }),
            },
        }
    }
}

impl<V> From<Updated<V, Reply>> for Reply {
    fn from(updated: Updated<V, Reply>) -> Self {
        match updated {
            Updated::Written(reply) => reply,
            Updated::Unchanged(_) => panic!("each change of these updates is one"),
        }
    }
}

/// What came of a call. Its text is what a row expects: the seconds at which attempts began; when the call
/// ended, why it was given up, and with what.
///
/// - `0 1 3; at 3 attempts: error 503`: three attempts, given up at 3 s.
/// - `0 1; at 1: 200`: the second attempt gives a value.
/// - `0; at 30 deadline: error cut after 30s, last 503`: with the last real error, which a report keeps.
/// - `0; dropped at 5`: the caller drops it, or a hook panics.
/// - `… [486 then 500]`: the tokens that were left after each event and at the end, if there is a budget.
#[derive(Debug, Default)]
pub(crate) struct Came {
    /// When each step of the script began.
    pub(crate) begun: Vec<Duration>,
    pub(crate) attempts: u32,
    /// `None` if the call was dropped.
    pub(crate) result: Option<Result<Reply, TestError>>,
    pub(crate) reason: Option<StopReason>,
    pub(crate) told: Option<Told>,
    /// How long attempts ran.
    pub(crate) ran: Duration,
    pub(crate) end: Duration,
    pub(crate) waits: Vec<Duration>,
    pub(crate) events: Vec<Said>,
    /// The changes of the rate, in words.
    pub(crate) changes: Vec<String>,
    /// The time that each event tells.
    pub(crate) elapsed: Vec<Option<Duration>>,
    /// The tokens that were left at each event, and at the end.
    pub(crate) tokens: Vec<f64>,
    /// How often an update made the step that is not in the script.
    pub(crate) other_steps: u32,
    /// In forms that have an `Attempt`: whether each was told that an earlier one may have been applied.
    pub(crate) doubts: Vec<bool>,
}

/// What an event said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Said {
    Waiting {
        attempt: u32,
        wait: Duration,
        source: WaitSource,
    },
    GaveUp {
        attempts: u32,
        reason: StopReason,
    },
    Succeeded {
        attempts: u32,
    },
}

impl Came {
    /// Compares it with the sentence of a row, and its parts with each other.
    #[track_caller]
    pub(crate) fn check(&self, expected: &str, form: &Form, name: &str) {
        let has_report = self.told.is_some();
        // Only a report has the last real error.
        let (before, last) = expected.split_once(", last ").unwrap_or((expected, ""));
        let tokens = last.find(" [").map_or("", |at| &last[at..]);
        let without_report = format!("{before}{tokens}");
        let expected = if has_report {
            expected
        } else {
            &without_report
        };
        assert_eq!(self.to_string(), expected, "{name}\n{self:#?}");
        self.check_events(name);
        if let Some(told) = self.told {
            self.check_report(told, form, name);
        }
    }

    #[track_caller]
    fn check_events(&self, name: &str) {
        let ends = self.events.iter().filter(|said| !said.is_waiting()).count();
        for (said, number) in self.events.iter().zip(1..) {
            match *said {
                Said::Waiting { attempt, .. } => assert_eq!(attempt, number, "{name}"),
                Said::GaveUp { attempts, .. } | Said::Succeeded { attempts } => {
                    assert_eq!(attempts, self.attempts, "{name}");
                    assert_eq!(
                        self.events.len(),
                        number as usize,
                        "{name}: the end is the last"
                    );
                }
            }
        }
        let succeeds_at_once = self.attempts == 1 && self.reason.is_none();
        if self.result.is_some() {
            let expected = usize::from(!succeeds_at_once);
            assert_eq!(ends, expected, "{name}: {:?}", self.events);
        }
    }

    #[track_caller]
    fn check_report(&self, told: Told, form: &Form, name: &str) {
        assert_eq!(told.attempts, self.attempts, "{name}");
        assert_eq!(told.elapsed, self.end, "{name}");
        if !matches!(self.result, Some(Ok(_))) {
            assert_eq!(told.reason, self.reason, "{name}");
        }
        assert_eq!(told.slept, told.elapsed - self.ran, "{name}: {self:?}");
        if let Some([reads, writes, conflicts]) = told.steps {
            let (made, others) = (self.begun.len() as u32, self.other_steps);
            let expected = match form.kind {
                Kind::UpdateRead | Kind::BlockingUpdateRead => [made, others],
                _ => [others, made],
            };
            assert_eq!([reads, writes], expected, "{name}");
            assert!(conflicts <= told.attempts, "{name}");
        }
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Said::Waiting {
                attempt,
                wait,
                source,
            } => write!(f, "{attempt} waits {wait:?} by {source:?}"),
            Said::GaveUp { attempts, reason } => write!(f, "gave up {} {attempts}", reason.name()),
            Said::Succeeded { attempts } => write!(f, "succeeded {attempts}"),
        }
    }
}

impl Said {
    pub(crate) fn is_waiting(self) -> bool {
        matches!(self, Said::Waiting { .. })
    }
}

impl fmt::Display for Came {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let begun = self.begun.iter().map(|at| at.as_secs_f64().to_string());
        let begun = begun.collect::<Vec<_>>().join(" ");
        let begun = if begun.is_empty() { "never" } else { &begun };
        let end = self.end.as_secs_f64();
        write!(f, "{begun}; ")?;
        let reason = self
            .reason
            .map_or(String::new(), |reason| format!(" {}", reason.name()));
        match &self.result {
            None => write!(f, "dropped at {end}{reason}")?,
            Some(Ok(Reply(status))) => write!(f, "at {end}{reason}: {status}")?,
            Some(Err(error)) => write!(f, "at {end}{reason}: error {error}")?,
        }
        if let Some(last) = self.told.and_then(|told| told.last) {
            write!(f, ", last {last}")?;
        }
        if !self.tokens.is_empty() {
            let tokens: Vec<_> = self.tokens.iter().map(f64::to_string).collect();
            write!(f, " [{}]", tokens.join(" "))?;
        }
        Ok(())
    }
}
