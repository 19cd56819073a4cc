//! The state of the emulator, and the effect of a call on it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use backoff_core::GrpcCode;
use serde_json::{Value, json};

use super::demand::{Action, Demand};
use super::fault::{Answering, Director};
use super::iam::action::Action as PolicyAction;
use super::iam::store::{Policies, Seen};
use super::instances::action::Action as InstanceAction;
use super::instances::store::{Done, Instances};
use super::refusal::Refusal;
use super::reply::{Mishap, Reply};
use super::stats::{Ledger, Stats};

/// The state that the handle and the request handlers share.
#[derive(Debug)]
pub(super) struct World {
    state: Mutex<Inner>,
    pub(super) latency: Duration,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) policies: Policies,
    pub(super) instances: Instances,
    pub(super) director: Director,
    pub(super) ledger: Ledger,
}

impl World {
    pub(super) fn new(
        policies: Policies,
        instances: Instances,
        director: Director,
        latency: Duration,
    ) -> Self {
        let inner = Inner {
            policies,
            instances,
            director,
            ledger: Ledger::default(),
        };
        Self {
            state: Mutex::new(inner),
            latency,
        }
    }

    /// Never locked across an await.
    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Chooses the fault of the call.
    pub(super) fn decide(&mut self, demand: &Demand) -> Reply {
        let verdict = self.director.decide(demand.call(), Instant::now());
        let (reply, throttled) = match verdict {
            Answering::Throttle(reply) => (reply, true),
            Answering::Answer(reply) => (reply, false),
        };
        self.ledger.count(&demand.resource, |stats| {
            stats.calls += 1;
            if throttled {
                stats.throttled += 1;
            } else {
                count_fault(stats, &reply.fault);
            }
        });
        reply
    }

    /// Carries the call out and counts it.
    pub(super) fn carry_out(&mut self, demand: &Demand, reply: &Reply) -> Result<Value, Refusal> {
        let Demand {
            resource,
            action,
            numbers,
        } = demand;
        let outcome = match action {
            Action::Policy(action) => self.on_policy(resource, action),
            Action::Instances(action) => {
                self.on_instances(resource, action, reply.operation_failure(), *numbers)
            }
        };
        let hidden = reply.hides_result();
        self.ledger.count(resource, |stats| match &outcome {
            Ok((_, effect)) => count_effect(stats, *effect, hidden),
            Err(refusal) => count_refusal(stats, refusal),
        });
        outcome.map(|(answer, _)| answer)
    }

    fn on_policy(
        &mut self,
        resource: &str,
        action: &PolicyAction,
    ) -> Result<(Value, Effect), Refusal> {
        let now = Instant::now();
        match action {
            PolicyAction::Get(version) => {
                let Seen { policy, stale } = self.policies.read(resource, *version, now);
                Ok((policy, Effect::Read { stale }))
            }
            PolicyAction::Set(update) => {
                let written = self.policies.write(resource, update, now)?;
                let blind = written.blind;
                Ok((written.policy, Effect::Write { blind }))
            }
            // The emulator has no user who lacks a single permission.
            PolicyAction::Test(permissions) => {
                let granted = if self.policies.grants(resource, now) {
                    json!({ "permissions": permissions })
                } else {
                    json!({})
                };
                Ok((granted, Effect::Other))
            }
        }
    }

    fn on_instances(
        &mut self,
        resource: &str,
        action: &InstanceAction,
        fails: Option<(GrpcCode, &str)>,
        numbers: bool,
    ) -> Result<(Value, Effect), Refusal> {
        let now = Instant::now();
        let (answer, done) = self
            .instances
            .carry_out(resource, action, fails, numbers, now)?;
        let effect = match done {
            Done::Read => Effect::Read { stale: false },
            Done::Started => Effect::Write { blind: false },
            Done::Recognised => Effect::Recognised,
            Done::Other => Effect::Other,
        };
        Ok((answer, effect))
    }
}

/// The effect of a call that was carried out.
#[derive(Clone, Copy, Debug)]
enum Effect {
    Read { stale: bool },
    Write { blind: bool },
    Recognised,
    Other,
}

/// Counts the effect. `hidden` says that the client will not see the result.
fn count_effect(stats: &mut Stats, effect: Effect, hidden: bool) {
    match effect {
        Effect::Read { stale } => {
            stats.reads += 1;
            stats.stale_reads += u64::from(stale);
        }
        Effect::Write { blind } => {
            stats.writes += 1;
            stats.blind_writes += u64::from(blind);
            stats.lost_replies += u64::from(hidden);
        }
        Effect::Recognised => stats.recognised += 1,
        Effect::Other => {}
    }
}

fn count_refusal(stats: &mut Stats, refusal: &Refusal) {
    match refusal.name {
        "ABORTED" => stats.conflicts += 1,
        "ALREADY_EXISTS" => stats.already_exists += 1,
        "NOT_FOUND" => stats.not_found += 1,
        _ => stats.rejected += 1,
    }
}

fn count_fault(stats: &mut Stats, fault: &Mishap) {
    let faults = &mut stats.faults;
    match fault {
        Mishap::None => {}
        Mishap::Status(_) => faults.statuses += 1,
        Mishap::Delay(_) => faults.delays += 1,
        Mishap::Stall(_) => faults.stalls += 1,
        Mishap::StallBody(_) => faults.body_stalls += 1,
        Mishap::Reset => faults.resets += 1,
        Mishap::Cut => faults.cuts += 1,
        Mishap::FailedOperation(..) => faults.failed_operations += 1,
    }
}
