//! A breaker, shared by all callers of the same service: while the service is down, calls end at once.
//!
//! A [`Budget`](crate::Budget) ends the retries of an outage, and each call is still tried once. If the service hangs,
//! each of these attempts keeps its caller waiting until its timeout, and the service gets all of them when it comes
//! back. A [`Breaker`] ends these calls at once. Single attempts ask whether the service is back.

mod machine;
#[cfg_attr(
    not(all(feature = "breaker", feature = "std")),
    path = "without_threads.rs"
)]
mod probes;
#[cfg(feature = "metrics")]
mod shown;

pub(crate) use probes::end_scope;

use crate::{
    facts::fault::{FaultKind, TimedOut},
    name::Name,
    runtime::{Clock, shared_now},
};
use core::{
    fmt,
    sync::atomic::{
        AtomicBool, AtomicU16, AtomicU32,
        Ordering::{AcqRel, Acquire, Relaxed},
    },
    time::Duration,
};
use machine::{BY_HAND, Limits, MOST_ATTEMPTS, State, due};

/// Ends the retries at a service that is down and, if you ask for it, its first attempts too. Declare one `static` for each
/// service (and region), and name it in a policy with [`Policy::breaker`](crate::Policy::breaker).
///
/// The breaker opens when 10 of the last 20 attempts of all its calls failed ([`opens_at`](Self::opens_at)). While the
/// breaker is open, one attempt is made every second as a *probe* ([`probe_every`](Self::probe_every)), if there are calls.
/// The first probe that succeeds closes the breaker for all calls. However a probe ends, or if it hangs or is dropped, the
/// next one goes a second after it began. [`open_for`](Self::open_for) and [`close`](Self::close) open and close the breaker
/// by hand.
///
/// # Begin with retries alone
/// Begin with a breaker that stops retries and no first attempt: a breaker that stops first attempts makes an outage of half
/// of the calls an outage of all. A breaker stops no first attempt if
///
/// - the policy alone names it,
/// - [`Fault::late`](crate::Fault::late) of the error returns `None`, as it does by default in a `Fault` that you write
///   yourself, and in one that you derive for an error without `From<TimedOut>`, and
/// - the call has no `timeout`, no `attempt_timeout` and no `max_queue_time`.
///
/// While the breaker is open, a call makes its first attempt. If this attempt fails, the call ends with its error and
/// [`StopReason::Breaker`](crate::StopReason::Breaker). Such an attempt counts only if it is a probe. A retry whose wait began
/// before the breaker opened is made. The log has a `WARN` once, about the first attempts.
///
/// ```
/// # #[cfg(feature = "breaker")] fn main() {
/// use backoff_core::{Breaker, Fault, Policy, StopReason};
///
/// static DOWN: Breaker = Breaker::new().name("invoices");
/// const POLICY: Policy = Policy::exponential()
/// #   .base(std::time::Duration::ZERO)
///     .breaker(&DOWN);
///
/// #[derive(Debug)]
/// struct Failed;
/// impl Fault for Failed {
///     fn status(&self) -> Option<u16> { Some(503) }
/// }
///
/// let get = || Err::<(), _>(Failed);
/// # #[cfg(feature = "std")] {
/// for _ in 0..2 {
///     POLICY.blocking(get).call().unwrap_err(); // five attempts each
/// }
/// let ended = POLICY.blocking(get).reported().call().unwrap_err();
/// assert_eq!((ended.reason, ended.report.attempts), (StopReason::Breaker, 1));
/// # assert!(DOWN.is_open());
/// # }
/// # }
/// # #[cfg(not(feature = "breaker"))] fn main() {}
/// ```
///
/// A [`Budget`](crate::Budget) ends retries too: see [which of them](https://docs.rs/backoff-cloud/latest/backoff_cloud/guide/budgets_and_outages/#which-of-them).
///
/// # Stop first attempts too
/// This is for a service that hangs, where each attempt costs a caller a long timeout, a thread or a connection. While the
/// breaker is open, a call without an attempt ends with `StopReason::Breaker` and with an error that is made from
/// [`TimedOut`](crate::TimedOut). Its text names the HTTP status of the failure that opened the breaker, if it had one. The error must
/// have `From<TimedOut>`, and where the policy alone names the breaker, `Fault::late` too: the derive and the errors of the
/// supported clients have it. [`.breaker(..)`](crate::Retrying::breaker), the key `breaker`, `timeout`, `attempt_timeout` and
/// `max_queue_time` need `From<TimedOut>` alone.
///
/// ```
/// # #[cfg(feature = "breaker")] fn main() {
/// # use backoff_core::{Breaker, Policy, StopReason, TimedOut};
/// # use std::time::Duration;
/// # static DOWN: Breaker = Breaker::new();
/// # const POLICY: Policy = Policy::exponential().base(Duration::ZERO).breaker(&DOWN);
/// # let get = || Err::<(), _>(TimedOut::new(Duration::from_secs(1)));
/// # #[cfg(feature = "std")] {
/// # for _ in 0..2 {
/// #     POLICY.blocking(get).call().unwrap_err();
/// # }
/// # assert!(DOWN.is_open());
/// let refused = POLICY.blocking(get).breaker(&DOWN).reported().call().unwrap_err();
/// assert_eq!((refused.reason, refused.report.attempts), (StopReason::Breaker, 0));
/// # }
/// # }
/// # #[cfg(not(feature = "breaker"))] fn main() {}
/// ```
///
/// # What counts
///
/// An attempt that began before the breaker opened or closed last says nothing any more: when a service that hung is back,
/// the timeouts of old attempts do not open the breaker again. The failures are forgotten when none comes for a minute. Each
/// opening is one `WARN` in the log, and each closing is one `INFO`. Each call that ends is `DEBUG`, and at most every ten
/// seconds one `WARN` tells how many calls ended.
///
/// | an attempt ends with | the breaker counts |
/// |---|---|
/// | a failure that the call's judge calls [transient](FaultKind::Transient), a timeout, also if the attempt may have been applied and is not repeated | a failure |
/// | a success, a conflict, a value that is not the awaited one yet | a success |
/// | an error that is not retried and has a status below 500, a gRPC code that stands for one, or a code of the service: a 404 | a success: the service has answered |
/// | throttling (a 429), a 499, any other error that is not retried: a 501, a mistake in one's own configuration | nothing |
/// | a retry that the end of the call's `timeout` or deadline cuts, because it had only the rest of the time | nothing |
/// | a signal or a drop of the call | nothing |
///
/// Throttling is the subject of a `Rate`: a service that refuses works, but a refusal is not what the caller wants.
///
/// # Waits, queues and calls inside of calls
///
/// - A call that waits when the breaker opens ends after its wait, if its error can be made. A blocking call, and an async one
///   with `.breaker(..)`, `reported`, `stop_on` or `cut_on`, has its own last error then. An annotated async function without a
///   signal, and an async call whose policy alone names the breaker, end with the error made from `TimedOut`: an error that is
///   kept during the wait makes the future larger, and takes its `Send` if the error is not `Send`.
/// - A call in the queue of a `Rate` asks the breaker when it joins, and again at its turn.
/// - A call inside of a probe that asks the same breaker is part of the probe. It makes one attempt, and is not repeated
///   while the breaker is open. This needs the feature `std`. A spawned task, another thread, a job and a combined change are not
///   inside.
///
/// # What it cannot know
///
/// - A probe that is dropped costs everybody up to a second.
/// - A proxy that answers 404 for a service that is down closes the breaker, until it opens again.
/// - Attempts that hang for longer than the outage end after it, and open the breaker then, for a second.
/// - Callers with short timeouts call a slow service down, and the patient ones are refused too: declare two breakers.
///
/// # Costs
///
/// A success reads no clock and takes no lock, and writes nothing while no attempt has failed lately. All calls of a breaker
/// need the same clock.
///
/// # Loops of other crates
///
/// Attempts of jobs count, and their retries end while the breaker of their policy is open; first
/// attempts are always made. The clients of Google and AWS, [`resuming`](crate::Policy::resuming) and
/// [`RetryState`](crate::RetryState) end their retries too, but their attempts do not count. A loop of your own calls
/// [`admit`](Self::admit) and [`ended`](Self::ended).
pub struct Breaker {
    state: AtomicU32,
    /// While the breaker is open: the pause until the next probe, in milliseconds.
    pause: AtomicU32,
    /// The HTTP status of the failure that opened the breaker last; zero if it had none.
    status: AtomicU16,
    /// How many calls were refused since the log has said so last.
    refused: AtomicU32,
    /// When that was, in milliseconds of the clock.
    said: AtomicU32,
    /// Whether the log has said that first attempts are made while the breaker is open.
    has_warned_unrefused: AtomicBool,
    /// Whether the log has said that a loop does not ask the breaker.
    is_unasked: AtomicBool,
    limits: Limits,
    pub(crate) name: Name,
}

