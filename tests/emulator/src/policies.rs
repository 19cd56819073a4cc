//! The allow policies, and the rules for reading and writing them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use crate::refusal::Refusal;
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
            return Err(Refusal::aborted(
                "The policy was changed by someone else since it was read. Read it again, make \
                 the change to what was read, and write that, waiting longer after each attempt.",
            ));
        }
        let knows_conditions = write.version == POLICY_VERSION;
        // A write without an etag is applied, and the conditions are lost: see
        // <https://cloud.google.com/iam/docs/reference/rest/v1/Policy>.
        let loses_conditions = !is_blind(write) && has_conditions(&stored);
        if !knows_conditions && (has_conditions(write) || loses_conditions) {
            return Err(Refusal::invalid(
                "A write of conditional bindings must say \"version\": 3. Read the policy with \
                 options.requestedPolicyVersion 3, and write that.",
            ));
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

    const SECRET: &str = "projects/p/secrets/s";

    fn policy(policy: Value) -> PlainPolicy {
        serde_json::from_value(policy).unwrap()
    }

    fn write(policies: &mut Policies, written: Value) -> Result<Value, u16> {
        let written = policies.write(SECRET, &policy(written));
        written.map_err(|refusal| refusal.code.http_status())
    }

    fn conditional() -> Value {
        json!([{"role": "roles/r", "members": ["allUsers"],
                "condition": {"title": "t", "expression": "true", "odd": [1]}}])
    }

    /// A service in which the secret has a conditional binding.
    fn with_condition() -> Policies {
        let mut policies = Policies::new(0);
        policies.replace(SECRET, policy(json!({ "bindings": conditional() })));
        policies
    }

    #[test]
    fn every_write_changes_the_etag_and_a_stale_one_conflicts() {
        let mut policies = Policies::new(0);
        assert_eq!(policies.read(SECRET, true), json!({"etag": "ACAB"}));
        let first = write(&mut policies, json!({"etag": "ACAB"})).unwrap();
        assert_eq!(policies.read(SECRET, true), first);
        let second = write(&mut policies, first.clone()).unwrap();
        assert_ne!(first["etag"], second["etag"]);
        for stale in [first, json!({"etag": "ACAB"})] {
            assert_eq!(write(&mut policies, stale), Err(409));
        }
        assert_eq!(policies.read(SECRET, true), second);
    }

    #[test]
    fn without_an_etag_a_write_replaces_also_conditions() {
        for blind in [json!({}), json!({"etag": ""}), json!({"etag": null})] {
            assert!(is_blind(&policy(blind.clone())));
            let written = write(&mut with_condition(), blind).unwrap();
            assert_eq!(written["bindings"], json!([]));
        }
        assert!(!is_blind(&policy(json!({"etag": "ACAB"}))));
    }

    #[test]
    fn a_write_replaces_the_bindings_and_keeps_unknown_fields() {
        let mut policies = Policies::new(0);
        let odd = json!({"bindings": conditional(), "auditConfigs": [1], "y": {"z": null}});
        policies.replace(SECRET, policy(odd.clone()));
        let mut read = policies.read(SECRET, true);
        assert_eq!((&read["version"], &read["y"]), (&json!(3), &odd["y"]));
        assert_eq!(read["bindings"], conditional());
        read["auditConfigs"] = json!([2]);
        let bindings = &mut read["bindings"][0];
        bindings["members"] = json!(["user:ann@example.com"]);
        let written = write(&mut policies, read).unwrap();
        assert_eq!(written["auditConfigs"], json!([1]));
        let members = &written["bindings"][0]["members"];
        assert_eq!(*members, json!(["user:ann@example.com"]));
    }

    #[test]
    fn conditions_are_not_lost_to_a_writer_who_did_not_see_them() {
        let mut policies = with_condition();
        let mut seen = policies.read(SECRET, false);
        assert_eq!(seen["version"], 1);
        let binding = &seen["bindings"][0];
        assert_eq!(binding.get("condition"), None);
        let role = binding["role"].as_str().unwrap();
        assert!(role.starts_with("roles/r_withcond_"), "{role}");
        assert_eq!(write(&mut policies, seen.clone()), Err(400));
        seen["bindings"] = json!([]);
        assert_eq!(write(&mut policies, seen.clone()), Err(400));
        assert_eq!(policies.read(SECRET, true)["bindings"], conditional());

        // A write of version 3 may remove the conditions; then the policy has version 1 again.
        seen["version"] = json!(3);
        let written = write(&mut policies, seen).unwrap();
        assert_eq!(written["version"], 1);
        assert_eq!(written["bindings"], json!([]));
    }

    /// Conditions need version 3, and a binding without members is removed.
    #[test]
    fn what_is_left_of_the_bindings_that_are_written() {
        let empty = json!([{"role": "roles/a"}, {"role": "roles/b", "members": []}]);
        for (version, bindings, expected) in [
            (0, conditional(), Err(400)),
            (1, conditional(), Err(400)),
            (3, conditional(), Ok(conditional())),
            (1, empty, Ok(json!([]))),
        ] {
            let policy = json!({"version": version, "bindings": bindings});
            let written = write(&mut Policies::new(0), policy);
            assert_eq!(written.map(|mut it| it["bindings"].take()), expected);
        }
    }
}
