//! The forms of a call. Each runs a script of outcomes under the same settings, and must come to the same end.
//!
//! A row of `limits.rs` is a name, settings, a script, and a sentence that tells what comes of it. Each form runs it, but
//! for those that cannot have its settings: [`Form::can`] says why.

mod builder;
mod came;
mod keys;
#[cfg(feature = "tower")]
mod layer;
mod trial;

#[cfg(all(
    feature = "breaker",
    feature = "combine",
    feature = "metrics",
    feature = "rate",
    feature = "testing",
    feature = "tracing"
))]
pub(crate) use self::trial::assert_is_name;
pub(crate) use self::{
    came::{Came, Ended, Said},
    trial::{Reply, Trial},
};
use super::error::TestError;
use backoff_core::{Budget, HintSource, Jitter, Policy, Verdict};
use std::time::Duration;

pub(crate) const SECOND: Duration = Duration::from_secs(1);
/// Waits of 1 s, 2 s, 4 s and so on.
pub(crate) const PLAIN: Policy = Policy::exponential().jitter(Jitter::None);
pub(crate) const BUSY: TestError = TestError::status(503);

/// What an attempt does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// How long its first poll blocks the thread.
    pub(crate) blocks: Duration,
    pub(crate) takes: Duration,
    pub(crate) ends: Ends,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Ends {
    Well(Reply),
    Badly(TestError),
    Never,
}

pub(crate) const HANGS: Step = Step::ending(Ends::Never);

/// The attempt fails at once.
pub(crate) const fn fails(error: TestError) -> Step {
    Step::ending(Ends::Badly(error))
}

/// The attempt ends at once with a value: a response of this status.
pub(crate) const fn gives(status: u16) -> Step {
    Step::ending(Ends::Well(Reply(status)))
}

fn seconds(text: &str) -> Duration {
    Duration::from_secs_f64(
        text.parse()
            .unwrap_or_else(|_| panic!("`{text}` is no time")),
    )
}

/// A script in words: `error 503 taking 4, hangs, 200`. A number alone is a value.
pub(crate) fn steps(script: &str) -> Vec<Step> {
    script.split(", ").map(step).collect()
}

fn step(text: &str) -> Step {
    let mut words = text.split(' ');
    let mut step = match words.next().unwrap() {
        "hangs" => HANGS,
        "error" => fails(match words.next().unwrap() {
            "lost" => TestError::LOST,
            "refused" => TestError::REFUSED,
            "unknown" => TestError::UNKNOWN,
            "conflict" => TestError::CONFLICT,
            "stops" => TestError::status(503).asking_to_stop(),
            status => TestError::status(status.parse().unwrap()),
        }),
        status => gives(
            status
                .parse()
                .unwrap_or_else(|_| panic!("`{text}` is no step")),
        ),
    };
    while let Some(word) = words.next() {
        let value = words.next().unwrap();
        step = match (word, step.ends) {
            ("taking", _) => step.taking(seconds(value)),
            ("blocking", _) => step.blocking(seconds(value)),
            ("after", Ends::Badly(error)) => fails(error.after(seconds(value))),
            ("by", Ends::Badly(error)) => fails(error.hinted_by(match value {
                "RetryInfo" => HintSource::RetryInfo,
                _ => HintSource::Pause,
            })),
            _ => panic!("`{text}` is no step"),
        };
    }
    step
}

/// A budget in words: its constructor with its numbers, perhaps the tokens at the start, and perhaps its name.
fn budget(words: &'static str) -> Budget {
    let (words, name) = words.split_once(" as ").unwrap_or((words, ""));
    let (kind, numbers) = words.split_once(' ').unwrap_or((words, ""));
    let numbers: Vec<f64> = numbers
        .split_whitespace()
        .map(|n| n.parse().unwrap())
        .collect();
    let budget = match (kind, &numbers[..]) {
        ("aws", []) => Budget::aws(),
        // A retry costs ten tokens, a retry after throttling five.
        ("costs", [left]) => Budget::costs(100, 10, 5).starting_with(*left as u32),
        ("ratio", [share, reserve]) => Budget::ratio(*share, *reserve as u32),
        ("ratio", [share, reserve, left]) => {
            Budget::ratio(*share, *reserve as u32).starting_with(*left as u32)
        }
        ("grpc", [most, ratio]) => Budget::grpc(*most as u32, *ratio),
        _ => panic!("`{words}` is no budget"),
    };
    if name.is_empty() {
        budget
    } else {
        budget.name(name)
    }
}

