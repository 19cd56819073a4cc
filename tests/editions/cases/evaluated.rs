//! Each expression of a key is evaluated once for a call, before the first attempt, and its temporaries are dropped there.

use super::keys::{LONG, MILLI, QUICK};
use super::*;
use backoff_core::{Jitter, LogLevel, Tokio};
use std::marker::PhantomData;
use std::ops::Deref;

thread_local! {
    static EVALUATED: Cell<u32> = const { Cell::new(0) };
    static HELD: Cell<u32> = const { Cell::new(0) };
}

/// A value behind a guard. A future that holds the guard over an await is not `Send`.
struct Guarded<T>(T, PhantomData<*const ()>);

/// Counts the evaluations.
fn guarded<T>(value: T) -> Guarded<T> {
    EVALUATED.set(EVALUATED.get() + 1);
    HELD.set(HELD.get() + 1);
    Guarded(value, PhantomData)
}

impl<T> Deref for Guarded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        HELD.set(HELD.get() - 1);
    }
}

/// An attempt, which may need the guard itself.
pub(crate) fn attempted(flaky: &Flaky) -> Result<u32, ApiError> {
    assert_eq!(HELD.get(), 0, "a guard is held during an attempt");
    flaky.call()
}

/// A constant, whose methods and fields are nevertheless evaluated.
struct Limits;

impl Limits {
    fn limit(&self) -> Duration {
        *guarded(LONG)
    }

    fn locked(&self) -> Guarded<Duration> {
        guarded(LONG)
    }
}

/// Each row is evaluated once in each of the five forms.
macro_rules! once {
    ($($keys:tt $($arg:ident: $ty:ty = $value:expr)?;)*) => {$(
        rows! { $keys $($arg: $ty = $value)? => 3; }
        assert_eq!(EVALUATED.take(), 5, "{}", stringify!($keys));
    )*};
}

/// Each row is evaluated once in each of the three forms that await.
macro_rules! once_awaited {
    ($($keys:tt $($arg:ident: $ty:ty = $value:expr)?;)*) => {$(
        async_rows! { $keys $($arg: $ty = $value)? => 3; }
        assert_eq!(EVALUATED.take(), 3, "{}", stringify!($keys));
    )*};
}

#[test]
fn rules_names_and_limits() {
    once! {
        [policy = *guarded(QUICK)];
        [policy = *guarded(QUICK), max_attempts = 3];
        [policy = rules, max_attempts = *guarded(3)] rules: Policy = QUICK;
        [base = *guarded(MILLI)];
        [base = "1ms", throttled_base = *guarded(MILLI)];
        [base = "1ms", factor = *guarded(1.5)];
        [base = "1ms", max_backoff = *guarded(LONG)];
        [base = "1ms", jitter = *guarded(Jitter::Full)];
        [base = "1ms", max_attempts = *guarded(3)];
        [base = "1ms", deadline = *guarded(LONG)];
        [base = "1ms", max_retry_after = *guarded(LONG)];
        [base = "1ms", log_waits = *guarded(LogLevel::Off)];
        [base = "1ms", idempotent = *guarded(true)];
        [base = "1ms", on = [503], retry_conflicts = *guarded(true)];
        [base = "1ms", operation = *guarded("a.name")];
        [policy = QUICK, operation = *guarded("a.name")];
        [policy = rules, operation = *guarded("a.name")] rules: Policy = QUICK;
    }
    once_awaited! {
        [base = "1ms", timeout = *guarded(LONG)];
        [policy = QUICK, timeout = *guarded(LONG), attempt_timeout = LONG];
        [policy = rules, timeout = *guarded(LONG)] rules: Policy = QUICK;
        [policy = &rules, timeout = *guarded(LONG)] rules: Policy = QUICK;
        [policy = *rules, timeout = *guarded(LONG)] rules: &'static Policy = &QUICK;
        [base = "1ms", attempt_timeout = *guarded(LONG)];
        [base = "1ms", attempt_timeout = Limits.limit()];
        [base = "1ms", timeout = Limits.locked().0];
        [policy = QUICK, attempt_timeout = *guarded(LONG), timeout = LONG];
        [policy = rules, attempt_timeout = *guarded(LONG)] rules: Policy = QUICK;
    }
}

fn busy() -> impl Fn(&Error) -> bool + Clone + Send + Sync {
    guarded(());
    |error| *error == BUSY
}

/// Answers yes from the second question on.
fn second() -> impl FnMut(&u32) -> bool + Send {
    guarded(());
    let mut asked = 0;
    move |_| {
        asked += 1;
        asked > 1
    }
}

fn heard() -> impl FnMut(&Event<'_, Error>) + Send {
    guarded(());
    |_| {}
}

fn timer() -> impl Fn(Duration) -> std::future::Ready<()> + Send + Sync {
    guarded(());
    |_| std::future::ready(())
}

fn never() -> std::future::Pending<()> {
    guarded(());
    std::future::pending()
}

/// A function, a timer and a signal that a call makes are kept.
#[test]
fn functions_timers_and_signals() {
    once! {
        [base = "1ms", when = busy()];
        [base = "1ms", when = { busy() }];
        [base = "1ms", until = |_| true, consecutive = *guarded(1)];
        [base = "1ms", notify = heard()];
        [policy = rules, when = busy()] rules: Policy = QUICK;
    }
    rows! { [base = "1ms", until = second()] => 4; }
    assert_eq!(EVALUATED.take(), 5);
    once_awaited! {
        [base = "1ms", sleep = timer()];
        [base = "1ms", runtime = *guarded(Tokio)];
        [base = "1ms", stop_on = never()];
        [base = "1ms", cut_on = never()];
        [policy = QUICK, stop_on = never()];
        [policy = QUICK, cut_on = never()];
        [policy = QUICK, cut_on = never(), timeout = LONG];
        [policy = QUICK, cut_on = never(), attempt_spans];
    }
}

/// A time that is known only at the call takes its eight bytes, and a reference to it during an attempt.
#[test]
fn the_room_of_a_time() {
    fn limit() -> Duration {
        LONG
    }
    #[retry(policy = *rules, timeout = LONG)]
    async fn constant(rules: &Policy) -> Result<(), Error> {
        std::future::ready(Ok(())).await
    }
    #[retry(policy = *rules, timeout = limit(), attempt_timeout = limit())]
    async fn at_the_call(rules: &Policy) -> Result<(), Error> {
        std::future::ready(Ok(())).await
    }
    let constant = size_of_val(&constant(&QUICK));
    assert_eq!(size_of_val(&at_the_call(&QUICK)), constant + 24);
}
