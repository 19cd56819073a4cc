//! What a `Reconnect` knows: its connection, the openings so far, and what the next caller does.

use crate::{
    facts::not_opened::NotOpened,
    policy::Policy,
    runtime::{Random, Tokio, shared_now},
};
use core::time::Duration;

/// How long callers wait for an opening before one of them begins another opening, and how long a
/// connection lives until it counts as one that works. We chose the value: in both cases a server gets no
/// more than one opening a second.
pub(super) const SECOND: Duration = Duration::from_secs(1);

pub(super) struct Current<C, OpenError> {
    pub(super) connection: Option<Connection<C>>,
    /// The number of connections opened so far.
    pub(super) opened: u64,
    /// The number of failed openings.
    pub(super) failed: u64,
    /// The number of openings begun so far, which is also the number of the newest opening.
    pub(super) begun: u64,
    /// The number of the last opening that began before the last reset.
    outdated: u64,
    /// When the newest opening began, if it is running.
    opening: Option<Duration>,
    /// The last opening that ended.
    last: Option<Ended<OpenError>>,
}

#[derive(Clone)]
pub(super) struct Connection<C> {
    /// The number of its opening.
    pub(super) number: u64,
    pub(super) connection: C,
}

/// An opening that has ended.
struct Ended<OpenError> {
    /// Why the opening failed.
    error: Option<OpenError>,
    at: Duration,
    /// The length of the pause after the opening.
    pause: Duration,
    /// The number of openings in a row, this one included, that led to no connection that works.
    useless: u32,
    /// The number of failed openings when this one ended.
    failed: u64,
}

impl<OpenError> Ended<OpenError> {
    /// Whether it ended at least this long ago.
    fn is_older(&self, age: Duration) -> bool {
        rest(self.at, age).is_none()
    }

    /// The connection works: there is no pause after it, and the pauses begin anew.
    fn works(&mut self) {
        (self.pause, self.useless) = (Duration::ZERO, 0);
    }
}

/// What a caller does who finds no connection.
pub(super) enum Look<C, OpenError> {
    Decided(Result<Connection<C>, NotOpened<OpenError>>),
    /// Waits for a change, and at most this time.
    Wait(Duration),
    /// Begins the opening with this number.
    Open(u64),
}

/// The time now. It is compared only with earlier times of the same `Reconnect`.
fn now() -> Duration {
    shared_now(&Tokio)
}

/// The rest of a time that began then, if the time is not over.
fn rest(began: Duration, time: Duration) -> Option<Duration> {
    let rest = time.checked_sub(now().checked_sub(began)?);
    rest.filter(|rest| !rest.is_zero())
}

impl<C, OpenError> Current<C, OpenError> {
    pub(super) const fn new() -> Self {
        Current {
            connection: None,
            opened: 0,
            failed: 0,
            begun: 0,
            outdated: 0,
            opening: None,
            last: None,
        }
    }

    /// As [`new`](Self::new), but the numbers go on. Returns what is to be dropped outside the lock.
    pub(super) fn reset(&mut self) -> impl Sized + use<C, OpenError> {
        self.outdated = self.begun;
        self.opening = None;
        (self.connection.take(), self.last.take())
    }

    /// The server has answered a call on the connection with this number. `false` if it has been replaced.
    pub(super) fn answered(&mut self, number: u64) -> bool {
        let is_current = self
            .connection
            .as_ref()
            .is_some_and(|it| it.number == number);
        // A policy without pauses has none here either.
        let has_pause = |last: &&mut Ended<_>| is_current && !last.pause.is_zero();
        if let Some(last) = self.last.as_mut().filter(has_pause) {
            last.pause = SECOND;
        }
        is_current
    }

    /// Takes the connection with this number, if it has not been replaced and was opened at least this
    /// long ago. `is_answer`: the server itself asks for another connection, so this one works.
    pub(super) fn lost(
        &mut self,
        number: u64,
        least_age: Duration,
        is_answer: bool,
    ) -> Option<Connection<C>> {
        let last = self.last.as_mut()?;
        let is_lost = |it: &mut Connection<C>| it.number == number && last.is_older(least_age);
        let lost = self.connection.take_if(is_lost)?;
        if is_answer || last.is_older(SECOND) {
            last.works();
        }
        Some(lost)
    }

    /// The opening with this number ended or was dropped.
    pub(super) fn stopped(&mut self, number: u64) {
        if self.begun == number {
            self.opening = None;
        }
    }
}

impl<C: Clone, OpenError: Clone> Current<C, OpenError> {
    /// What a caller does who came when the number of failures was `failed_before`.
    pub(super) fn look(&mut self, failed_before: u64) -> Look<C, OpenError> {
        if let Some(connection) = &self.connection {
            return Look::Decided(Ok(connection.clone()));
        }
        if let Some(last) = &self.last {
            let pause = rest(last.at, last.pause);
            match (&last.error, pause) {
                (Some(error), _) if pause.is_some() || last.failed > failed_before => {
                    let error = error.clone();
                    return Look::Decided(Err(NotOpened { error, pause }));
                }
                (None, Some(pause)) => return Look::Wait(pause),
                _ => {}
            }
        }
        if let Some(time) = self.opening.and_then(|began| rest(began, SECOND)) {
            return Look::Wait(time);
        }
        self.begun += 1;
        self.opening = Some(now());
        Look::Open(self.begun)
    }

    /// The opening with this number has ended. Its result is for all callers, unless it began before a
    /// reset or another opening was faster.
    pub(super) fn ended(
        &mut self,
        number: u64,
        result: Result<C, OpenError>,
        pauses: &Policy,
    ) -> Result<Connection<C>, NotOpened<OpenError>> {
        let result = result.map(|connection| Connection { number, connection });
        match &result {
            Ok(_) => self.opened += 1,
            Err(_) => self.failed += 1,
        }
        let mut pause = None;
        if number > self.outdated && self.connection.is_none() {
            let (useless, previous) =
                (self.last.as_ref()).map_or((0, Duration::ZERO), |last| (last.useless, last.pause));
            let length = pauses.backoff(useless, previous, Tokio.random());
            pause = Some(length).filter(|length| !length.is_zero());
            self.connection = result.as_ref().ok().cloned();
            self.last = Some(Ended {
                error: result.as_ref().err().cloned(),
                at: now(),
                pause: length,
                useless: useless.saturating_add(1),
                failed: self.failed,
            });
        }
        result.map_err(|error| NotOpened { error, pause })
    }
}