impl Step {
    const fn ending(ends: Ends) -> Self {
        Self {
            blocks: Duration::ZERO,
            takes: Duration::ZERO,
            ends,
        }
    }

    /// The attempt blocks its thread for this time before it waits for anything.
    pub(crate) const fn blocking(self, blocks: Duration) -> Self {
        Self { blocks, ..self }
    }

    pub(crate) const fn error(&self) -> Option<TestError> {
        match self.ends {
            Ends::Badly(error) => Some(error),
            _ => None,
        }
    }

    /// The attempt takes as long as this.
    pub(crate) const fn taking(self, takes: Duration) -> Self {
        Self { takes, ..self }
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Judge {
    Codes,
    When(fn(&TestError) -> Verdict),
    WhenAny(fn(&TestError) -> Verdict),
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Signal {
    StopOn(Duration),
    CutOn(Duration),
}

/// A rule about values. The awaited value is a response of 200, a conflict one of 409.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Rule {
    AnyValue,
    Until(u32),
    Responses,
    ConflictIf,
}

/// The settings of a call.
#[derive(Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) policy: Policy,
    pub(crate) judge: Judge,
    pub(crate) timeout: Option<Duration>,
    pub(crate) attempt_timeout: Option<Duration>,
    pub(crate) signal: Option<Signal>,
    pub(crate) rule: Rule,
    pub(crate) budget: Option<&'static str>,
    /// A slow attempt gets a second request after this time.
    pub(crate) hedge: Option<Duration>,
    /// The call has a rate that lets nobody go for so long.
    #[cfg(feature = "rate")]
    pub(crate) rate: Option<Duration>,
    #[cfg(feature = "rate")]
    pub(crate) max_queue_time: Option<Duration>,
    /// The call has a breaker in these words.
    #[cfg(feature = "breaker")]
    pub(crate) breaker: Option<&'static str>,
    /// By how much the timers wake too late.
    pub(crate) late: Duration,
    /// The random number that is drawn.
    pub(crate) random: u64,
    /// When the caller drops the call.
    pub(crate) dropped: Option<Duration>,
    pub(crate) deadline: Option<Duration>,
    /// The number of the event in whose hook the test panics.
    pub(crate) panics: Option<usize>,
    pub(crate) is_careful: bool,
}

/// A call of this policy without other settings.
pub(crate) const fn call(policy: Policy) -> Setting {
    Setting {
        policy,
        judge: Judge::Codes,
        timeout: None,
        attempt_timeout: None,
        signal: None,
        rule: Rule::AnyValue,
        budget: None,
        hedge: None,
        #[cfg(feature = "rate")]
        rate: None,
        #[cfg(feature = "rate")]
        max_queue_time: None,
        #[cfg(feature = "breaker")]
        breaker: None,
        late: Duration::ZERO,
        random: 0,
        dropped: None,
        deadline: None,
        panics: None,
        is_careful: false,
    }
}

setters! { Setting:
    when(judge: fn(&TestError) -> Verdict) { judge: Judge::When(judge) }
    when_any(judge: fn(&TestError) -> Verdict) { judge: Judge::WhenAny(judge) }
    timeout(limit: Duration) { timeout: Some(limit) }
    attempt_timeout(limit: Duration) { attempt_timeout: Some(limit) }
    /// The signal comes at this time.
    stop_on(at: Duration) { signal: Some(Signal::StopOn(at)) }
    cut_on(at: Duration) { signal: Some(Signal::CutOn(at)) }
    until() { rule: Rule::Until(1) }
    consecutive(values: u32) { rule: Rule::Until(values) }
    responses() { rule: Rule::Responses }
    conflict_if() { rule: Rule::ConflictIf }
    /// Each run has a new budget: see [`budget`].
    budget(words: &'static str) { budget: Some(words) }
    hedge(after: Duration) { hedge: Some(after) }
    /// Each run has a new rate, which lets nobody go for so long.
    #[cfg(feature = "rate")]
    rate(closed_for: Duration) { rate: Some(closed_for) }
    #[cfg(feature = "rate")]
    max_queue_time(limit: Duration) { max_queue_time: Some(limit) }
    late(late: Duration) { late: late }
    drawing(random: u64) { random: random }
    dropped_at(at: Duration) { dropped: Some(at) }
    /// The hook panics at the event of this number, from 1.
    panicking_at(event: usize) { panics: Some(event) }
}

impl Setting {
    pub(crate) fn deadline(self, deadline: Duration) -> Self {
        Self {
            policy: self.policy.deadline(deadline),
            deadline: Some(deadline),
            ..self
        }
    }

    /// What may have been applied is not repeated.
    pub(crate) fn careful(self) -> Self {
        Self {
            policy: self.policy.idempotent(false),
            is_careful: true,
            ..self
        }
    }

    /// With settings in words: `timeout 30, careful`. Times are seconds; the function of `when` says yes.
    pub(crate) fn with(self, words: &'static str) -> Self {
        let words = words.split(", ").filter(|word| !word.is_empty());
        words.fold(self, |setting, word| {
            let (name, value) = word.split_once(' ').unwrap_or((word, ""));
            let time = || seconds(value);
            let number = || value.parse().unwrap();
            match name {
                "max_attempts" => Self {
                    policy: setting.policy.max_attempts(number()),
                    ..setting
                },
                "deadline" => setting.deadline(time()),
                "timeout" => setting.timeout(time()),
                "attempt_timeout" => setting.attempt_timeout(time()),
                "stop_on" => setting.stop_on(time()),
                "cut_on" => setting.cut_on(time()),
                "dropped_at" => setting.dropped_at(time()),
                "late" => setting.late(time()),
                "panicking_at" => setting.panicking_at(number() as usize),
                "until" => setting.until(),
                "consecutive" => setting.consecutive(number()),
                "responses" => setting.responses(),
                "conflict_if" => setting.conflict_if(),
                "careful" => setting.careful(),
                "when" => setting.when(|_| true.into()),
                "when_any" => setting.when_any(|_| true.into()),
                "budget" => setting.budget(value),
                #[cfg(feature = "breaker")]
                "breaker" => Self {
                    breaker: Some(value),
                    ..setting
                },
                "hedge" => setting.hedge(time()),
                #[cfg(feature = "rate")]
                "rate" => setting.rate(time()),
                #[cfg(feature = "rate")]
                "max_queue_time" => setting.max_queue_time(time()),
                _ => panic!("`{word}` is no setting"),
            }
        })
    }

    /// The settings that change the type of a call, by the names of their keys.
    pub(crate) fn keys(&self) -> String {
        let keys = [
            (matches!(self.judge, Judge::When(_)), "when"),
            (matches!(self.judge, Judge::WhenAny(_)), "when_any"),
            (self.timeout.is_some(), "timeout"),
            (self.attempt_timeout.is_some(), "attempt_timeout"),
            #[cfg(feature = "rate")]
            (self.max_queue_time.is_some(), "max_queue_time"),
            (matches!(self.signal, Some(Signal::StopOn(_))), "stop_on"),
            (matches!(self.signal, Some(Signal::CutOn(_))), "cut_on"),
            (matches!(self.rule, Rule::Until(_)), "until"),
            (matches!(self.rule, Rule::Until(2..)), "consecutive"),
            (self.rule == Rule::Responses, "responses"),
            (self.rule == Rule::ConflictIf, "conflict_if"),
        ];
        let keys = keys.into_iter().filter(|(is_set, _)| *is_set);
        keys.map(|(_, key)| key).collect::<Vec<_>>().join(" ")
    }
}

/// What kind of form it is; it decides what the form cannot have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Async,
    Blocking,
    /// The script tells what the write does.
    UpdateWrite,
    /// The script tells what the read does.
    UpdateRead,
    BlockingUpdateWrite,
    BlockingUpdateRead,
    /// An async function or a block with keys.
    Keys,
    BlockingKeys,
    Resuming,
    BlockingResuming,
    Layer,
}

/// What a call can share with others, and have instead of its policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Own {
    Budget,
    Rate,
    Breaker,
    /// No policy has a hedge.
    Hedge,
}

