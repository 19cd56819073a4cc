//! The keys. `retry.md` describes them for users.
//!
//! The table gives [`Args`], how a key is read, which setters of the policy are called, and the list in messages.
//! `UPDATE_EXPECT=1 cargo test -p backoff-macros pages` writes the fields that editors complete anew.

use syn::{Expr, Ident, Path, Type};

use super::key_value::{Form, Given, Names, Rule, Time, Value};
use super::on::On;
use super::read::{
    attempts, factor, jitter, judge, level, name, path, policy, shared, time, without_mut, written,
};

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

fn set<T>(field: &mut Option<Given<T>>, key: Ident, value: syn::Result<T>) -> syn::Result<()> {
    *field = Some(Given { key, value: value? });
    Ok(())
}

macro_rules! first {
    ($first:expr $(, $rest:expr)*) => {
        $first
    };
}

/// Each entry is `field: type = form(how it is read), rule of the policy => usage, or what is no literal`.
macro_rules! keys {
    ($(
        $field:ident $(as $name:literal)?: $type:ty = $form:ident($read:path) $(, $rule:ident)? => $usage:literal
        $(, or $no_literal:literal)?;
    )*) => {
        /// The arguments, each with the key as the user wrote it.
        #[derive(Default)]
        pub(crate) struct Args {
            $(pub(crate) $field: Option<Given<$type>>,)*
        }

        impl Args {
            /// The given rules of the policy, in the order of their setters.
            pub(crate) fn rules(&self) -> Vec<(&Ident, Rule<'_>)> {
                let mut rules = Vec::new();
                $($(
                    if let Some(Given { key, value }) = &self.$field {
                        rules.push((key, Rule::$rule(value)));
                    }
                )?)*
                rules
            }
        }

        /// All keys.
        pub(crate) static KEYS: &[Key] = &[$(
            Key {
                name: first!($($name,)? stringify!($field)),
                usage: $usage,
                form: Form::$form,
                no_literal: first!($(Some($no_literal),)? None),
                reader: stringify!($read),
                put: |args, Given { key, value }| match value {
                    Value::$form(value) => set(&mut args.$field, key, $read(value)),
                    _ => Ok(()),
                },
            },
        )*];
    };
}

keys! {
    policy: Expr = Expr(policy) => "policy = iam::REQUEST", or "a `Policy`";
    base: Time = Expr(time), Time => r#"base = "1s""#;
    throttled_base: Time = Expr(time), Time => r#"throttled_base = "5s""#;
    factor: Expr = Expr(factor), Expr => "factor = 2.0";
    max_backoff: Time = Expr(time), Time => r#"max_backoff = "64s""#;
    jitter: Expr = Expr(jitter), Expr => "jitter = full";
    max_attempts: Expr = Expr(attempts), Expr => "max_attempts = 5";
    deadline: Time = Expr(time), Time => r#"deadline = "300s""#;
    max_retry_after: Time = Expr(time), Time => r#"max_retry_after = "60s""#;
    timeout: Time = Expr(time) => r#"timeout = "60s""#;
    attempt_timeout: Time = Expr(time) => r#"attempt_timeout = "10s""#;
    stop_on: Expr = Expr(Ok) => "stop_on = token.cancelled()", or "a future";
    cut_on: Expr = Expr(Ok) => "cut_on = token.cancelled()", or "a future";
    on: On = On(Ok), Codes => "on = [429, 500..=504]";
    also_on: On = On(Ok), Codes => "also_on = [408]";
    when: Expr = Expr(judge) => "when = |error| error.is_busy()", or "a function or a closure";
    faults: Vec<Type> = Types(Ok) => "faults(ApiError)";
    until: Expr = Expr(Ok) => "until = |operation| operation.done", or "a function or a closure";
    consecutive: Expr = Expr(Ok) => "consecutive = 3";
    idempotent: Expr = Flag(Ok), Expr => "idempotent = false";
    retry_conflicts: Expr = Flag(Ok), Expr => "retry_conflicts = true";
    responses: Expr = Flag(written) => "responses = false";
    budget: Expr = Expr(shared), Static => "budget = BUDGET", or "the path of a `static`";
    rate: Expr = Expr(shared), Static => "rate = RATE", or "the path of a `static`";
    tokens: Expr = Expr(Ok), Expr => "tokens = 500";
    breaker: Expr = Expr(shared), Static => "breaker = DOWN", or "the path of a `static`";
    max_queue_time: Time = Expr(time) => r#"max_queue_time = "5s""#;
    clone: Names = Names(Ok) => "clone(body)";
    keep: Names = Names(without_mut) => "keep(seen)";
    attempt: Ident = Expr(name) => "attempt = n";
    notify: Expr = Expr(Ok) => "notify = |event| log(event)", or "a function or a closure";
    log_waits: Expr = Expr(level), Expr => "log_waits = debug";
    attempt_spans: Expr = Flag(written) => "attempt_spans = true";
    sleep: Expr = Expr(Ok) => "sleep = my_timer", or "a function of a `Duration`";
    runtime: Expr = Expr(Ok) => "runtime = MyRuntime", or "a value with clock, timer and random numbers";
    operation: Expr = Text(Ok) => r#"operation = "billing.charge""#;
    krate as "crate": Path = Expr(path) => "crate = backoff_core";
}
