//! The keys. This table is the only place that describes them.
//!
//! The table gives [`Args`], how a key is read, which setters of the policy are called, the list in
//! messages, the tables of `retry.md`, and the fields that editors complete.
//! `UPDATE_EXPECT=1 cargo test -p backoff-macros pages` writes the last two anew.

use syn::{Expr, Ident, Path, Type};

use super::key_value::{Form, Given, Names, Rule, Time, Value};
use super::on::On;
use super::read::{factor, jitter, judge, level, name, path, policy, time, without_mut, written};

/// The description of a key.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    /// How to write the key, for messages.
    pub(crate) usage: &'static str,
    pub(super) form: Form,
    /// The type of the value, for the message to a user who writes a literal instead.
    pub(crate) no_literal: Option<&'static str>,
    /// The name of the function that reads the value.
    reader: &'static str,
    /// Stores a value of the key's form in `Args`.
    pub(super) put: fn(&mut Args, Given<Value>) -> syn::Result<()>,
    #[cfg(test)]
    pub(crate) page: Page,
}

impl Key {
    /// Whether the key is followed by names or types in parentheses.
    pub(crate) fn takes_parentheses(&self) -> bool {
        matches!(self.form, Form::Names | Form::Types)
    }

    /// Whether the key takes only a duration.
    pub(crate) fn takes_time(&self) -> bool {
        self.reader == "time"
    }
}

/// The row of `retry.md`.
#[cfg(test)]
pub(crate) struct Page {
    pub(crate) group: &'static str,
    pub(crate) takes: &'static str,
    pub(crate) without: &'static str,
    /// Set if the example shows more than the usage.
    pub(crate) example: Option<&'static str>,
}

macro_rules! first {
    ($first:expr $(, $rest:expr)*) => {
        $first
    };
}

/// Each entry is `field: type = form(how it is read), rule of the policy { .. }`.
macro_rules! keys {
    ($($group:literal { $(
        $field:ident $(as $name:literal)?: $type:ty = $form:ident($read:path) $(, $rule:ident)? {
            usage: $usage:literal,
            $(no_literal: $no_literal:literal,)?
            takes: $takes:literal,
            without: $without:literal,
            $(example: $example:literal,)?
        }
    )* })*) => {
        /// The arguments, each with the key as the user wrote it.
        #[derive(Default)]
        pub(crate) struct Args {
            $($(pub(crate) $field: Option<Given<$type>>,)*)*
        }

        impl Args {
            /// The given rules of the policy, in the order of their setters.
            pub(crate) fn rules(&self) -> Vec<(&Ident, Rule<'_>)> {
                let mut rules = Vec::new();
                $($($(
                    if let Some(Given { key, value }) = &self.$field {
                        rules.push((key, Rule::$rule(value)));
                    }
                )?)*)*
                rules
            }
        }

        /// All keys.
        pub(crate) static KEYS: &[Key] = &[$($(
            Key {
                name: first!($($name,)? stringify!($field)),
                usage: $usage,
                form: Form::$form,
                no_literal: first!($(Some($no_literal),)? None),
                reader: stringify!($read),
                put: |args, Given { key, value }| {
                    if let Value::$form(value) = value {
                        let value: syn::Result<$type> = $read(value);
                        args.$field = Some(Given { key, value: value? });
                    }
                    Ok(())
                },
                #[cfg(test)]
                page: Page {
                    group: $group,
                    takes: $takes,
                    without: $without,
                    example: first!($(Some($example),)? None),
                },
            },
        )*)*];
    };
}

