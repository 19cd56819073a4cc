//! The forms of the builder: calls and updates, async and blocking, and the caller's own loop.
//!
//! Settings change the type of a call, so that each macro here has a branch for each type.

use super::{Ended, Form, Judge, Kind, Reply, Rule, Signal, Trial, trial::Awaited};

pub(super) const FORMS: &[Form] = &[
    Form::new("retry", Kind::Async, retry),
    Form::new("retry_with", Kind::Async, retry_with),
    Form::new("retry, owned", Kind::Async, owned),
    Form::new("retry, not reported", Kind::Async, not_reported),
    Form::new("retry, budget of the call", Kind::Async, own_budget).pays_itself(),
    Form::new("blocking", Kind::Blocking, blocking),
    Form::new("blocking_with", Kind::Blocking, blocking_with),
    Form::new(
        "blocking, not reported",
        Kind::Blocking,
        blocking_not_reported,
    ),
    Form::new(
        "blocking, budget of the call",
        Kind::Blocking,
        blocking_own_budget,
    )
    .pays_itself(),
    Form::new("update, in its write", Kind::UpdateWrite, update_write),
    Form::new("update, in its read", Kind::UpdateRead, update_read),
    Form::new(
        "blocking update, in its write",
        Kind::BlockingUpdateWrite,
        blocking_update_write,
    ),
    Form::new(
        "blocking update, in its read",
        Kind::BlockingUpdateRead,
        blocking_update_read,
    ),
    Form::new("resuming", Kind::Resuming, resuming),
    Form::new(
        "resuming, blocking",
        Kind::BlockingResuming,
        blocking_resuming,
    ),
];

/// What every call has; then it runs.
macro_rules! run {
    ($trial:ident, Async, $call:expr, $end:ident) => {
        $trial.wait(
            $call
                .runtime($trial.time.clone())
                .notify($trial.hook())
                .$end(),
        )
    };
    ($trial:ident, Blocking, $call:expr, $end:ident) => {
        Some(
            $call
                .runtime($trial.time.clone())
                .notify($trial.hook())
                .$end()
                .into(),
        )
    };
}

macro_rules! signals {
    ($trial:ident, Async, $call:expr, $end:ident) => {
        match $trial.setting.signal {
            None => run!($trial, Async, $call, $end),
            Some(signal) => {
                let (call, at) = ($call, $trial.signal());
                let call = match signal {
                    Signal::StopOn(_) => call.stop_on(at),
                    Signal::CutOn(_) => call.cut_on(at),
                };
                run!($trial, Async, call, $end)
            }
        }
    };
    ($trial:ident, Blocking, $call:expr, $end:ident) => {
        match $trial.setting.signal {
            None => run!($trial, Blocking, $call, $end),
            Some(_) => run!($trial, Blocking, $call.stop_on(&$trial.stop()), $end),
        }
    };
}

macro_rules! limits {
    ($trial:ident, Async, $call:expr, $end:ident) => {
        match ($trial.setting.timeout, $trial.setting.attempt_timeout) {
            (None, None) => signals!($trial, Async, $call, $end),
            limits => {
                let call = $call;
                let call = match limits {
                    (Some(whole), Some(each)) => call.timeout(whole).attempt_timeout(each),
                    (Some(whole), None) => call.timeout(whole),
                    (None, each) => call.attempt_timeout(each.unwrap()),
                };
                signals!($trial, Async, call, $end)
            }
        }
    };
    ($trial:ident, Blocking, $call:expr, $end:ident) => {
        signals!($trial, Blocking, $call, $end)
    };
}

macro_rules! rules {
    (values: $trial:ident, $loop:ident, $call:expr, $end:ident) => {
        match $trial.setting.rule {
            Rule::AnyValue => limits!($trial, $loop, $call, $end),
            Rule::Until(values) => {
                let call = $call.until(|value| value.is_awaited()).consecutive(values);
                limits!($trial, $loop, call, $end)
            }
            Rule::Responses => limits!($trial, $loop, $call.responses(), $end),
            Rule::ConflictIf => unreachable!("refused"),
        }
    };
    (written: $trial:ident, $loop:ident, $call:expr, $end:ident) => {
        match $trial.setting.rule {
            Rule::AnyValue => limits!($trial, $loop, $call, $end),
            Rule::Until(values) => {
                let call = $call.until(|value| value.is_awaited()).consecutive(values);
                limits!($trial, $loop, call, $end)
            }
            Rule::ConflictIf => {
                let call = $call.conflict_if(|reply: &Reply| *reply == Reply(409));
                limits!($trial, $loop, call, $end)
            }
            Rule::Responses => unreachable!("refused"),
        }
    };
    (read: $trial:ident, $loop:ident, $call:expr, $end:ident) => {
        limits!($trial, $loop, $call, $end)
    };
}

