//! Simulated time: it passes only when everything waits, to the moment for which somebody waits.

#[cfg(feature = "std")]
use backoff_core::Stop;
use backoff_core::{BlockingSleep, Clock, Random, Sleep};
use std::{
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll, Waker},
    time::Duration,
};

/// A clock, a timer for futures and for threads, and a random source. Clones share everything.
#[derive(Clone, Default)]
pub(crate) struct Time(Arc<Mutex<TimeState>>);

#[derive(Default)]
struct TimeState {
    /// Since the start.
    now: Duration,
    /// What the clock said at the start.
    started: Duration,
    /// When somebody wants to be woken.
    wakes: Vec<Duration>,
    /// Every wait that was begun by the runtime's timers, as it was asked for.
    waits: Vec<Duration>,
    /// The number that is drawn next.
    random: u64,
    /// What is added to the number after each draw.
    step: u64,
    /// How often anything was asked for: the time, a wait, a number.
    asked: u32,
    /// By how much the timers wake too late.
    late: Duration,
    #[cfg(feature = "std")]
    stops: Option<(Duration, Stop)>,
}

impl Time {
    /// With timers that wake too late by this.
    pub(crate) fn late(late: Duration) -> Self {
        let time = Self::default();
        time.state().late = late;
        time
    }

    /// The time until now came before the start.
    pub(crate) fn starts(&self) {
        let mut state = self.state();
        state.started = state.started.saturating_add(state.now);
        state.now = Duration::ZERO;
    }

    /// Draws this number again and again.
    pub(crate) fn drawing(self, random: u64) -> Self {
        self.state().random = random;
        self
    }

    /// Adds this to the number after each draw.
    pub(crate) fn stepping(self, step: u64) -> Self {
        self.state().step = step;
        self
    }

    /// How often anything was asked for: the time, a wait, a number.
    pub(crate) fn asked(&self) -> u32 {
        self.state().asked
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.state().now
    }

    pub(crate) fn waits(&self) -> Vec<Duration> {
        self.state().waits.clone()
    }

    /// A stop that is given at this time.
    #[cfg(feature = "std")]
    pub(crate) fn stops_at(&self, at: Duration) -> Stop {
        let stop = Stop::new();
        self.state().stops = Some((at, stop.clone()));
        self.pass(Duration::ZERO);
        stop
    }

    /// Lets time pass in the middle of something that does not wait.
    pub(crate) fn pass(&self, time: Duration) {
        let mut state = self.state();
        state.now = state.now.saturating_add(time);
        #[cfg(feature = "std")]
        if let Some((at, stop)) = &state.stops
            && *at <= state.now
        {
            stop.stop();
        }
    }

    /// Is ready at this time.
    pub(crate) fn at(&self, at: Duration) -> Moment {
        Moment(self.clone(), at)
    }

    /// Is ready after this time, which counts from now.
    pub(crate) fn after(&self, time: Duration) -> Moment {
        self.at(self.elapsed().saturating_add(time))
    }

    /// Polls the future until it is ready, or until this time has come.
    pub(crate) fn run_until<F: Future>(&self, end: Duration, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        loop {
            let polled = future
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()));
            if let Poll::Ready(output) = polled {
                return Some(output);
            }
            let mut state = self.state();
            let now = state.now;
            state.wakes.retain(|at| *at > now);
            let next = state.wakes.iter().min().copied();
            drop(state);
            match next {
                Some(next) if next <= end => self.pass(next - now),
                None if end == Duration::MAX => panic!("it waits for ever"),
                _ => {
                    self.pass(end - now);
                    return None;
                }
            }
        }
    }

    /// Polls the future until it is ready.
    pub(crate) fn run<F: Future>(&self, future: F) -> F::Output {
        let ended = self.run_until(Duration::MAX, future);
        ended.expect("it ends before the end of time")
    }

    fn state(&self) -> MutexGuard<'_, TimeState> {
        self.0.lock().unwrap()
    }

    fn ask(&self) -> MutexGuard<'_, TimeState> {
        let mut state = self.state();
        state.asked += 1;
        state
    }

    /// Writes a wait down, and says how long it lasts.
    fn begin(&self, wait: Duration) -> Duration {
        let mut state = self.ask();
        state.waits.push(wait);
        wait.saturating_add(state.late)
    }
}

impl Clock for Time {
    fn now(&self) -> Duration {
        let state = self.ask();
        state.started.saturating_add(state.now)
    }
}

impl Sleep for Time {
    type Sleep = Moment;

    fn sleep(&self, wait: Duration) -> Moment {
        self.after(self.begin(wait))
    }
}

impl BlockingSleep for Time {
    fn sleep_blocking(&self, wait: Duration) {
        self.pass(self.begin(wait));
    }

    #[cfg(feature = "std")]
    fn sleep_or_stop(&self, wait: Duration, stop: &Stop) -> bool {
        let (now, at) = {
            let state = self.state();
            (state.now, state.stops.as_ref().map(|(at, _)| *at))
        };
        let until = at.filter(|at| *at <= now.saturating_add(wait));
        let passes = until.map_or(wait, |at| at.saturating_sub(now));
        // It may be another stop than the one that this time gives.
        if until.is_some() {
            self.pass(passes);
        }
        match stop.is_stopped() {
            true => self.state().waits.push(wait),
            false => self.sleep_blocking(wait - until.map_or(Duration::ZERO, |_| passes)),
        }
        stop.is_stopped()
    }
}

impl Random for Time {
    fn random(&self) -> u64 {
        let mut state = self.ask();
        let random = state.random;
        state.random = random.wrapping_add(state.step);
        random
    }
}

/// A moment that somebody waits for.
pub(crate) struct Moment(Time, Duration);

impl Future for Moment {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.state();
        if state.now >= self.1 {
            return Poll::Ready(());
        }
        state.wakes.push(self.1);
        Poll::Pending
    }
}

/// Tokio's clock for blocking calls. While a thread is blocked, a paused clock stands still.
#[cfg(feature = "rate")]
pub(crate) struct Blocked;

#[cfg(feature = "rate")]
impl Clock for Blocked {
    fn now(&self) -> Duration {
        backoff_core::Tokio.now()
    }
}

#[cfg(feature = "rate")]
impl BlockingSleep for Blocked {
    fn sleep_blocking(&self, _: Duration) {}
}

#[cfg(feature = "rate")]
impl Random for Blocked {
    fn random(&self) -> u64 {
        backoff_core::Tokio.random()
    }
}