/// A form of a call.
pub(crate) struct Form {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// What is given to the call and not to its policy.
    pub(crate) own: Option<Own>,
    pub(crate) run: for<'t> fn(&'t Trial<'t>) -> Option<Ended>,
}

impl Form {
    pub(crate) const fn new(
        name: &'static str,
        kind: Kind,
        run: for<'t> fn(&'t Trial<'t>) -> Option<Ended>,
    ) -> Self {
        Form {
            name,
            kind,
            own: None,
            run,
        }
    }

    const fn with_own(self, own: Own) -> Self {
        Form {
            own: Some(own),
            ..self
        }
    }

    pub(crate) fn is_blocking(&self) -> bool {
        matches!(
            self.kind,
            Kind::Blocking
                | Kind::BlockingUpdateWrite
                | Kind::BlockingUpdateRead
                | Kind::BlockingKeys
                | Kind::BlockingResuming
        )
    }

    pub(crate) fn is_update(&self) -> bool {
        use Kind::{BlockingUpdateRead, BlockingUpdateWrite, UpdateRead, UpdateWrite};
        matches!(
            self.kind,
            UpdateWrite | UpdateRead | BlockingUpdateWrite | BlockingUpdateRead
        )
    }

    /// Whether this form can have these settings and this script.
    pub(crate) fn can(&self, setting: &Setting, script: &[Step]) -> bool {
        use Kind::{
            BlockingKeys, BlockingResuming, BlockingUpdateRead, Keys, Layer, Resuming, UpdateRead,
        };
        let is_limited = setting.timeout.is_some() || setting.attempt_timeout.is_some();
        let hangs = script.iter().any(|step| matches!(step.ends, Ends::Never));
        let takes_time = script
            .iter()
            .any(|step| !step.takes.is_zero() || !step.blocks.is_zero());
        let judges_values = script
            .iter()
            .any(|step| matches!(step.ends, Ends::Well(Reply(400..))));
        #[cfg(feature = "rate")]
        let (rate, max_queue_time) = (setting.rate, setting.max_queue_time);
        #[cfg(not(feature = "rate"))]
        let (rate, max_queue_time) = (None::<Duration>, None::<Duration>);
        #[cfg(feature = "breaker")]
        let breaker = setting.breaker;
        #[cfg(not(feature = "breaker"))]
        let breaker = None::<&str>;
        let cannot = [
            // Nobody can cut an attempt that blocks its thread.
            self.is_blocking() && (is_limited || hangs || setting.dropped.is_some()),
            // A blocking call has only `stop_on`.
            self.is_blocking() && matches!(setting.signal, Some(Signal::CutOn(_))),
            // The keys of signals are those of async functions.
            self.kind == BlockingKeys && setting.signal.is_some(),
            // An update judges no responses.
            self.is_update() && setting.rule == Rule::Responses,
            // Only a write has replies that are conflicts.
            !self.is_update() && setting.rule == Rule::ConflictIf,
            // A read leaves no doubt, and its value is judged by nobody.
            matches!(self.kind, UpdateRead | BlockingUpdateRead)
                && (setting.is_careful || setting.rule != Rule::AnyValue),
            // The caller's own loop makes the attempts, and nobody cuts them.
            matches!(self.kind, Resuming | BlockingResuming)
                && (is_limited || matches!(setting.signal, Some(Signal::CutOn(_)))),
            // The caller's own loop looks at the values.
            matches!(self.kind, Resuming | BlockingResuming) && setting.rule != Rule::AnyValue,
            // Its deadline counts from the first failure.
            matches!(self.kind, Resuming | BlockingResuming)
                && setting.deadline.is_some()
                && takes_time,
            // A layer has neither `timeout` nor `until`.
            self.kind == Layer
                && (setting.timeout.is_some() || matches!(setting.rule, Rule::Until(_))),
            // A layer always judges the responses.
            self.kind == Layer && setting.rule == Rule::AnyValue && judges_values,
            // `when` is the only key for a function that judges.
            matches!(self.kind, Keys | BlockingKeys) && matches!(setting.judge, Judge::WhenAny(_)),
            // It differs only in where its budget is.
            self.own == Some(Own::Budget) && setting.budget.is_none(),
            // It differs only in where its rate is.
            self.own == Some(Own::Rate) && rate.is_none(),
            // It differs only in where its breaker is.
            self.own == Some(Own::Breaker) && breaker.is_none(),
            // The caller's own loop makes the attempts, waits for no turn and asks no breaker.
            matches!(self.kind, Resuming | BlockingResuming)
                && (rate.is_some() || breaker.is_some()),
            // The other forms have no hedge.
            self.own != Some(Own::Hedge) && setting.hedge.is_some(),
            // A layer has no `max_queue_time`.
            self.kind == Layer && max_queue_time.is_some(),
        ];
        !cannot.contains(&true)
    }

