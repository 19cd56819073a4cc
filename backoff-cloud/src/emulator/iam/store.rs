//! The policies, and the rules for reading and writing them.

use std::collections::HashMap;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Map, Value, json};

use super::policy::{Update, Version, seen_with};
use crate::emulator::refusal::Refusal;

/// The etag of a policy that nobody has written yet, as the real service has it.
const UNWRITTEN: &str = "ACAB";

/// A write that was done.
#[derive(Debug)]
pub(in crate::emulator) struct Written {
    pub(in crate::emulator) policy: Value,
    /// Whether it came without an etag.
    pub(in crate::emulator) blind: bool,
}

/// Every resource's policy. A resource nobody has written to has an empty one.
#[derive(Debug)]
pub(in crate::emulator) struct Policies {
    by_resource: HashMap<String, Map<String, Value>>,
    rng: SmallRng,
}

impl Policies {
    pub(in crate::emulator) fn new(seed: u64) -> Self {
        Self {
            by_resource: HashMap::new(),
            rng: SmallRng::seed_from_u64(seed),
        }
    }

    /// The policy as a reader of this version sees it.
    pub(in crate::emulator) fn get(&self, resource: &str, version: Version) -> Value {
        match self.by_resource.get(resource) {
            Some(policy) => seen_with(version, policy),
            None => json!({"etag": UNWRITTEN}),
        }
    }

    /// Writes, unless the update carries another etag than the policy has, or would lose
    /// conditions that its writer never saw.
    pub(in crate::emulator) fn set(
        &mut self,
        resource: &str,
        update: &Update,
    ) -> Result<Written, Refusal> {
        let stored = self.by_resource.get(resource);
        let current = stored
            .and_then(|policy| policy.get("etag"))
            .and_then(Value::as_str);
        let claimed = update.etag();
        if claimed.is_some_and(|etag| etag != current.unwrap_or(UNWRITTEN)) {
            return Err(Refusal::aborted(
                "The policy was changed by someone else since it was read. Read it again, make \
                 the change to what was read, and write that, waiting longer after each attempt.",
            ));
        }
        let needed = stored.map_or(Version::One, Version::needed_by);
        // Without an etag such a write is let through, and the conditions are lost: see
        // <https://cloud.google.com/iam/docs/reference/rest/v1/Policy>.
        if claimed.is_some() && update.touches_bindings() && update.version() < needed {
            return Err(Refusal::invalid(
                "The policy has conditional bindings, so a write of its bindings must say \
                 \"version\": 3. Read it with options.requestedPolicyVersion 3, and write that.",
            ));
        }
        let mut policy = update.applied_to(stored);
        policy.insert("etag".to_owned(), Value::String(etag(self.rng.random())));
        let written = seen_with(update.version(), &policy);
        self.by_resource.insert(resource.to_owned(), policy);
        Ok(Written {
            policy: written,
            blind: claimed.is_none(),
        })
    }
}