/// `judged!(trial, values, Async, retry(operation), reported)` is a call of the trial; what is in brackets
/// is added before its settings.
macro_rules! judged {
    ($trial:ident, $rules:ident, $loop:ident, $method:ident $arguments:tt, $end:ident) => {
        judged!($trial, $rules, $loop, $method $arguments, $end, [])
    };
    ($trial:ident, $rules:ident, $loop:ident, $method:ident $arguments:tt, $end:ident, [$($more:tt)*]) => {{
        let policy = &$trial.policy;
        match $trial.setting.judge {
            Judge::Codes => {
                rules!($rules: $trial, $loop, policy.$method $arguments $($more)*, $end)
            }
            Judge::When(judge) => {
                limits!($trial, $loop, policy.when(judge).$method $arguments $($more)*, $end)
            }
            Judge::WhenAny(judge) => {
                limits!($trial, $loop, policy.when_any(judge).$method $arguments $($more)*, $end)
            }
        }
    }};
}

fn retry<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
    judged!(trial, values, Async, retry(|| trial.attempt()), reported)
}

fn retry_with<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
    judged!(
        trial,
        values,
        Async,
        retry_with(|attempt| {
            trial.check_attempt(&attempt);
            trial.attempt()
        }),
        reported
    )
}

fn owned<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
    judged!(trial, values, Async, retry(|| trial.attempt()), reported, [.owned()])
}

fn not_reported<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
    judged!(trial, values, Async, retry(|| trial.attempt()), into_future)
}

fn own_budget<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
    let budget = trial.call_budget();
    judged!(trial, values, Async, retry(|| trial.attempt()), reported, [.budget(budget)])
}

fn blocking<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
    judged!(
        trial,
        values,
        Blocking,
        blocking(|| trial.attempt_blocking()),
        reported
    )
}

fn blocking_with<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
    judged!(
        trial,
        values,
        Blocking,
        blocking_with(|attempt| {
            trial.check_attempt(&attempt);
            trial.attempt_blocking()
        }),
        reported
    )
}

fn blocking_not_reported<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
    judged!(
        trial,
        values,
        Blocking,
        blocking(|| trial.attempt_blocking()),
        call
    )
}

fn blocking_own_budget<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
    let budget = trial.call_budget();
    judged!(
        trial,
        values,
        Blocking,
        blocking(|| trial.attempt_blocking()),
        reported,
        [.budget(budget)]
    )
}

fn update_write<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
    judged!(
        trial,
        written,
        Async,
        update(
            async || trial.other_step(Reply(0)),
            |_| true,
            |_| trial.attempt()
        ),
        reported
    )
}

fn update_read<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
    judged!(
        trial,
        read,
        Async,
        update(
            || trial.attempt(),
            |_| true,
            async |reply| trial.other_step(reply)
        ),
        reported
    )
}

fn blocking_update_write<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
    judged!(
        trial,
        written,
        Blocking,
        blocking_update(
            || trial.other_step(Reply(0)),
            |_| true,
            |_| trial.attempt_blocking()
        ),
        reported
    )
}

fn blocking_update_read<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
    judged!(
        trial,
        read,
        Blocking,
        blocking_update(
            || trial.attempt_blocking(),
            |_| true,
            |reply| trial.other_step(reply)
        ),
        reported
    )
}

/// `own_loop!(trial, begin, stop_on(signal), attempt, failed)`.
macro_rules! own_loop {
    ($trial:ident, $begin:ident, $signal:expr, |$resuming:ident| $run:expr) => {{
        let policy = &$trial.policy;
        match ($trial.setting.judge, $trial.setting.signal) {
            (Judge::Codes, None) => own_loop!($trial, policy.$begin(), |$resuming| $run),
            (Judge::Codes, Some(_)) => {
                let signal = $signal;
                own_loop!($trial, policy.$begin().stop_on(signal), |$resuming| $run)
            }
            (Judge::When(judge), None) => {
                own_loop!($trial, policy.when(judge).$begin(), |$resuming| $run)
            }
            (Judge::WhenAny(judge), None) => {
                own_loop!($trial, policy.when_any(judge).$begin(), |$resuming| $run)
            }
            (Judge::When(judge), Some(_)) => {
                let signal = $signal;
                own_loop!(
                    $trial,
                    policy.when(judge).$begin().stop_on(signal),
                    |$resuming| $run
                )
            }
            (Judge::WhenAny(judge), Some(_)) => {
                let signal = $signal;
                own_loop!(
                    $trial,
                    policy.when_any(judge).$begin().stop_on(signal),
                    |$resuming| $run
                )
            }
        }
    }};
    ($trial:ident, $begin:expr, |$resuming:ident| $run:expr) => {{
        let resuming = $begin.runtime($trial.time.clone());
        let mut $resuming = resuming.notify($trial.hook());
        $run
    }};
}

fn resuming<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
    own_loop!(trial, resuming, Box::pin(trial.signal()), |resuming| {
        trial.wait(async {
            loop {
                match trial.attempt().await {
                    Ok(reply) => {
                        resuming.progress();
                        return Ok(reply);
                    }
                    Err(error) => resuming.failed(error).await?,
                }
            }
        })
    })
}

fn blocking_resuming<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
    own_loop!(trial, blocking_resuming, &trial.stop(), |resuming| {
        let result = loop {
            match trial.attempt_blocking() {
                Ok(reply) => {
                    resuming.progress();
                    break Ok(reply);
                }
                Err(error) => {
                    if let Err(error) = resuming.failed_blocking(error) {
                        break Err(error);
                    }
                }
            }
        };
        Some(result.into())
    })
}
