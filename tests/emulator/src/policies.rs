//! The allow policies, and the rules for reading and writing them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use crate::refusal::Refusal;
use backoff_cloud::GrpcCode;
use backoff_cloud::iam::{POLICY_VERSION, PlainPolicy};

/// The etag of a policy before its first write, as in the real service.
const UNWRITTEN: &str = "ACAB";

/// The policies of all resources. Before its first write a resource has an empty policy.
#[derive(Debug)]
pub(crate) struct Policies {
    by_resource: HashMap<String, PlainPolicy>,
    rng: SmallRng,
}

impl Policies {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            by_resource: HashMap::new(),
            rng: SmallRng::seed_from_u64(seed),
        }
    }

    /// The policy for a reader who asks for conditions or not.
    pub(crate) fn read(&self, resource: &str, with_conditions: bool) -> Value {
        match self.by_resource.get(resource) {
            Some(policy) if with_conditions => json!(policy),
            Some(policy) => json!(without_conditions(policy)),
            None => json!({ "etag": UNWRITTEN }),
        }
    }

    /// Replaces the bindings, unless the etag of the write is stale, or the write would lose conditions
    /// that its writer did not see. Returns the policy as the writer would read it.
    pub(crate) fn write(&mut self, resource: &str, write: &PlainPolicy) -> Result<Value, Refusal> {
        let stored = self.by_resource.get(resource).cloned().unwrap_or_default();
        let current = stored.etag.as_deref().unwrap_or(UNWRITTEN);
        if !is_blind(write) && write.etag.as_deref() != Some(current) {
            let message = "The policy was changed by someone else since it was read.";
            return Err(Refusal::new(GrpcCode::Aborted, message));
        }
        let knows_conditions = write.version == POLICY_VERSION;
        // A write without an etag is applied, and the conditions are lost: see
        // <https://cloud.google.com/iam/docs/reference/rest/v1/Policy>.
        let loses_conditions = !is_blind(write) && has_conditions(&stored);
        if !knows_conditions && (has_conditions(write) || loses_conditions) {
            let message = "A write of conditional bindings must say \"version\": 3.";
            return Err(Refusal::invalid(message));
        }
        let policy = PlainPolicy {
            bindings: write.bindings.clone(),
            ..stored
        };
        self.replace(resource, policy);
        Ok(self.read(resource, knows_conditions))
    }

    /// Replaces the whole policy, whatever its etag is.
    pub(crate) fn replace(&mut self, resource: &str, mut policy: PlainPolicy) {
        policy.bindings.retain(|it| !it.members.is_empty());
        policy.version = match has_conditions(&policy) {
            true => POLICY_VERSION,
            false => 1,
        };
        // Google's clients decode an etag as base64. Sixteen hexadecimal digits are valid base64.
        policy.etag = Some(format!("{:016x}", self.rng.random::<u64>()));
        self.by_resource.insert(resource.to_owned(), policy);
    }
}

/// Whether a write has no etag, so that it replaces whatever is stored.
pub(crate) fn is_blind(write: &PlainPolicy) -> bool {
    write.etag.as_deref().unwrap_or_default().is_empty()
}

fn has_conditions(policy: &PlainPolicy) -> bool {
    policy.bindings.iter().any(|it| it.condition.is_some())
}

/// A conditional binding without its condition, and with a role that ends in a hash of the condition:
/// <https://cloud.google.com/iam/docs/troubleshooting-withcond>.
fn without_conditions(policy: &PlainPolicy) -> PlainPolicy {
    let mut seen = PlainPolicy {
        version: 1,
        ..policy.clone()
    };
    for binding in &mut seen.bindings {
        if let Some(condition) = binding.condition.take() {
            let mut hasher = DefaultHasher::new();
            condition.expression.hash(&mut hasher);
            binding.role = format!("{}_withcond_{:016x}", binding.role, hasher.finish());
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows: a write over a conditional binding, and the bindings that are left.
    #[test]
    fn conditions_need_version_3_and_a_blind_write_replaces_them_too() {
        let conditional = json!([{"role": "roles/r", "members": ["allUsers"],
            "condition": {"title": "t", "expression": "true", "odd": [1]}}]);
        let empty = json!([{"role": "roles/a"}, {"role": "roles/b", "members": []}]);
        let (seen, none) = (Some("read"), json!([]));
        for (etag, version, bindings, expected) in [
            (seen, 1, &empty, Err(400)),
            (seen, 3, &empty, Ok(&none)),
            (seen, 1, &conditional, Err(400)),
            (seen, 3, &conditional, Ok(&conditional)),
            (None, 0, &conditional, Err(400)),
            (None, 3, &conditional, Ok(&conditional)),
            (None, 1, &empty, Ok(&none)),
            (Some(""), 1, &empty, Ok(&none)),
            (Some("stale"), 3, &empty, Err(409)),
        ] {
            let policy = |value| serde_json::from_value::<PlainPolicy>(value).unwrap();
            let mut policies = Policies::new(0);
            policies.replace("r", policy(json!({ "bindings": conditional })));
            let read = policies.read("r", true);
            let etag = match etag {
                Some("read") => read["etag"].clone(),
                other => json!(other),
            };
            let write = json!({"etag": etag, "version": version, "bindings": bindings});
            let written = policies.write("r", &policy(write.clone()));
            let written = written.map_err(|refusal| refusal.code.http_status());
            assert_eq!(
                written.as_ref().map(|it| &it["bindings"]),
                expected.as_ref().map(|it| *it),
                "{write}"
            );
            let kept = policies.read("r", true)["etag"] == read["etag"];
            assert_eq!(kept, written.is_err(), "{write}");
        }
    }
}