/// An attempt that a [`Breaker`] has admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "tell the breaker how the attempt ends: `ended`"]
pub struct Admitted {
    /// When: an attempt says something only while the breaker has neither opened nor closed since.
    pub(crate) period: u8,
}

impl Default for Breaker {
    fn default() -> Self {
        Self::new()
    }
}

impl Breaker {
    /// A closed breaker, which opens when 10 of the last 20 attempts failed, and makes a probe every second.
    #[must_use]
    pub const fn new() -> Self {
        Breaker {
            state: AtomicU32::new(State::NEW.0),
            pause: AtomicU32::new(1_000),
            status: AtomicU16::new(0),
            refused: AtomicU32::new(0),
            said: AtomicU32::new(0),
            has_warned_unrefused: AtomicBool::new(false),
            is_unasked: AtomicBool::new(false),
            limits: Limits {
                failures: 10,
                attempts: 20,
                pause: 1_000,
                max_pause: 0,
            },
            name: Name::NONE,
        }
    }

    /// The breaker opens when so many of the last attempts failed. By default these are 10 of the last 20.
    ///
    /// More attempts make a mistake rarer: while 20 % of all attempts fail by chance, 10 of 20 fail once in 385 times, and 15
    /// of 24 once in 150,053 times. More than 24 attempts are not remembered one by one: two numbers count the attempts since the
    /// first failure and those that failed, and both are halved when the attempts are `of_the_last`.
    ///
    /// # Panics
    /// Unless `failures` is from 1 to `of_the_last`, and `of_the_last` is at most 4,095. In a constant, the panic is a compile
    /// error.
    ///
    /// ```
    /// # #[cfg(feature = "breaker")] fn main() {
    /// use backoff_core::Breaker;
    ///
    /// static DOWN: Breaker = Breaker::new().opens_at(15, 24);
    /// # }
    /// # #[cfg(not(feature = "breaker"))] fn main() {}
    /// ```
    #[must_use]
    #[track_caller]
    pub const fn opens_at(mut self, failures: u32, of_the_last: u32) -> Self {
        assert!(
            failures >= 1 && failures <= of_the_last && of_the_last <= MOST_ATTEMPTS,
            "a breaker opens at 1 or more failures among at most 4095 attempts: write `opens_at(10, 20)`"
        );
        (self.limits.failures, self.limits.attempts) = (failures, of_the_last);
        self
    }

