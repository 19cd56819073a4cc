//! The state of the emulator, and the effect of a call on it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use backoff_cloud::GrpcCode;
use serde_json::Value;

use crate::fault::Director;
use crate::instances::{Begin, Instances};
use crate::policies::{Policies, is_blind};
use crate::refusal::Refusal;
use crate::reply::{Mishap, Reply};
use crate::request::{Action, Demand};
use crate::stats::Stats;

/// The state that the handle and the request handlers share.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) policies: Policies,
    pub(crate) instances: Instances,
    pub(crate) director: Director,
    pub(crate) latency: Duration,
    pub(crate) stats: Stats,
}

/// Never locked across an await.
pub(crate) fn lock(world: &Mutex<World>) -> MutexGuard<'_, World> {
    world.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    /// Chooses the fault of the call.
    pub(crate) fn decide(&mut self, demand: &Demand) -> Reply {
        let reply = self.director.decide(demand.action.call(), Instant::now());
        self.stats.faults += u64::from(reply.fault != Mishap::None);
        reply
    }

    /// Carries the call out and counts it.
    pub(crate) fn carry_out(&mut self, demand: &Demand, reply: &Reply) -> Result<Value, Refusal> {
        let done = self.done(demand, reply);
        match done.as_ref().map_err(|refusal| refusal.code) {
            Err(GrpcCode::Aborted) => self.stats.conflicts += 1,
            Err(GrpcCode::AlreadyExists) => self.stats.already_exists += 1,
            Err(_) => {}
            Ok(_) if matches!(demand.action, Action::SetPolicy(_) | Action::Begin { .. }) => {}
            Ok(_) => self.stats.reads += 1,
        }
        done
    }

    fn done(&mut self, demand: &Demand, reply: &Reply) -> Result<Value, Refusal> {
        let (now, resource) = (Instant::now(), demand.resource.as_str());
        match &demand.action {
            Action::GetPolicy { with_conditions } => {
                Ok(self.policies.read(resource, *with_conditions))
            }
            Action::ListInstances => Ok(self.instances.list(resource, now)),
            Action::GetInstance => self.instances.get(resource, now),
            Action::GetOperation => self.instances.operation(resource, now),
            Action::SetPolicy(policy) => {
                let written = self.policies.write(resource, policy)?;
                self.stats.blind_writes += u64::from(is_blind(policy));
                self.wrote(reply);
                Ok(written)
            }
            Action::Begin { fields, request_id } => {
                let begin = Begin {
                    target: resource,
                    fields: fields.as_ref(),
                    request_id: request_id.as_deref(),
                    failure: reply.operation_failure(),
                };
                let (operation, is_recognised) = self.instances.begin(begin, now)?;
                match is_recognised {
                    true => self.stats.recognised += 1,
                    false => self.wrote(reply),
                }
                Ok(operation)
            }
        }
    }

    fn wrote(&mut self, reply: &Reply) {
        self.stats.writes += 1;
        self.stats.lost_replies += u64::from(reply.hides_result());
    }
}
