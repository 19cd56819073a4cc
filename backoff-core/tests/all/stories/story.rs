//! The story of a call, as each reader has to hear it.

use std::{collections::BTreeMap, time::Duration};

/// Each metric by its name and labels, without the operation.
pub(crate) type Recorded = BTreeMap<String, Vec<f64>>;

const TOO_LONG: &str = "WARN calls wait for more than a minute, or for longer than they may, because the \
     service refuses calls or has no quota left";
const LATE: &str = "; the attempt ended after the deadline: a deadline does not cut an attempt, the `timeout` of an \
     async call does";
const EARLIER: &str = "; an earlier attempt may have been applied";
const UNTURNED: &str = "WARN attempts begin at their deadline without a turn, because no error can be made when the \
     time is over: implement `From<TimedOut>` for the error, and derive `Fault` for it or write `Fault::late`; or name \
     the rate at the call, by `.rate(&RATE)` or the key `rate`";

const NOTHING_KNOWN: &str = "WARN not retried, because nothing is known about the error: derive or implement `Fault` \
     for its type, or judge it by `when_any` (in the attribute: `when`)";
const ASKS_TOO_MUCH: &str =
    "WARN gave up, because the hint asks for a longer wait than the policy allows";

/// The field with the status of a failure.
fn code(failure: &str) -> String {
    match failure.parse::<u16>() {
        Ok(status) => format!(" code={status}"),
        Err(_) => String::new(),
    }
}

/// What is told of one call of the policy `storage`.
#[derive(Default)]
pub(crate) struct Story {
    /// What a hook hears, and after what time.
    pub(crate) events: Vec<(String, Duration)>,
    /// The lines of the log, with the figures that all forms share.
    pub(crate) log: Vec<String>,
    /// The life of the spans of attempts.
    pub(crate) spans: Vec<String>,
    pub(crate) metrics: Recorded,
    /// The metric of the first attempt.
    pub(crate) first_attempt: String,
}

