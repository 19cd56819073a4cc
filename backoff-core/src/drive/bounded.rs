//! Attempts that are cut.

use super::{
    attempt::{At, Failed, Operation, Reports, Run, failures_inside, reports_inside},
    mark,
    until::Responding,
};
use crate::{
    facts::fault::{Fault, TimedOut},
    judge::Stage,
    report::Measures,
    runtime::{Clock, Random, Sleep},
    state::Overrides,
};
use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use pin_project_lite::pin_project;

/// An operation whose attempts are cut. Made by
/// [`Retrying::attempt_timeout`](super::future::Retrying::attempt_timeout) and
/// [`Retrying::timeout`](super::future::Retrying::timeout).
#[derive(Clone, Copy, Debug)]
pub struct Bounded<O> {
    operation: O,
    /// The limit of one attempt.
    limit: Duration,
    /// The limit of the whole call.
    timeout: Option<Duration>,
}

impl<O> Bounded<O> {
    /// Each attempt is cut after `limit`.
    pub(super) const fn attempts(operation: O, limit: Duration) -> Self {
        Bounded {
            operation,
            limit,
            timeout: None,
        }
    }

    /// The call is over after `timeout`.
    pub(super) const fn whole(operation: O, timeout: Duration) -> Self {
        Bounded {
            operation,
            limit: Duration::MAX,
            timeout: Some(timeout),
        }
    }
}

pin_project! {
    /// One attempt, and the timer that cuts it. The timer is made when the attempt is first found
    /// pending, so that an attempt that is ready at once costs none.
    #[derive(Debug)]
    pub struct Limited<A, S> {
        #[pin]
        state: State<A, S>,
    }
}

pin_project! {
    /// An impossible `limit` marks an attempt that was dropped, so that the mark takes no room.
    #[project = StateProjection]
    #[project_ref = StateRef]
    #[derive(Debug)]
    enum State<A, S> {
        Running {
            #[pin]
            attempt: A,
            #[pin]
            timer: Option<S>,
            limit: Duration,
        },
        Cut,
    }
}

impl<A, S> Limited<A, S> {
    /// An attempt with the time `limit`, or with the rest of the deadline if that is less.
    pub(crate) fn new(attempt: A, limit: Duration) -> Self {
        Limited {
            state: State::Running {
                attempt,
                timer: None,
                limit,
            },
        }
    }

    /// The attempt, unless it was cut.
    fn attempt(self: Pin<&mut Self>) -> Option<Pin<&mut A>> {
        match self.project().state.project() {
            StateProjection::Running { attempt, .. } => Some(attempt),
            StateProjection::Cut => None,
        }
    }

    /// Drops the attempt, because its time is over.
    #[cold]
    #[inline(never)]
    fn cut(self: Pin<&mut Self>) {
        let mut state = self.project().state;
        mark::cutting(|| state.set(State::Cut));
    }

    /// Drives the attempt until it is ready or its time is over. When the time is over, the attempt is
    /// dropped at once, [marked](mark) as cut, and the error carries the stage at which the attempt was.
    ///
    /// When the time is over, the attempt is polled once more, because it may be ready as well. This is not
    /// done during a read, because then a write would begin after its time.
    #[inline]
    pub(crate) fn poll_with<R, T>(
        mut self: Pin<&mut Self>,
        run: &Run<'_, R>,
        cx: &mut Context<'_>,
        stage: impl Fn(Pin<&A>) -> Stage,
        poll: impl FnOnce(Pin<&mut A>, &mut Context<'_>) -> Poll<T>,
    ) -> Poll<Result<T, (TimedOut, Stage)>>
    where
        R: Clock + Sleep<Sleep = S>,
        S: Future<Output = ()>,
    {
        let StateProjection::Running {
            mut attempt,
            mut timer,
            limit,
        } = self.as_mut().project().state.project()
        else {
            return Poll::Ready(Err((TimedOut::new(Duration::ZERO), Stage::Whole)));
        };
        // An attempt that is always busy uses up tokio's budget for one poll of a task, and then no timer is
        // ever ready. So from the second poll on, the timer is polled first.
        let is_over = match timer.as_mut().as_pin_mut() {
            Some(timer) => timer.poll(cx).is_ready(),
            None => false,
        };
        if (!is_over || stage(attempt.as_ref()) != Stage::Read)
            && let Poll::Ready(outcome) = poll(attempt.as_mut(), cx)
        {
            return Poll::Ready(Ok(outcome));
        }
        if !is_over {
            if timer.is_some() {
                return Poll::Pending;
            }
            *limit = (*limit).min(run.remaining());
            if !limit.is_zero() {
                timer.set(Some(run.runtime.sleep(*limit)));
                if let Some(timer) = timer.as_mut().as_pin_mut() {
                    ready!(timer.poll(cx));
                }
            }
        }
        let late = (TimedOut::new(*limit), stage(attempt.as_ref()));
        self.cut();
        Poll::Ready(Err(late))
    }
}

impl<O: Responding> Responding for Bounded<O> {
    type Responses = Bounded<O::Responses>;

    fn responses(self) -> Self::Responses {
        Bounded {
            operation: self.operation.responses(),
            limit: self.limit,
            timeout: self.timeout,
        }
    }
}

reports_inside!(<O> Bounded<O>);

impl<R, O> Operation<R> for Bounded<O>
where
    O: Operation<R>,
    O::Error: From<TimedOut>,
    R: Sleep,
{
    type Value = O::Value;
    type Error = O::Error;
    type Running = Limited<O::Running, R::Sleep>;
    const CUT: bool = true;

    #[inline]
    fn begin(&mut self, run: &Run<'_, R>) -> Self::Running
    where
        R: Clock + Random,
    {
        Limited::new(self.operation.begin(run), self.limit)
    }

    #[inline]
    fn poll(
        &mut self,
        mut running: Pin<&mut Self::Running>,
        run: &Run<'_, R>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<O::Value, Failed<O::Error>>>
    where
        R: Clock,
    {
        // The operation inside knows the time that remains, and cuts the attempt itself, unless this wrapper
        // limits the attempt as well.
        if O::CUT
            && self.limit == Duration::MAX
            && let Some(attempt) = running.as_mut().attempt()
        {
            return self.operation.poll(attempt, run, cx);
        }
        let outcome = ready!(running.poll_with(run, cx, O::stage, |attempt, cx| {
            self.operation.poll(attempt, run, cx)
        }));
        Poll::Ready(
            outcome.unwrap_or_else(|(late, stage)| Err(Failed::at(stage.cut(), late.into()))),
        )
    }

    #[inline]
    fn fault(value: &O::Value) -> Option<&dyn Fault> {
        O::fault(value)
    }

    #[inline]
    fn stage(running: Pin<&Self::Running>) -> Stage {
        match running.project_ref().state.project_ref() {
            StateRef::Running { attempt, .. } => O::stage(attempt),
            StateRef::Cut => Stage::Whole,
        }
    }

    #[inline]
    fn overrides(&self) -> Option<Overrides<'static>> {
        let inner = self.operation.overrides();
        Some(Overrides::cut(self.timeout, inner))
    }

    fn expired() -> Option<O::Error> {
        Some(TimedOut::new(Duration::ZERO).into())
    }

    #[inline]
    fn kept(&mut self) -> Option<O::Error> {
        self.operation.kept()
    }

    failures_inside!();
}