keys! {
    "How long, how often" {
        policy: Expr = Expr(policy) {
            usage: "policy = iam::REQUEST",
            no_literal: "a `Policy`",
            takes: "a `Policy`: the rules to start from; the other keys change single rules",
            without: "`Policy::exponential()`",
        }
        base: Time = Expr(time), Time {
            usage: r#"base = "1s""#,
            takes: "a duration: the wait after the first failure, before jitter",
            without: "1 s",
        }
        throttled_base: Time = Expr(time), Time {
            usage: r#"throttled_base = "5s""#,
            takes: "a duration: replaces `base` after throttling",
            without: "as `base`",
        }
        factor: Expr = Expr(factor), Expr {
            usage: "factor = 2.0",
            takes: "a number from 1: how much longer each wait is than the one before",
            without: "2",
            example: "factor = 1.5",
        }
        max_backoff: Time = Expr(time), Time {
            usage: r#"max_backoff = "64s""#,
            takes: "a duration: the longest wait, including jitter; only a server's hint can be longer, up \
                    to `max_retry_after`",
            without: "64 s",
        }
        jitter: Expr = Expr(jitter), Expr {
            usage: "jitter = full",
            takes: "`full`, `equal`, `decorrelated`, `slots`, `whole_seconds`, `none`; a duration, \
                    the most that is added to each wait; or a `Jitter`",
            without: "`full`",
            example: r#"jitter = "1s""#,
        }
        max_attempts: Expr = Expr(Ok), Expr {
            usage: "max_attempts = 5",
            takes: "a number from 1: the highest number of calls of the function, including the \
                    first one",
            without: "5; no limit if there is a `deadline` or a `timeout` and any wait can be longer than zero",
            example: "max_attempts = 8",
        }
        deadline: Time = Expr(time), Time {
            usage: r#"deadline = "300s""#,
            takes: "a duration from the start of the call: a wait that would end later is not begun",
            without: "none",
            example: r#"deadline = "5m""#,
        }
        max_retry_after: Time = Expr(time), Time {
            usage: r#"max_retry_after = "60s""#,
            takes: "a duration: if a server asks for a longer wait, the call gives up",
            without: "the deadline or the `timeout`, else 5 min",
        }
        timeout: Time = Expr(time) {
            usage: r#"timeout = "60s""#,
            takes: "a duration: the time limit of the whole call, whatever the server does; async \
                    only, and the error is `From<TimedOut>`",
            without: "none",
        }
        attempt_timeout: Time = Expr(time) {
            usage: r#"attempt_timeout = "10s""#,
            takes: "a duration: the time limit of each attempt; async only, and the error is \
                    `From<TimedOut>`",
            without: "none",
        }
        stop_on: Expr = Expr(Ok) {
            usage: "stop_on = token.cancelled()",
            no_literal: "a future",
            takes: "a future, made once for each call; when it is ready, the call's wait ends; async \
                    only",
            without: "none",
        }
        cut_on: Expr = Expr(Ok) {
            usage: "cut_on = token.cancelled()",
            no_literal: "a future",
            takes: "as `stop_on`, and the running attempt is cut, too; the error is \
                    `From<Stopped>`",
            without: "none",
        }
    }
    "What is retried" {
        on: On = On(Ok), Codes {
            usage: "on = [429, 500..=504]",
            takes: "HTTP statuses, ranges of them, constants of type `Codes`, and patterns of the \
                    error, with guards",
            without: "the policy's codes; without a policy, errors about which nothing is known as well",
            example: "on = [429, 500..=504, Error::Busy { .. }]",
        }
        also_on: On = On(Ok), Codes {
            usage: "also_on = [408]",
            takes: "codes in addition to the policy's codes",
            without: "none",
        }
        when: Expr = Expr(judge) {
            usage: "when = |error| error.is_busy()",
            no_literal: "a function or a closure",
            takes: "a function or closure of `&E` that decides instead of the codes and returns a \
                    `bool` or a `Verdict`",
            without: "as `on`",
        }
        faults: Vec<Type> = Types(Ok) {
            usage: "faults(ApiError)",
            takes: "types to search for along the sources of an error that hides its type",
            without: "the types that the library knows",
        }
        until: Expr = Expr(Ok) {
            usage: "until = |operation| operation.done",
            no_literal: "a function or a closure",
            takes: "a function or closure of `&T` that says whether a value is the awaited one; the \
                    error is `From<NotYet>`",
            without: "any value ends the call",
        }
        consecutive: Expr = Expr(Ok) {
            usage: "consecutive = 3",
            takes: "a number from 1, beside `until`: how many awaited values in a row end the call",
            without: "1",
        }
        idempotent: Expr = Flag(Ok), Expr {
            usage: "idempotent = false",
            takes: "whether the operation may be applied twice; with `false`, a call that may have been \
                    applied is not repeated",
            without: "`true`",
        }
        retry_conflicts: Expr = Flag(Ok), Expr {
            usage: "retry_conflicts = true",
            takes: "whether an error that reports a conflict is retried",
            without: "`false`",
            example: "retry_conflicts",
        }
        responses: Expr = Flag(written) {
            usage: "responses = false",
            takes: "whether the codes judge a value that is a `Fault` (a response, a status) like an \
                    error; the last response is returned unchanged",
            without: "`true` in the attribute where codes or a policy are named, `false` in \
                      `retry_block!`",
        }
    }
    "How long, how often" {
        budget: Expr = Expr(Ok), Static {
            usage: "budget = BUDGET",
            no_literal: "the path of a `static`",
            takes: "the path of a `static` `Budget` whose tokens all retries of one service take",
            without: "the policy's budget",
        }
        rate: Expr = Expr(Ok), Static {
            usage: "rate = RATE",
            no_literal: "the path of a `static`",
            takes: "the path of a `static` `Rate`, by which all calls with it find the rate that the service \
                    allows (feature `rate`)",
            without: "the policy's rate",
        }
        tokens: Expr = Expr(Ok), Expr {
            usage: "tokens = 500",
            takes: "a number (`u32`), beside a rate: how many tokens of the service's quota each attempt uses at most \
                    (feature `rate`)",
            without: "0: only quotas of requests delay the call",
            example: "tokens = prompt.len() as u32 / 3 + 500",
        }
        breaker: Expr = Expr(Ok), Static {
            usage: "breaker = DOWN",
            no_literal: "the path of a `static`",
            takes: "the path of a `static` `Breaker`, which ends calls at once while their service is down (feature \
                    `breaker`); the error is `From<TimedOut>`",
            without: "the policy's breaker",
        }
        max_queue_time: Time = Expr(time) {
            usage: r#"max_queue_time = "5s""#,
            takes: "a duration: the longest wait in the queue of the rate; the error is `From<TimedOut>`",
            without: "none",
        }
    }
    "How the body sees it" {
        clone: Names = Names(Ok) {
            usage: "clone(body)",
            takes: "arguments; each attempt gets a copy of its own. Write `mut` before an argument \
                    that the body changes",
            without: "attempts borrow them",
            example: "clone(body, mut seen)",
        }
        keep: Names = Names(without_mut) {
            usage: "keep(seen)",
            takes: "arguments declared `mut`; the next attempt sees their changes",
            without: "a `mut` argument is an error, unless it is in `clone(..)`",
        }
        attempt: Ident = Expr(name) {
            usage: "attempt = n",
            takes: "a name for the `Attempt`, different from those of the arguments: its number, the \
                    time elapsed and remaining, the id of the call, whether an earlier attempt may \
                    have been applied",
            without: "",
        }
        notify: Expr = Expr(Ok) {
            usage: "notify = |event| log(event)",
            no_literal: "a function or a closure",
            takes: "a function or closure of `&Event<'_, E>`, called after each failure, and when \
                    a call succeeds after retries; an `Event` is `Debug`, and `Display` if the error is",
            without: "no function is called",
        }
        log_waits: Expr = Expr(level), Expr {
            usage: "log_waits = debug",
            takes: "`off`, `error`, `warn`, `info`, `debug`, `trace`, or a `LogLevel`: the level of \
                    the log event before each wait, with the feature `tracing`",
            without: "the policy's level, else `info`",
        }
        attempt_spans: Expr = Flag(written) {
            usage: "attempt_spans = true",
            takes: "whether each attempt runs in a span of `tracing`; this needs the feature `tracing`",
            without: "`false`",
            example: "attempt_spans",
        }
        sleep: Expr = Expr(Ok) {
            usage: "sleep = my_timer",
            no_literal: "a function of a `Duration`",
            takes: "a function from `Duration` to a future (in a sync function: to nothing) that \
                    waits instead of the timer",
            without: "tokio's, or the thread's",
        }
        runtime: Expr = Expr(Ok) {
            usage: "runtime = MyRuntime",
            no_literal: "a value with clock, timer and random numbers",
            takes: "a value with the clock, timer and random numbers of another executor",
            without: "tokio's, or the thread's",
        }
        operation: Expr = Text(Ok) {
            usage: r#"operation = "billing.charge""#,
            takes: "a text: the name of the operation in logs and metrics",
            without: "the function's path",
        }
        krate as "crate": Path = Expr(path) {
            usage: "crate = backoff_core",
            takes: "the path of the library, if it is renamed or re-exported",
            without: "the crate that the attribute comes from",
            example: "crate = my::backoff",
        }
    }
}
