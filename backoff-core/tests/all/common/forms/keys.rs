//! Annotated functions and blocks. Each list of keys is a function of its own.

use super::{Ended, Form, Judge, Kind, Reply, Rule, Trial};
use crate::common::error::TestError;
use backoff_core::{Verdict, retry, retry_block};

pub(super) const FORMS: &[Form] = &[
    Form::new("attribute", Kind::Keys, annotated),
    Form::new(
        "attribute, attempt, in spans",
        Kind::Keys,
        annotated_with_attempt,
    ),
    Form::new("block", Kind::Keys, block),
    Form::new(
        "attribute, blocking, in spans",
        Kind::BlockingKeys,
        annotated_blocking,
    ),
    Form::new("block, blocking", Kind::BlockingKeys, blocking_block),
];

type Outcome = Result<Reply, TestError>;

fn judge(trial: &Trial<'_>) -> fn(&TestError) -> Verdict {
    match trial.setting.judge {
        Judge::When(judge) | Judge::WhenAny(judge) => judge,
        Judge::Codes => unreachable!("the codes judge"),
    }
}

fn values(trial: &Trial<'_>) -> u32 {
    match trial.setting.rule {
        Rule::Until(values) => values,
        _ => unreachable!("no value is awaited"),
    }
}

fn is_done(reply: &Reply) -> bool {
    *reply == Reply(200)
}

/// The forms with each list of keys. A list is chosen by [`Setting::keys`](super::Setting::keys).
macro_rules! keys {
    ($trial:ident, async: {$($alone:tt)*}, both: {$($common:tt)*}) => {
        async_keys! { $trial: $($alone)* $($common)* }
        blocking_keys! { $trial: $($common)* }
    };
}

macro_rules! async_keys {
    ($trial:ident: $($(#[$on:meta])? $name:literal => [$($keys:tt)*])*) => {
        fn annotated<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
            match trial.setting.keys().as_str() {
                $($(#[$on])? $name => {
                    #[retry(policy = $trial.policy, runtime = $trial.time.clone(), notify = $trial.hook(), $($keys)*)]
                    async fn call($trial: &Trial<'_>) -> Outcome {
                        $trial.attempt().await
                    }
                    trial.wait(call(trial))
                })*
                other => unreachable!("write a line for the keys `{other}`"),
            }
        }

        fn annotated_with_attempt<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
            match trial.setting.keys().as_str() {
                $($(#[$on])? $name => {
                    #[cfg_attr(feature = "tracing", retry(policy = $trial.policy, runtime = $trial.time.clone(), notify = $trial.hook(), attempt = n, attempt_spans, $($keys)*))]
                    #[cfg_attr(not(feature = "tracing"), retry(policy = $trial.policy, runtime = $trial.time.clone(), notify = $trial.hook(), attempt = n, $($keys)*))]
                    async fn call($trial: &Trial<'_>) -> Outcome {
                        $trial.check_attempt(&n);
                        $trial.attempt().await
                    }
                    trial.wait(call(trial))
                })*
                other => unreachable!("write a line for the keys `{other}`"),
            }
        }

        fn block<'t>($trial: &'t Trial<'t>) -> Option<Ended> {
            match $trial.setting.keys().as_str() {
                $($(#[$on])? $name => $trial.wait(retry_block!(
                    policy = $trial.policy, runtime = $trial.time.clone(), notify = $trial.hook(), $($keys)*,
                    async { $trial.attempt().await }
                )),)*
                other => unreachable!("write a line for the keys `{other}`"),
            }
        }
    };
}

macro_rules! blocking_keys {
    ($trial:ident: $($(#[$on:meta])? $name:literal => [$($keys:tt)*])*) => {
        fn annotated_blocking<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
            match trial.setting.keys().as_str() {
                $($(#[$on])? $name => {
                    #[cfg_attr(feature = "tracing", retry(policy = $trial.policy, runtime = $trial.time.clone(), notify = $trial.hook(), attempt_spans = true, $($keys)*))]
                    #[cfg_attr(not(feature = "tracing"), retry(policy = $trial.policy, runtime = $trial.time.clone(), notify = $trial.hook(), $($keys)*))]
                    fn call($trial: &Trial<'_>) -> Outcome {
                        $trial.attempt_blocking()
                    }
                    Some(call(trial).into())
                })*
                other => unreachable!("write a line for the keys `{other}`"),
            }
        }

        fn blocking_block<'t>($trial: &'t Trial<'t>) -> Option<Ended> {
            match $trial.setting.keys().as_str() {
                $($(#[$on])? $name => {
                    let result: Outcome = retry_block!(
                        policy = $trial.policy, runtime = $trial.time.clone(), notify = $trial.hook(), $($keys)*,
                        { $trial.attempt_blocking() }
                    );
                    Some(result.into())
                })*
                other => unreachable!("write a line for the keys `{other}`"),
            }
        }
    };
}

keys! {
    trial,
    async: {
        "timeout" => [timeout = trial.setting.timeout.unwrap(), responses = false]
        "attempt_timeout" => [attempt_timeout = trial.setting.attempt_timeout.unwrap(), responses = false]
        "timeout attempt_timeout" => [
            timeout = trial.setting.timeout.unwrap(), attempt_timeout = trial.setting.attempt_timeout.unwrap(), responses = false
        ]
        "stop_on" => [stop_on = trial.signal(), responses = false]
        "cut_on" => [cut_on = trial.signal(), responses = false]
        "attempt_timeout stop_on" => [
            attempt_timeout = trial.setting.attempt_timeout.unwrap(), stop_on = trial.signal(), responses = false
        ]
        "attempt_timeout cut_on" => [
            attempt_timeout = trial.setting.attempt_timeout.unwrap(), cut_on = trial.signal(), responses = false
        ]
        "timeout stop_on" => [timeout = trial.setting.timeout.unwrap(), stop_on = trial.signal(), responses = false]
        "timeout cut_on" => [timeout = trial.setting.timeout.unwrap(), cut_on = trial.signal(), responses = false]
        "stop_on responses" => [stop_on = trial.signal(), responses = true]
        "timeout responses" => [timeout = trial.setting.timeout.unwrap(), responses = true]
        "when attempt_timeout" => [
            when = judge(trial), attempt_timeout = trial.setting.attempt_timeout.unwrap()
        ]
        "when stop_on" => [when = judge(trial), stop_on = trial.signal()]
        "when cut_on" => [when = judge(trial), cut_on = trial.signal()]
        #[cfg(feature = "rate")]
        "max_queue_time stop_on" => [max_queue_time = trial.setting.max_queue_time.unwrap(), stop_on = trial.signal(), responses = false]
        #[cfg(feature = "rate")]
        "timeout max_queue_time" => [max_queue_time = trial.setting.max_queue_time.unwrap(), timeout = trial.setting.timeout.unwrap(), responses = false]
        "cut_on until" => [until = is_done, cut_on = trial.signal(), responses = false]
        "attempt_timeout until" => [
            until = is_done, attempt_timeout = trial.setting.attempt_timeout.unwrap(), responses = false
        ]
        "attempt_timeout until consecutive" => [
            until = is_done, consecutive = values(trial), attempt_timeout = trial.setting.attempt_timeout.unwrap(), responses = false
        ]
    },
    both: {
        "" => [responses = false]
        "when" => [when = judge(trial)]
        "until" => [until = is_done, responses = false]
        "until consecutive" => [until = is_done, consecutive = values(trial), responses = false]
        "responses" => [responses = true]
        #[cfg(feature = "rate")]
        "max_queue_time" => [max_queue_time = trial.setting.max_queue_time.unwrap(), responses = false]
    }
}
