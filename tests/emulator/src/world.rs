//! The state of the emulator, and the effect of a call on it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use backoff_cloud::GrpcCode;
use serde_json::{Value, json};

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