/// Base64 of nine bytes, which need no padding.
fn etag(bytes: [u8; 9]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bytes
        .chunks(3)
        .flat_map(|three| {
            let bits = three
                .iter()
                .fold(0, |bits, &byte| bits << 8 | usize::from(byte));
            [18, 12, 6, 0].map(|shift| char::from(DIGITS[bits >> shift & 63]))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "projects/p/secrets/s";

    fn set(policies: &mut Policies, body: Value) -> Result<Written, u16> {
        let Value::Object(body) = body else {
            panic!("{body} is no object");
        };
        policies
            .set(SECRET, &Update::parse(body).unwrap())
            .map_err(|refusal| refusal.code)
    }

    /// Writes a policy with all its fields, as nobody over HTTP can without naming them.
    fn put(policies: &mut Policies, policy: Value) {
        policies
            .set(SECRET, &Update::whole(policy).unwrap())
            .unwrap();
    }

    fn get(policies: &Policies) -> Value {
        policies.get(SECRET, Version::Three)
    }

    #[test]
    fn base64_is_base64() {
        assert_eq!(etag(*b"light w\xff\x00"), "bGlnaHQgd/8A");
    }

    #[test]
    fn a_new_resource_has_an_empty_policy_with_an_etag() {
        for version in [Version::One, Version::Three] {
            let fresh = Policies::new(0).get(SECRET, version);
            assert_eq!(fresh, json!({"etag": "ACAB"}));
        }
    }

    #[test]
    fn every_write_changes_the_etag_and_a_stale_one_conflicts() {
        let mut policies = Policies::new(0);
        let first = set(&mut policies, json!({"policy": {"etag": "ACAB"}})).unwrap();
        assert!(!first.blind);
        assert_eq!(get(&policies), first.policy);
        let second = set(&mut policies, json!({"policy": first.policy})).unwrap();
        assert_ne!(first.policy["etag"], second.policy["etag"]);
        for stale in [first.policy, json!({"etag": "ACAB"})] {
            let refused = set(&mut policies, json!({"policy": stale}));
            assert_eq!(refused.unwrap_err(), 409);
        }
        assert_eq!(get(&policies), second.policy);
    }

    #[test]
    fn without_an_etag_a_write_is_blind() {
        let mut policies = Policies::new(0);
        for policy in [json!({}), json!({"etag": ""}), json!({"etag": null})] {
            put(
                &mut policies,
                json!({"bindings": [{"role": "roles/r", "members": ["allUsers"]}]}),
            );
            let written = set(&mut policies, json!({"policy": policy})).unwrap();
            assert!(written.blind);
            assert_eq!(written.policy.get("bindings"), None);
        }
    }

    #[test]
    fn fields_nobody_modelled_survive() {
        let condition = json!({"title": "until noon", "expression": "true", "odd": [1]});
        let policy = json!({
            "version": 3,
            "bindings": [{"role": "roles/r", "members": ["user:a@b.c"], "condition": condition, "x": 1}],
            "auditConfigs": [{"service": "allServices"}],
            "y": {"z": null},
        });
        let mut policies = Policies::new(0);
        put(&mut policies, policy.clone());
        let read = get(&policies);
        set(&mut policies, json!({"policy": read})).unwrap();
        let mut read = get(&policies);
        read.as_object_mut().unwrap().remove("etag");
        assert_eq!(read, policy);
    }

    #[test]
    fn a_mask_limits_what_is_replaced() {
        let mut policies = Policies::new(0);
        let first = json!({"bindings": [{"role": "roles/r", "members": ["allUsers"]}], "auditConfigs": [1], "other": 1});
        put(&mut policies, first);
        let second = json!({"bindings": [{"role": "roles/s", "members": ["allUsers"]}], "auditConfigs": [2], "other": 2});
        let mut write = |mask: &str| {
            let body = json!({"policy": second, "updateMask": mask});
            set(&mut policies, body).unwrap().policy
        };
        // No mask means the bindings, and nothing else.
        let written = write("");
        assert_eq!(written["bindings"], second["bindings"]);
        assert_eq!(
            (&written["auditConfigs"], &written["other"]),
            (&json!([1]), &json!(1))
        );
        let written = write("bindings, other,etag");
        assert_eq!(
            (&written["auditConfigs"], &written["other"]),
            (&json!([1]), &json!(2))
        );
        assert_eq!(write("auditConfigs")["auditConfigs"], json!([2]));

        let body = json!({"policy": {}, "updateMask": "auditConfigs"});
        let written = set(&mut policies, body).unwrap().policy;
        assert_eq!(written.get("auditConfigs"), None);
        assert_eq!(written["bindings"], second["bindings"]);
    }

    #[test]
    fn conditions_are_not_lost_to_a_writer_who_did_not_see_them() {
        let mut policies = Policies::new(0);
        let conditional = json!([{"role": "roles/r", "members": ["allUsers"], "condition": {"expression": "true"}}]);
        put(
            &mut policies,
            json!({"version": 3, "bindings": conditional}),
        );
        let seen = policies.get(SECRET, Version::One);
        let mut policy = json!({"etag": seen["etag"], "version": 1, "bindings": []});
        assert_eq!(
            set(&mut policies, json!({"policy": policy})).unwrap_err(),
            400
        );
        assert_eq!(get(&policies)["bindings"], conditional);

        // What leaves the bindings alone may be of any version, and shows what that sees.
        let body = json!({"policy": policy, "updateMask": "auditConfigs"});
        let written = set(&mut policies, body).unwrap().policy;
        assert_eq!(written["version"], 1);
        assert_eq!(written["bindings"][0].get("condition"), None);
        assert_eq!(get(&policies)["bindings"], conditional);

        // With version 3 they may be taken away, and the policy is of version 1 again.
        policy["version"] = json!(3);
        policy["etag"] = written["etag"].clone();
        let written = set(&mut policies, json!({"policy": policy}))
            .unwrap()
            .policy;
        assert_eq!(
            (&written["version"], &written["bindings"]),
            (&json!(1), &json!([]))
        );
    }

    #[test]
    fn a_blind_write_loses_conditions_as_documented() {
        let mut policies = Policies::new(0);
        let conditional = json!([{"role": "roles/r", "members": ["allUsers"], "condition": {"expression": "true"}}]);
        put(
            &mut policies,
            json!({"version": 3, "bindings": conditional}),
        );
        let written = set(&mut policies, json!({"policy": {"bindings": []}})).unwrap();
        assert!(written.blind);
        assert_eq!(get(&policies)["bindings"], json!([]));
    }
}
