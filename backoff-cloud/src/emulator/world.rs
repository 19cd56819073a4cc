//! The state of the emulator, and the effect of a call on it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use backoff_core::GrpcCode;
use serde_json::{Value, json};

use super::fault::Director;
use super::instances::{Begin, Instances};
use super::policies::{Policies, is_blind};
use super::refusal::Refusal;
use super::reply::{Mishap, Reply};
use super::request::{Action, Demand};
use super::stats::Stats;

/// The state that the handle and the request handlers share.
#[derive(Debug)]
pub(super) struct World {
    pub(super) policies: Policies,
    pub(super) instances: Instances,
    pub(super) director: Director,
    pub(super) latency: Duration,
    pub(super) stats: Stats,
}

/// Never locked across an await.
pub(super) fn lock(world: &Mutex<World>) -> MutexGuard<'_, World> {
    world.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    /// Chooses the fault of the call.
    pub(super) fn decide(&mut self, demand: &Demand) -> Reply {
        let reply = self.director.decide(demand.action.call(), Instant::now());
        self.stats.faults += u64::from(reply.fault != Mishap::None);
        reply
    }

    /// Carries the call out and counts it.
    pub(super) fn carry_out(&mut self, demand: &Demand, reply: &Reply) -> Result<Value, Refusal> {
        let done = self.done(demand, reply);
        match done.as_ref().map_err(|refusal| refusal.code) {
            Err(GrpcCode::Aborted) => self.stats.conflicts += 1,
            Err(GrpcCode::AlreadyExists) => self.stats.already_exists += 1,
            _ => {}
        }
        done
    }

    fn done<'a>(&mut self, demand: &'a Demand, reply: &Reply) -> Result<Value, Refusal> {
        let now = Instant::now();
        let resource = demand.resource.as_str();
        let call = |fields, request_id: &'a Option<String>| Begin {
            target: resource,
            fields,
            request_id: request_id.as_deref(),
            failure: reply.operation_failure(),
        };
        match &demand.action {
            Action::GetPolicy { with_conditions } => {
                let policy = self.policies.read(resource, *with_conditions);
                self.read(Ok(policy))
            }
            Action::ListInstances => {
                let list = self.instances.list(resource, now);
                self.read(Ok(list))
            }
            Action::GetInstance => {
                let instance = self.instances.get(resource, now);
                self.read(instance)
            }
            Action::GetOperation => {
                let operation = self.instances.operation(resource, now);
                self.read(operation)
            }
            // The emulator has no user who lacks a permission.
            Action::TestPermissions(permissions) => Ok(json!({ "permissions": permissions })),
            Action::SetPolicy(policy) => {
                let written = self.policies.write(resource, policy)?;
                self.stats.blind_writes += u64::from(is_blind(policy));
                self.wrote(reply);
                Ok(written)
            }
            Action::CreateInstance { fields, request_id } => {
                self.begin(call(Some(fields), request_id), reply)
            }
            Action::DeleteInstance { request_id } => self.begin(call(None, request_id), reply),
        }
    }

    fn read(&mut self, found: Result<Value, Refusal>) -> Result<Value, Refusal> {
        self.stats.reads += u64::from(found.is_ok());
        found
    }

    fn begin(&mut self, call: Begin<'_>, reply: &Reply) -> Result<Value, Refusal> {
        let begun = self.instances.begin(call, Instant::now())?;
        if begun.is_recognised {
            self.stats.recognised += 1;
        } else {
            self.wrote(reply);
        }
        Ok(begun.operation)
    }

    fn wrote(&mut self, reply: &Reply) {
        self.stats.writes += 1;
        self.stats.lost_replies += u64::from(reply.hides_result());
    }
}
