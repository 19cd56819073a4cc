//! Settings mean the same in any order. Of a setting that is given twice, the stricter or the later one holds.

use crate::common::{
    error::TestError,
    forms::{Reply, SECOND},
    time::Time,
};
use backoff_core::{Budget, Event, Policy, Updated};
use std::{cell::Cell, cell::RefCell, time::Duration};

const POLICY: Policy = Policy::exponential().max_attempts(9);

/// Replies and errors in turn; each attempt takes a second.
struct Script(Cell<usize>, Time);

impl Script {
    fn next(&self) -> Result<Reply, TestError> {
        let steps = [
            Err(503),
            Ok(202),
            Ok(503),
            Ok(409),
            Err(429),
            Ok(202),
            Ok(200),
        ];
        let at = self.0.replace(self.0.get() + 1);
        steps[at.min(6)].map(Reply).map_err(TestError::status)
    }

    async fn attempt(&self) -> Result<Reply, TestError> {
        self.1.after(SECOND).await;
        self.next()
    }
}

/// What is seen of a call: its outcome with the report, its events, and its waits.
type Seen = (String, Vec<String>, Vec<Duration>);

macro_rules! seen {
    ($kind:ident: $($settings:tt)*) => {{
        let (time, events) = (Time::default(), RefCell::new(Vec::new()));
        let script = Script(Cell::new(0), time.clone());
        let hook = |event: &Event<'_, TestError>| events.borrow_mut().push(format!("{event:?}"));
        let call = begin!($kind, script) $($settings)*;
        let call = call.runtime(time.clone()).notify(hook).reported();
        let ended = end!($kind, time, call);
        let seen: Seen = (format!("{ended:?}"), events.take(), time.waits());
        seen
    }};
}

macro_rules! begin {
    (retry, $script:ident) => {
        POLICY.retry(|| $script.attempt())
    };
    (blocking, $script:ident) => {
        POLICY.blocking(|| $script.next())
    };
    (update, $script:ident) => {
        POLICY.update(async || Ok(1), |_| true, async |_| $script.attempt().await)
    };
    (blocking_update, $script:ident) => {
        POLICY.blocking_update(|| Ok(1), |_| true, |_| $script.next())
    };
}

macro_rules! end {
    (retry, $time:ident, $call:ident) => {
        $time.run($call)
    };
    (update, $time:ident, $call:ident) => {
        $time.run($call)
    };
    ($kind:ident, $time:ident, $call:ident) => {
        $call.call()
    };
}

macro_rules! in_any_order {
    ($($kind:ident: [$($one:tt)*] [$($other:tt)*];)*) => {
        $(assert_eq!(
            seen!($kind: $($one)* $($other)*),
            seen!($kind: $($other)* $($one)*),
            "{}: {} {}", stringify!($kind), stringify!($($one)*), stringify!($($other)*),
        );)*
    };
}

macro_rules! alike {
    ($($kind:ident: [$($twice:tt)*] as [$($once:tt)*];)*) => {
        $(assert_eq!(
            seen!($kind: $($twice)*),
            seen!($kind: $($once)*),
            "{}: {}", stringify!($kind), stringify!($($twice)*),
        );)*
    };
}

/// A budget for one call, with this reserve.
fn budget(reserve: u32) -> &'static Budget {
    Box::leak(Box::new(Budget::ratio(0.1, reserve)))
}

fn is_awaited(reply: &Reply) -> bool {
    reply.0 == 200
}

fn is_written(updated: &Updated<u32, Reply>) -> bool {
    matches!(updated, Updated::Written(reply) if is_awaited(reply))
}

fn is_conflict(reply: &Reply) -> bool {
    reply.0 == 409
}

#[test]
fn two_settings_in_any_order() {
    let waits = [SECOND, 5 * SECOND];
    let (few, many) = (4 * SECOND, 600 * SECOND);
    in_any_order! {
        retry: [.until(is_awaited)] [.responses()];
        retry: [.until(is_awaited).consecutive(2)] [.responses()];
        retry: [.until(is_awaited)] [.timeout(few)];
        retry: [.until(is_awaited).consecutive(2)] [.attempt_timeout(SECOND / 2)];
        retry: [.until(is_awaited).consecutive(2)] [.attempt_timeout(few)];
        retry: [.until(is_awaited)] [.delays(waits)];
        retry: [.responses()] [.delays(waits)];
        retry: [.responses()] [.timeout(few)];
        retry: [.timeout(many)] [.attempt_timeout(SECOND / 2)];
        retry: [.timeout(few)] [.delays(waits)];
        retry: [.timeout(few)] [.owned()];
        retry: [.attempt_timeout(few)] [.budget(budget(1))];
        retry: [.budget(budget(1))] [.owned()];
        retry: [.budget(budget(1))] [.operation("named")];
        retry: [.operation("named")] [.owned()];
        blocking: [.until(is_awaited)] [.responses()];
        blocking: [.until(is_awaited)] [.delays(waits)];
        blocking: [.responses()] [.budget(budget(1))];
        blocking: [.operation("named")] [.budget(budget(1))];
        update: [.until(is_written)] [.conflict_if(is_conflict)];
        update: [.until(is_written).consecutive(2)] [.conflict_if(is_conflict)];
        update: [.conflict_if(is_conflict)] [.timeout(few)];
        update: [.conflict_if(is_conflict)] [.attempt_timeout(SECOND / 2)];
        update: [.conflict_if(is_conflict)] [.delays(waits)];
        blocking_update: [.until(is_written)] [.conflict_if(is_conflict)];
    }
    #[cfg(feature = "rate")]
    {
        let rate = || &*Box::leak(Box::new(backoff_core::Rate::new()));
        in_any_order! {
            retry: [.max_queue_time(few)] [.timeout(many)];
            retry: [.max_queue_time(few)] [.rate(rate())];
            blocking: [.max_queue_time(few)] [.rate(rate())];
        }
    }
}

#[test]
fn a_setting_that_is_given_twice() {
    let (few, many) = (4 * SECOND, 600 * SECOND);
    alike! {
        // The shorter limit holds.
        retry: [.timeout(few).timeout(many)] as [.timeout(few)];
        retry: [.timeout(many).timeout(few)] as [.timeout(few)];
        retry: [.attempt_timeout(SECOND / 2).attempt_timeout(many)] as [.attempt_timeout(SECOND / 2)];
        retry: [.attempt_timeout(many).attempt_timeout(SECOND / 2)] as [.attempt_timeout(SECOND / 2)];
        // The later one holds.
        retry: [.operation("first").operation("second")] as [.operation("second")];
        retry: [.budget(budget(50)).budget(budget(1))] as [.budget(budget(1))];
        retry: [.budget(budget(1)).budget(budget(50))] as [.budget(budget(50))];
        retry: [.delays([SECOND]).delays([few, few])] as [.delays([few, few])];
        blocking: [.operation("first").operation("second")] as [.operation("second")];
        blocking: [.budget(budget(50)).budget(budget(1))] as [.budget(budget(1))];
        blocking: [.delays([SECOND]).delays([few, few])] as [.delays([few, few])];
        // Both hold.
        retry: [.until(is_awaited).until(is_awaited)] as [.until(is_awaited)];
        retry: [.responses().responses()] as [.responses()];
        blocking: [.responses().responses()] as [.responses()];
        update: [.conflict_if(is_conflict).conflict_if(|_| false)] as [.conflict_if(is_conflict)];
        update: [.conflict_if(|_| false).conflict_if(is_conflict)] as [.conflict_if(is_conflict)];
    }
}