    /// The time between the beginnings of two probes, and from the opening to the first probe: 1 s by default. Whole
    /// milliseconds.
    ///
    /// # Panics
    /// Unless `pause` is from 10 ms to an hour. In a constant, the panic is a compile error.
    ///
    /// ```
    /// # #[cfg(feature = "breaker")] fn main() {
    /// use backoff_core::Breaker;
    /// use std::time::Duration;
    ///
    /// static DOWN: Breaker = Breaker::new().probe_every(Duration::from_secs(5));
    /// # }
    /// # #[cfg(not(feature = "breaker"))] fn main() {}
    /// ```
    #[must_use]
    #[track_caller]
    pub const fn probe_every(mut self, pause: Duration) -> Self {
        self.limits.pause = checked_pause(pause);
        self.pause = AtomicU32::new(self.limits.pause);
        self
    }

    /// The time between two probes doubles with each probe up to this one: an outage of a day is not 86,400 probes. By default,
    /// the time stays that of [`probe_every`](Self::probe_every), and a shorter one here has no effect. Each opening begins anew.
    ///
    /// # Panics
    /// Unless `max_pause` is from 10 ms to an hour. In a constant, the panic is a compile error.
    ///
    /// ```
    /// # #[cfg(feature = "breaker")] fn main() {
    /// use backoff_core::Breaker;
    /// use std::time::Duration;
    ///
    /// static DOWN: Breaker = Breaker::new().max_pause(Duration::from_secs(60)); // 1, 2, 4, … 32, 60, 60 s
    /// # }
    /// # #[cfg(not(feature = "breaker"))] fn main() {}
    /// ```
    #[must_use]
    #[track_caller]
    pub const fn max_pause(mut self, max_pause: Duration) -> Self {
        self.limits.max_pause = checked_pause(max_pause);
        self
    }