impl Story {
    /// A story in words: `failed 503 in 1, waits 2 for 1, gave up stopped`. Times are seconds.
    ///
    /// - `failed 503`, `succeeded`: an attempt, `in` this time.
    /// - `waits 30 by RetryInfo`: after a failure; `for` so long, if not as long as it was meant.
    /// - `queues 1`: a wait for a turn, before an attempt. `too long`, `opens`, `unturned`: what the log says of it.
    /// - `breaks`, `closes`: what the log says of a breaker.
    /// - `gave up deadline late 31.0`: after an attempt that ended so long after the deadline.
    /// - `gave up retry_after 61.0`: the server asked for this wait.
    /// - `dropped`: while the only attempt runs.
    /// - `gave up permanent perhaps`: an earlier attempt may have been applied.
    /// - `gave up deadline with timeout`: with another error than that of the last attempt.
    pub(crate) fn new(words: &str) -> Self {
        const ATTEMPT: &str = "retry.attempt.duration retry.policy=storage";
        let mut story = Story::default();
        let (mut attempts, mut is_waiting) = (0_u32, false);
        let (mut now, mut waited) = (Duration::ZERO, Duration::ZERO);
        let (mut failure, mut ended) = ("", String::new());
        for part in words.split(", ") {
            let words: Vec<_> = part.split(' ').collect();
            let after = |name: &str| {
                let at = words.iter().position(|word| *word == name)?;
                words.get(at + 1).copied()
            };
            let time = |name: &str| {
                let time = after(name).map(|seconds| seconds.parse().unwrap());
                time.map(Duration::from_secs_f64)
            };
            match words[0] {
                "failed" | "succeeded" => {
                    let took = time("in").unwrap_or_default();
                    (attempts, is_waiting, now) = (attempts + 1, false, now + took);
                    let again = match attempts {
                        1 => String::new(),
                        _ => format!(" http.request.resend_count={}", attempts - 1),
                    };
                    story.spans.push(format!("/attempt opens{again}"));
                    story.spans.push("/attempt: asks".to_owned());
                    story.spans.push("/attempt: ends".to_owned());
                    let mut metric = ATTEMPT.to_owned();
                    if words[0] == "failed" {
                        failure = words[1];
                        let error = format!(" error.type={}", failure.replace("not_yet", "_OTHER"));
                        metric += &error;
                        story.spans.push(format!("/attempt{error}"));
                    }
                    story.spans.push("/attempt closes".to_owned());
                    if words[0] == "succeeded" && attempts > 1 {
                        story.hears(format!("succeeded {attempts}"), now);
                        let line = format!("INFO succeeded after retries attempts={attempts}");
                        story.log.push(line);
                    }
                    if attempts == 1 {
                        story.first_attempt.clone_from(&metric);
                    }
                    let values = story.metrics.entry(metric).or_default();
                    values.push(took.as_secs_f64());
                }
                "waits" => {
                    let wait = time("waits").unwrap();
                    let source = after("by").unwrap_or("Backoff");
                    story.hears(format!("{attempts} waits {wait:?} by {source}"), now);
                    let text = match failure {
                        "not_yet" => "DEBUG not yet, asking again",
                        _ => "INFO attempt failed, waiting before the next",
                    };
                    let delay = wait.as_secs_f64();
                    let source = match source {
                        "RetryAfter" => "retry_after",
                        "RetryInfo" => "retry_info",
                        "Pause" => "pause",
                        _ => "backoff",
                    };
                    let code = code(failure);
                    let line =
                        format!("{text} attempt={attempts} delay={delay:?} source={source}{code}");
                    story.log.push(line);
                    let lasted = time("for").unwrap_or(wait);
                    (now, waited, is_waiting) = (now + lasted, waited + lasted, true);
                }
                "queues" => {
                    let queue = time("queues").unwrap();
                    (now, waited) = (now + queue, waited + queue);
                }
                "gave" => {
                    let reason = words[2];
                    story.hears(format!("gave up {reason} {attempts}"), now);
                    let text = match (attempts, reason) {
                        (0, "breaker") => "DEBUG gave up before the first attempt",
                        (_, "breaker") => "DEBUG gave up",
                        (0, _) => "WARN gave up before the first attempt",
                        (_, "maybe_applied") => {
                            "WARN not repeated, because the attempt may have been applied"
                        }
                        (_, "nothing_known") => NOTHING_KNOWN,
                        (_, "retry_after") => ASKS_TOO_MUCH,
                        (_, "stopped_by_server") => {
                            "WARN not repeated, because the server asks not to be called again"
                        }
                        (1, "permanent") if !is_waiting => "DEBUG failed, not retried",
                        _ => "WARN gave up",
                    };
                    let late = if words.contains(&"late") { LATE } else { "" };
                    let earlier = if words.contains(&"perhaps") {
                        EARLIER
                    } else {
                        ""
                    };
                    let error = after("with").unwrap_or(failure);
                    let figures = ["retry_after", "late"].map(|name| match after(name) {
                        Some(seconds) => format!(" {name}={seconds}"),
                        None => String::new(),
                    });
                    let code = code(error);
                    story.log.push(format!(
                        "{text}{earlier}{late} attempts={attempts} reason={reason}{}{code}",
                        figures.concat()
                    ));
                    let error = error.replace("not_yet", "_OTHER");
                    ended = format!(" retry.stop_reason={reason} error.type={error}");
                }
                "dropped" => {
                    let spans = ["opens", ": asks", ": ends", "closes"];
                    story.spans = spans
                        .map(|it| format!("/attempt {it}").replace(" :", ":"))
                        .into();
                    return story;
                }
                "too" => story.log.push(TOO_LONG.to_owned()),
                "opens" => story.log.push("DEBUG calls go at 0.2 a second".to_owned()),
                "breaks" => {
                    let line = "WARN the breaker opens: 2 of the last 20 attempts failed";
                    story.log.push(line.to_owned());
                }
                "closes" => {
                    let line = "INFO the breaker closes: a probe succeeded";
                    story.log.push(line.to_owned());
                }
                "unturned" => story.log.push(UNTURNED.to_owned()),
                _ => panic!("`{part}` is no part of a story"),
            }
        }
        let outcome = match (ended.is_empty(), attempts > 1) {
            (true, false) => "successful_without_retry",
            (true, true) => "successful_with_retry",
            (false, false) => "failed_without_retry",
            (false, true) => "failed_with_retry",
        };
        let labels = format!("retry.policy=storage retry.outcome={outcome}");
        let mut tell = |name: &str, end: &str, value| {
            let name = format!("retry.call.{name} {labels}{end}");
            story.metrics.insert(name, vec![value]);
        };
        tell("duration", &ended, now.as_secs_f64());
        if attempts > 1 {
            tell("retries", "", f64::from(attempts - 1));
            tell("delay", "", waited.as_secs_f64());
        }
        story
    }

    fn hears(&mut self, event: String, at: Duration) {
        self.spans.push(": told".to_owned());
        self.events.push((event, at));
    }
}
