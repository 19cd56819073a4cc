//! The rate and the breaker before an attempt: no attempt begins before its turn, or while the breaker is open.

use super::{call_state::CallState, plan::CallPlan};
use crate::{
    facts::fault::TimedOut,
    policy::Policy,
    rate::{QueueEnd, Queued, Rate, wait_blocking},
    runtime::{BlockingSleep, Clock, Sleep, left_out, shared_now},
    state::Rules,
};
use core::{
    future::poll_fn,
    task::{Context, Poll, ready},
    time::Duration,
};

impl CallState {
    /// An attempt is about to begin, unless its breaker is open. If the rate delays calls, returns it, how long the call may
    /// wait, and whether an error is made then: the call waits for `max_queue_time`, and not beyond the deadline. Without
    /// `max_queue_time`, the attempt begins at the deadline. Where no call is delayed, the attempt begins now, and no clock
    /// is read for the rate.
    #[inline(always)]
    fn turn_at_rate<'p, C: Clock>(
        &mut self,
        plan: &'p dyn CallPlan,
        rules: &Rules<'_>,
        clock: &C,
    ) -> Result<Option<(&'p Rate, (Duration, bool))>, TimedOut> {
        let (shared, expires) = (plan.shared(), rules.max_queue_time.is_some());
        let Some(rate) = shared.rate.filter(|rate| !rate.is_off()) else {
            let epoch = shared.rate.map(Rate::begins);
            self.begin_unless_refused(plan, expires, epoch, clock)?;
            return Ok(None);
        };
        if let Some(breaker) = shared.breaker
            && expires
            && breaker.refuses(|| shared_now(clock))
        {
            return Err(breaker.refusal());
        }
        let limit = self.remaining(rules, clock);
        let limit = limit.min(rules.max_queue_time.unwrap_or(Duration::MAX));
        Ok(Some((rate, (limit, expires))))
    }

    /// The attempt asks its breaker, and begins. Where no error can be made, the attempt begins all the same. The rate
    /// counts the attempt if there is a number.
    pub(crate) fn begin_unless_refused<C: Clock>(
        &mut self,
        plan: &dyn CallPlan,
        expires: bool,
        epoch: Option<u16>,
        clock: &C,
    ) -> Result<(), TimedOut> {
        // If the call ends here, the number is given back.
        self.retry.set_epoch(epoch);
        if let Some(breaker) = plan.shared().breaker {
            let admitted = breaker.admit(|| shared_now(clock));
            match admitted {
                None if expires => return Err(breaker.refusal()),
                None => breaker.warn_unrefused(),
                Some(_) => {}
            }
            self.retry.set_period(admitted.map_or(0, |it| it.period));
        }
        self.begins(clock);
        Ok(())
    }

    /// An attempt is about to begin. Returns the call's place in the queue of its rate, if it has to wait.
    #[cold]
    #[inline(never)]
    pub(crate) fn begin_or_queue<R: Clock + Sleep>(
        &mut self,
        plan: &dyn CallPlan,
        rules: &Rules<'_>,
        runtime: &R,
    ) -> Result<Option<Queued<R::Sleep>>, TimedOut> {
        let Some((rate, limit)) = self.turn_at_rate(plan, rules, runtime)? else {
            return Ok(None);
        };
        match Queued::enter(rate, shared_now(runtime), limit, rules.shared.tokens) {
            Ok(epoch) => {
                self.begin_unless_refused(plan, limit.1, Some(epoch), runtime)?;
                Ok(None)
            }
            Err(queued) => Ok(Some(queued)),
        }
    }

    /// Waits in the queue. Then the attempt begins, or the call is refused, or its time is over. `expires` says that an
    /// error can be made.
    #[cold]
    #[inline(never)]
    pub(crate) fn poll_turn<R: Clock + Sleep>(
        &mut self,
        (plan, expires): (&dyn CallPlan, bool),
        queued: &mut Queued<R::Sleep>,
        runtime: &R,
        cx: &mut Context<'_>,
    ) -> Poll<Option<TimedOut>> {
        let before = left_out();
        let turn = queued.poll(runtime, cx);
        self.retry.skip(left_out() - before);
        let begins = |epoch| self.begin_unless_refused(plan, expires, epoch, runtime);
        Poll::Ready(ready!(turn).and_then(begins).err())
    }

    /// Waits for the turn of an attempt, for a loop that can make no error: no breaker refuses the attempt.
    pub(crate) async fn wait_for_turn<R: Clock + Sleep>(&mut self, policy: &Policy, runtime: &R) {
        if !policy.shared().needs_admission() {
            return;
        }
        let queued = self.begin_or_queue(policy, &Rules::of(policy), runtime);
        if let Ok(Some(mut queued)) = queued {
            poll_fn(|cx| self.poll_turn((policy, false), &mut queued, runtime, cx)).await;
        }
    }

    /// Waits on this thread until an attempt may begin, or until `stopped` says so.
    #[cold]
    #[inline(never)]
    pub(crate) fn begin_blocking<R: Clock + BlockingSleep>(
        &mut self,
        plan: &dyn CallPlan,
        rules: &Rules<'_>,
        stopped: &dyn Fn() -> bool,
        runtime: &R,
    ) -> Result<(), QueueEnd> {
        let turn = self
            .turn_at_rate(plan, rules, runtime)
            .map_err(QueueEnd::Over)?;
        let Some((rate, limit)) = turn else {
            return Ok(());
        };
        let before = left_out();
        let turn = wait_blocking(rate, runtime, limit, rules.shared.tokens, stopped);
        self.retry.skip(left_out() - before);
        self.begin_unless_refused(plan, limit.1, turn?, runtime)
            .map_err(QueueEnd::Over)
    }
}