    /// The same breaker with a name, which the log shows.
    ///
    /// ```
    /// # #[cfg(feature = "breaker")] fn main() {
    /// use backoff_core::Breaker;
    ///
    /// static DOWN: Breaker = Breaker::new().name("invoices");
    /// # }
    /// # #[cfg(not(feature = "breaker"))] fn main() {}
    /// ```
    #[must_use]
    pub const fn name(mut self, name: &'static str) -> Self {
        self.name = Name::literal(name);
        self
    }

    /// The same breaker with a name that is made at run time, such as that of a host. A process keeps
    /// 10,000 such names; further ones are `other`.
    ///
    /// ```
    /// # #[cfg(feature = "breaker")] fn main() {
    /// # use backoff_core::Breaker;
    /// let host = String::from("api.example.com");
    /// let breaker = Breaker::new().named(host);
    /// # }
    /// # #[cfg(not(feature = "breaker"))] fn main() {}
    /// ```
    #[cfg(feature = "std")]
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Name::made(name.into());
        self
    }

    /// The name.
    pub(crate) const fn label(&self) -> Option<&'static str> {
        self.name.get()
    }

    /// Whether the breaker is open: only probes are made.
    pub fn is_open(&self) -> bool {
        self.state().is_open()
    }

    /// The time until the next probe may begin: zero if it may begin now, and nothing if the breaker is closed. `clock` is the
    /// runtime of the calls.
    ///
    /// ```
    /// # #[cfg(all(feature = "breaker", feature = "std"))] fn main() {
    /// use backoff_core::{Breaker, Std};
    /// use std::time::Duration;
    ///
    /// static DOWN: Breaker = Breaker::new().name("invoices");
    /// DOWN.open_for(Duration::from_secs(60), &Std);
    /// let next = DOWN.next_probe(&Std).unwrap();
    /// assert!(next > Duration::from_secs(50));
    /// DOWN.close();
    /// assert_eq!(DOWN.next_probe(&Std), None);
    /// # }
    /// # #[cfg(not(all(feature = "breaker", feature = "std")))] fn main() {}
    /// ```
    pub fn next_probe(&self, clock: &impl Clock) -> Option<Duration> {
        let state = State(self.state.load(Acquire));
        state.is_open().then(|| {
            let left = state.left(self.pause.load(Relaxed), millis(shared_now(clock)));
            Duration::from_millis(left.into())
        })
    }

    /// Opens the breaker by hand, such as for the maintenance of the service. The first probe goes after this time; further ones
    /// as after any opening. A time of less than 10 ms counts as 10 ms, and one of more than a day as a day. If the breaker is
    /// open, the time begins anew. `clock` is the runtime of the calls, such as `&Tokio` or `&Std`.
    /// [`next_probe`](Self::next_probe) has an example.
    pub fn open_for(&self, time: Duration, clock: &impl Clock) {
        const DAY: Duration = Duration::from_secs(86_400);
        let time = time.clamp(Duration::from_millis(10), DAY);
        let (pause, now) = (millis(time), millis(shared_now(clock)));
        self.pause.store(BY_HAND | pause, Relaxed);
        let _ = self.change(|state| Some(state.opened(due(now, pause))));
        self.opened(None, now, format_args!("by hand, for {time:?}"));
    }

    /// Closes the breaker by hand: calls are made again. Attempts that began before say nothing any more.
    pub fn close(&self) {
        let closes = |state: State| state.is_open().then(|| state.closed());
        if self.change(closes).is_ok() {
            self.closed("by hand");
        }
    }

    fn state(&self) -> State {
        State(self.state.load(Relaxed))
    }

    /// Whether the breaker is open, and no attempt would be admitted now.
    pub(crate) fn refuses(&self, now: impl Fn() -> Duration) -> bool {
        let state = self.state();
        let left = || state.left(self.pause.load(Relaxed), millis(now()));
        state.is_open() && self.running_probe().is_none() && left() > 0
    }

    /// The error of a call that is refused.
    pub(crate) fn refusal(&self) -> TimedOut {
        TimedOut::by_breaker(self.status.load(Relaxed), self.name.get())
    }

    /// For a loop of your own: asks before an attempt whether it may begin. Nothing means that the breaker is open, and that
    /// the attempt is no probe. Tell [`ended`](Self::ended) how an admitted attempt ends. The clock is read only while the
    /// breaker is open.
    ///
    /// ```
    /// # #[cfg(feature = "breaker")] fn main() {
    /// use backoff_core::{Breaker, FaultKind};
    /// use std::time::Duration;
    ///
    /// static DOWN: Breaker = Breaker::new().opens_at(1, 1);
    /// let now = || Duration::from_secs(7);
    /// let attempt = DOWN.admit(now).unwrap();
    /// DOWN.ended(attempt, Some(FaultKind::Transient), now);
    /// assert_eq!(DOWN.admit(now), None);
    ///
    /// let probe = DOWN.admit(|| Duration::from_secs(8)).unwrap();
    /// DOWN.ended(probe, None, now);
    /// assert!(!DOWN.is_open());
    /// # }
    /// # #[cfg(not(feature = "breaker"))] fn main() {}
    /// ```
    pub fn admit(&self, now: impl Fn() -> Duration) -> Option<Admitted> {
        if self.is_open()
            && let Some(probe) = self.running_probe()
        {
            return Some(probe);
        }
        let asked = self.change(|state| {
            let pause = self.pause.load(Relaxed);
            let then = self.limits.probe(state, pause, || millis(now()))?;
            // Before the state: a probe that is further ahead than the pause counts as due. A pause that another thread has
            // set by hand stays.
            let next = self.limits.next_pause(pause);
            let _ = self.pause.compare_exchange(pause, next, Relaxed, Relaxed);
            Some(then)
        });
        let state = asked.or_else(|state| if state.is_open() { Err(()) } else { Ok(state) });
        let period = state.ok()?.period();
        Some(Admitted { period })
    }

    /// For a loop of your own: an admitted attempt has ended with this failure, or with a success. An attempt that is dropped
    /// has ended with [`FaultKind::Permanent`], which says nothing about the service. The clock is read only after a failure.
    pub fn ended(&self, attempt: Admitted, failure: Option<FaultKind>, now: impl Fn() -> Duration) {
        self.ended_with(attempt, failure, None, now);
    }

    /// As [`ended`](Self::ended), with the HTTP status of the failure.
    pub(crate) fn ended_with(
        &self,
        Admitted { period }: Admitted,
        failure: Option<FaultKind>,
        status: Option<u16>,
        now: impl Fn() -> Duration,
    ) {
        let mut then = State::NEW;
        let before = self.change(|state| {
            let now = || millis(now());
            then = self.limits.ended(state, period, failure, now);
            (then != state).then_some(then)
        });
        match (before.map(State::is_open), then.is_open()) {
            (Ok(false), true) => {
                let Limits {
                    failures, attempts, ..
                } = self.limits;
                let why = format_args!("{failures} of the last {attempts} attempts failed");
                self.opened(status, millis(now()), why);
            }
            (Ok(true), false) => self.closed("a probe succeeded"),
            _ => {}
        }
    }

    /// The breaker has opened.
    #[cold]
    fn opened(&self, status: Option<u16>, now: u32, why: fmt::Arguments<'_>) {
        self.status.store(status.unwrap_or_default(), Relaxed);
        self.said.store(now, Relaxed);
        #[cfg(feature = "metrics")]
        shown::opened(self.name.in_metrics());
        #[cfg(feature = "tracing")]
        tracing::warn!(
            target: "backoff",
            breaker = self.name.get(),
            status,
            "the breaker opens: {why}",
        );
        let _ = why;
    }

    /// The breaker has closed.
    #[cold]
    fn closed(&self, why: &str) {
        self.pause.store(self.limits.pause, Relaxed);
        let refused = self.refused.swap(0, Relaxed);
        #[cfg(feature = "metrics")]
        shown::closed(self.name.in_metrics());
        #[cfg(feature = "tracing")]
        tracing::info!(
            target: "backoff",
            breaker = self.name.get(),
            refused,
            "the breaker closes: {why}",
        );
        let _ = (refused, why);
    }

    /// A call has ended because of the breaker. Each call is logged at `DEBUG`, so this counts the calls for a warning: at
    /// most one every ten seconds. The opening is the first warning, and the closing says the rest.
    #[cold]
    pub(crate) fn ended_a_call(&self, now: Duration) {
        self.refused.fetch_add(1, Relaxed);
        #[cfg(feature = "metrics")]
        shown::refused(self.name.in_metrics());
        let (now, said) = (millis(now), self.said.load(Relaxed));
        let warns = |said| self.said.compare_exchange(said, now, Relaxed, Relaxed);
        if now.wrapping_sub(said) < WARNS_EVERY || warns(said).is_err() {
            return;
        }
        let refused = self.refused.swap(0, Relaxed);
        #[cfg(feature = "tracing")]
        tracing::warn!(
            target: "backoff",
            breaker = self.name.get(),
            refused,
            "the breaker is open, and has refused calls since the last warning",
        );
        let _ = refused;
    }

    /// The breaker is open, and an attempt begins all the same, because no error can be made. The log says so once.
    #[cold]
    pub(crate) fn warn_unrefused(&self) {
        if !self.has_warned_unrefused.swap(true, Relaxed) {
            #[cfg(feature = "tracing")]
            tracing::warn!(target: "backoff", breaker = self.name.get(), "{UNREFUSED}");
        }
    }

    /// A loop does not ask the breaker. Returns whether this is the first one.
    pub(crate) fn is_first_unasked(&self) -> bool {
        !self.is_unasked.swap(true, Relaxed)
    }

    /// Changes the state, if there is another one. Returns the state before.
    fn change(&self, mut to: impl FnMut(State) -> Option<State>) -> Result<State, State> {
        let to = |state| to(State(state)).map(|state| state.0);
        let changed = self.state.fetch_update(AcqRel, Acquire, to);
        changed.map(State).map_err(State)
    }
}

#[cfg(feature = "tracing")]
const UNREFUSED: &str = "a first attempt is made although the breaker is open, because no error can be made: implement \
     `From<TimedOut>` for the error, and derive `Fault` for it or write `Fault::late`; or name the breaker at the call, by \
     `.breaker(&BREAKER)` or the key `breaker`";

/// A pause in milliseconds.
#[track_caller]
const fn checked_pause(pause: Duration) -> u32 {
    assert!(
        pause.as_millis() >= 10 && pause.as_millis() <= 3_600_000,
        "a breaker probes within 10 ms to an hour: write `Duration::from_secs(1)`"
    );
    pause.as_millis() as u32
}

/// The time between two warnings about calls that an open breaker refuses, in milliseconds.
const WARNS_EVERY: u32 = 10_000;

/// The time of the clock in whole milliseconds, which repeat after 49 days.
fn millis(now: Duration) -> u32 {
    now.as_millis() as u32
}

impl fmt::Debug for Breaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Breaker")
            .field("name", &self.name)
            .field("is_open", &self.is_open())
            .field("limits", &self.limits)
            .finish()
    }
}
