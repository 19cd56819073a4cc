//! The forms of the builder: calls and updates, async and blocking, and the caller's own loop.
//!
//! Settings change the type of a call, so that each macro here has a branch for each type.

use super::{Ended, Form, Judge, Kind, Own, Reply, Rule, Signal, Trial, trial::Awaited};
use std::time::Duration;

/// Without the feature, a call in spans is one without.
#[cfg(not(feature = "tracing"))]
trait WithoutSpans: Sized {
    fn attempt_spans(self) -> Self {
        self
    }
}
#[cfg(not(feature = "tracing"))]
impl<T> WithoutSpans for T {}

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
    ($trial:ident, Blocking, $call:expr, reported) => {
        run!($trial, Blocking, $call, reported call)
    };
    ($trial:ident, Blocking, $call:expr, $($end:ident)+) => {
        Some(
            $call
                .runtime($trial.time.clone())
                .notify($trial.hook())
                $(.$end())+
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

macro_rules! max_queue_time {
    ($trial:ident, $loop:ident, $call:expr, $end:ident) => {{
        #[cfg(not(feature = "rate"))]
        {
            signals!($trial, $loop, $call, $end)
        }
        #[cfg(feature = "rate")]
        match $trial.setting.max_queue_time {
            None => signals!($trial, $loop, $call, $end),
            Some(limit) => signals!($trial, $loop, $call.max_queue_time(limit), $end),
        }
    }};
}

macro_rules! limits {
    ($trial:ident, Async, $call:expr, $end:ident) => {
        match ($trial.setting.timeout, $trial.setting.attempt_timeout) {
            (None, None) => max_queue_time!($trial, Async, $call, $end),
            (Some(whole), each) => {
                let each = each.unwrap_or(Duration::MAX);
                signals!(
                    $trial,
                    Async,
                    $call.timeout(whole).attempt_timeout(each),
                    $end
                )
            }
            (None, Some(each)) => signals!($trial, Async, $call.attempt_timeout(each), $end),
        }
    };
    ($trial:ident, Blocking, $call:expr, $end:ident) => {
        max_queue_time!($trial, Blocking, $call, $end)
    };
}

macro_rules! rules {
    (values: $trial:ident, $loop:ident, $call:expr, $end:ident) => {
        match $trial.setting.rule {
            Rule::Responses => limits!($trial, $loop, $call.responses(), $end),
            Rule::ConflictIf => unreachable!("refused"),
            _ => rules!(awaited: $trial, $loop, $call, $end),
        }
    };
    (written: $trial:ident, $loop:ident, $call:expr, $end:ident) => {
        match $trial.setting.rule {
            Rule::ConflictIf => {
                let call = $call.conflict_if(|reply: &Reply| *reply == Reply(409));
                limits!($trial, $loop, call, $end)
            }
            Rule::Responses => unreachable!("refused"),
            _ => rules!(awaited: $trial, $loop, $call, $end),
        }
    };
    (awaited: $trial:ident, $loop:ident, $call:expr, $end:ident) => {
        match $trial.setting.rule {
            Rule::Until(values) => {
                let call = $call.until(|value| value.is_awaited()).consecutive(values);
                limits!($trial, $loop, call, $end)
            }
            _ => limits!($trial, $loop, $call, $end),
        }
    };
    (read: $trial:ident, $loop:ident, $call:expr, $end:ident) => {
        limits!($trial, $loop, $call, $end)
    };
}

/// The forms: the rules about values that one can have, how it waits, the call, what is written before its
/// settings, and how it ends.
macro_rules! forms {
    ($trial:ident => $($(#[$on:meta])? $form:ident $(($own:ident))? = $name:literal, $kind:ident:
        $rules:ident, $loop:ident, $method:ident $arguments:tt [$($more:tt)*] $end:ident;)*) => {
        pub(super) const FORMS: &[Form] = &[
            $($(#[$on])? Form::new($name, Kind::$kind, $form)$(.with_own(Own::$own))?,)*
            Form::new("resuming", Kind::Resuming, resuming),
            Form::new("resuming, blocking", Kind::BlockingResuming, blocking_resuming),
        ];

        $($(#[$on])? fn $form<'t>($trial: &'t Trial<'t>) -> Option<Ended> {
            let policy = &$trial.policy;
            match $trial.setting.judge {
                Judge::Codes => {
                    rules!($rules: $trial, $loop, policy.$method $arguments $($more)*, $end)
                }
                Judge::When(judge) => {
                    let judged = policy.when(judge);
                    limits!($trial, $loop, judged.$method $arguments $($more)*, $end)
                }
                Judge::WhenAny(judge) => {
                    let judged = policy.when_any(judge);
                    limits!($trial, $loop, judged.$method $arguments $($more)*, $end)
                }
            }
        })*
    };
}

forms! {
    trial =>
    retry = "retry", Async:
        values, Async, retry(|| trial.attempt()) [] reported;
    retry_with = "retry_with, in spans", Async:
        values, Async, retry_with(|attempt| {
            trial.check_attempt(&attempt);
            trial.attempt()
        }) [.attempt_spans()] reported;
    owned = "retry, owned", Async:
        values, Async, retry(|| trial.attempt()) [.owned()] reported;
    not_reported = "retry, not reported", Async:
        values, Async, retry(|| trial.attempt()) [] into_future;
    own_budget(Budget) = "retry, budget of the call", Async:
        values, Async, retry(|| trial.attempt()) [.budget(trial.budget.unwrap())] reported;
    hedged(Hedge) = "retry, hedged", Async:
        values, Async, retry(|| trial.attempt()) [.hedge(trial.hedge)] reported;
    hedged_in_spans(Hedge) = "retry_with, hedged, in spans", Async:
        values, Async, retry_with(|_| trial.attempt()) [.hedge(trial.hedge).attempt_spans()] reported;
    blocking = "blocking", Blocking:
        values, Blocking, blocking(|| trial.attempt_blocking()) [] reported;
    blocking_with = "blocking_with, in spans", Blocking:
        values, Blocking, blocking_with(|attempt| {
            trial.check_attempt(&attempt);
            trial.attempt_blocking()
        }) [.attempt_spans()] reported;
    blocking_not_reported = "blocking, not reported", Blocking:
        values, Blocking, blocking(|| trial.attempt_blocking()) [] call;
    blocking_own_budget(Budget) = "blocking, budget of the call", Blocking:
        values, Blocking, blocking(|| trial.attempt_blocking()) [.budget(trial.budget.unwrap())] reported;
    #[cfg(feature = "rate")]
    own_rate(Rate) = "retry, rate of the call", Async:
        values, Async, retry(|| trial.attempt()) [.rate(trial.rate.unwrap())] reported;
    #[cfg(feature = "rate")]
    blocking_own_rate(Rate) = "blocking, rate of the call", Blocking:
        values, Blocking, blocking(|| trial.attempt_blocking()) [.rate(trial.rate.unwrap())] reported;
    #[cfg(feature = "breaker")]
    own_breaker(Breaker) = "retry, breaker of the call", Async:
        values, Async, retry(|| trial.attempt()) [.breaker(trial.breaker.unwrap())] reported;
    #[cfg(feature = "breaker")]
    blocking_own_breaker(Breaker) = "blocking, breaker of the call", Blocking:
        values, Blocking, blocking(|| trial.attempt_blocking()) [.breaker(trial.breaker.unwrap())] reported;
    update_write = "update, in its write", UpdateWrite:
        written, Async, update(
            async || trial.other_step(Reply(0)),
            |_| true,
            |_| trial.attempt()
        ) [] reported;
    update_read = "update, in its read, in spans", UpdateRead:
        read, Async, update(
            || trial.attempt(),
            |_| true,
            async |reply| trial.other_step(reply)
        ) [.attempt_spans()] reported;
    blocking_update_write = "blocking update, in its write", BlockingUpdateWrite:
        written, Blocking, blocking_update(
            || trial.other_step(Reply(0)),
            |_| true,
            |_| trial.attempt_blocking()
        ) [] reported;
    blocking_update_read = "blocking update, in its read, in spans", BlockingUpdateRead:
        read, Blocking, blocking_update(
            || trial.attempt_blocking(),
            |_| true,
            |reply| trial.other_step(reply)
        ) [.attempt_spans()] reported;
}

/// The caller's own loop, with each judge, with and without a signal.
macro_rules! own_loop {
    ($trial:ident, $begin:ident, $signal:expr, |$resuming:ident| $run:expr) => {{
        let policy = &$trial.policy;
        match $trial.setting.judge {
            Judge::Codes => own_loop!($trial, policy, $begin, $signal, |$resuming| $run),
            Judge::When(judge) => {
                own_loop!($trial, policy.when(judge), $begin, $signal, |$resuming| {
                    $run
                })
            }
            Judge::WhenAny(judge) => {
                own_loop!(
                    $trial,
                    policy.when_any(judge),
                    $begin,
                    $signal,
                    |$resuming| $run
                )
            }
        }
    }};
    ($trial:ident, $judged:expr, $begin:ident, $signal:expr, |$resuming:ident| $run:expr) => {{
        let resuming = $judged.$begin().runtime($trial.time.clone());
        if $trial.setting.signal.is_some() {
            let signal = $signal;
            let mut $resuming = resuming.stop_on(signal).notify($trial.hook());
            $run
        } else {
            let mut $resuming = resuming.notify($trial.hook());
            $run
        }
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