    /// Runs the script. Its last step is repeated for ever.
    pub(crate) fn run(&self, setting: &Setting, script: &[Step]) -> Came {
        self.trial(setting, script).run(self)
    }

    /// The same before it runs: to close a rate takes calls.
    pub(crate) fn trial<'t>(&self, setting: &'t Setting, script: &'t [Step]) -> Trial<'t> {
        Trial::new(self, setting, script)
    }
}

/// All forms.
pub(crate) fn forms() -> impl Iterator<Item = &'static Form> {
    let forms = builder::FORMS.iter().chain(keys::FORMS);
    #[cfg(feature = "tower")]
    let forms = forms.chain(layer::FORMS);
    forms
}

/// What comes of a script in all forms that can have the settings.
pub(crate) fn runs(
    setting: &Setting,
    script: &[Step],
) -> impl Iterator<Item = (&'static Form, Came)> {
    let can = |form: &&Form| form.can(setting, script);
    forms()
        .filter(can)
        .map(|form| (form, form.run(setting, script)))
}

/// Plays a table in every form that can have the settings. A line is `name | settings | script | what comes of it`.
/// See [`Setting::with`] and [`steps`] for the words.
///
/// A line `but name | what` follows where something else comes of it in the forms with this in their names.
pub(crate) fn each_row(
    base: Setting,
    table: &'static str,
    mut check: impl FnMut(&str, &Form, &Setting, &[Step], &'static str),
) {
    let lines = table.lines().map(str::trim);
    let mut lines = lines.filter(|line| !line.is_empty()).peekable();
    while let Some(line) = lines.next() {
        let columns: Vec<_> = line.split('|').map(str::trim).collect();
        let [name, settings, script, expected] = columns[..] else {
            panic!("four columns: {line}");
        };
        let but: Vec<_> = std::iter::from_fn(|| lines.next_if(|line| line.starts_with("but ")))
            .map(|line| line["but ".len()..].split_once(" | ").unwrap())
            .collect();
        let (setting, script) = (base.with(settings), steps(script));
        let can = |form: &&Form| form.can(&setting, &script);
        let mut forms = forms().filter(can).peekable();
        assert!(forms.peek().is_some(), "{line}: no form can have it");
        for form in forms {
            let but = but.iter().find(|(forms, _)| form.name.contains(forms));
            let expected = but.map_or(expected, |(_, expected)| expected);
            let name = format!("{name}, {}", form.name);
            check(&name, form, &setting, &script, expected);
        }
    }
}

/// Checks a table of rules. See [`Came`] for the words that tell what comes of a script.
pub(crate) fn check(base: Setting, table: &'static str) {
    each_row(base, table, |name, form, setting, script, expected| {
        form.run(setting, script).check(expected, form, name);
    });
}
