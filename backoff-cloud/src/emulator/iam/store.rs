//! The policies, and the rules for reading and writing them.

use std::collections::HashMap;
use std::time::Instant;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Map, Value, json};

use super::lag::{Lag, Past, Replicas};
use super::policy::{Update, Version, seen_with};
use crate::emulator::refusal::Refusal;

/// The etag of a policy before its first write, as in the real service.
const UNWRITTEN: &str = "ACAB";

/// The result of a write.
#[derive(Debug)]
pub(in crate::emulator) struct Written {
    pub(in crate::emulator) policy: Value,
    /// Whether the write had no etag.
    pub(in crate::emulator) blind: bool,
}

/// The result of a read.
#[derive(Debug)]
pub(in crate::emulator) struct Seen {
    pub(in crate::emulator) policy: Value,
    /// Whether the policy is not the newest one.
    pub(in crate::emulator) stale: bool,
}

/// The policies of all resources. Before its first write a resource has an empty policy.
#[derive(Debug)]
pub(in crate::emulator) struct Policies {
    by_resource: HashMap<String, Map<String, Value>>,
    rng: SmallRng,
    lag: Lag,
    past: HashMap<String, Past>,
    replicas: Replicas,
}

impl Policies {
    pub(in crate::emulator) fn new(seed: u64, lag: Lag) -> Self {
        Self {
            by_resource: HashMap::new(),
            rng: SmallRng::seed_from_u64(seed),
            lag,
            past: HashMap::new(),
            // A random source of its own, so that reads that flap do not change the etags.
            replicas: Replicas::new(seed ^ (u64::MAX / 3)),
        }
    }

    /// The newest policy for a reader of this version.
    pub(in crate::emulator) fn get(&self, resource: &str, version: Version) -> Value {
        shown(version, self.by_resource.get(resource))
    }

    /// The policy that a read of this version shows now: the newest one or an older one.
    pub(in crate::emulator) fn read(
        &mut self,
        resource: &str,
        version: Version,
        now: Instant,
    ) -> Seen {
        let older = match self.past.get_mut(resource) {
            Some(past) => past.shown(self.lag, &mut self.replicas, now),
            None => None,
        };
        match older {
            Some(older) => Seen {
                policy: shown(version, older.as_ref()),
                stale: true,
            },
            None => Seen {
                policy: self.get(resource, version),
                stale: false,
            },
        }
    }

    /// Whether a test of permissions grants them now. If reads see writes late, it grants them while the
    /// policy that a read shows has a member; otherwise it always grants them.
    pub(in crate::emulator) fn grants(&mut self, resource: &str, now: Instant) -> bool {
        if self.lag.is_none() {
            return true;
        }
        let policy = self.read(resource, Version::Three, now).policy;
        policy["bindings"]
            .as_array()
            .is_some_and(|bindings| !bindings.is_empty())
    }

    /// Writes with the rules of [`set`](Self::set), and reads show the write late.
    pub(in crate::emulator) fn write(
        &mut self,
        resource: &str,
        update: &Update,
        now: Instant,
    ) -> Result<Written, Refusal> {
        if self.lag.is_none() {
            return self.apply(resource, update);
        }
        let replaced = self.by_resource.get(resource).cloned();
        let written = self.apply(resource, update)?;
        let past = self.past.entry(resource.to_owned()).or_default();
        past.replaced(replaced, now);
        Ok(written)
    }

    /// Writes, unless the etag of the update is stale, or the write would lose conditions that its writer
    /// did not see. Every read shows the write at once.
    pub(in crate::emulator) fn set(
        &mut self,
        resource: &str,
        update: &Update,
    ) -> Result<Written, Refusal> {
        let written = self.apply(resource, update)?;
        self.past.remove(resource);
        Ok(written)
    }

    fn apply(&mut self, resource: &str, update: &Update) -> Result<Written, Refusal> {
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
        // Without an etag such a write is applied, and the conditions are lost: see
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

/// A policy for a reader of this version.
fn shown(version: Version, policy: Option<&Map<String, Value>>) -> Value {
    match policy {
        Some(policy) => seen_with(version, policy),
        None => json!({"etag": UNWRITTEN}),
    }
}

/// Base64 of nine bytes, without padding.
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
    use std::time::Duration;

    use super::*;

    const SECRET: &str = "projects/p/secrets/s";
    const SECOND: Duration = Duration::from_secs(1);

    fn set(policies: &mut Policies, body: Value) -> Result<Written, u16> {
        let Value::Object(body) = body else {
            panic!("{body} is no object");
        };
        policies
            .set(SECRET, &Update::parse(body).unwrap())
            .map_err(|refusal| refusal.code)
    }

    /// Writes a policy with all its fields. Over HTTP the client would have to name them.
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
            let fresh = Policies::new(0, Lag::default()).get(SECRET, version);
            assert_eq!(fresh, json!({"etag": "ACAB"}));
        }
    }

    #[test]
    fn every_write_changes_the_etag_and_a_stale_one_conflicts() {
        let mut policies = Policies::new(0, Lag::default());
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
        let mut policies = Policies::new(0, Lag::default());
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
        let mut policies = Policies::new(0, Lag::default());
        put(&mut policies, policy.clone());
        let read = get(&policies);
        set(&mut policies, json!({"policy": read})).unwrap();
        let mut read = get(&policies);
        read.as_object_mut().unwrap().remove("etag");
        assert_eq!(read, policy);
    }

    #[test]
    fn a_mask_limits_what_is_replaced() {
        let mut policies = Policies::new(0, Lag::default());
        let first = json!({"bindings": [{"role": "roles/r", "members": ["allUsers"]}], "auditConfigs": [1], "other": 1});
        put(&mut policies, first);
        let second = json!({"bindings": [{"role": "roles/s", "members": ["allUsers"]}], "auditConfigs": [2], "other": 2});
        let mut write = |mask: &str| {
            let body = json!({"policy": second, "updateMask": mask});
            set(&mut policies, body).unwrap().policy
        };
        // Without a mask the write replaces the bindings only.
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
        let mut policies = Policies::new(0, Lag::default());
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

        // A write that does not change the bindings may have any version; its reply shows what that version
        // shows.
        let body = json!({"policy": policy, "updateMask": "auditConfigs"});
        let written = set(&mut policies, body).unwrap().policy;
        assert_eq!(written["version"], 1);
        assert_eq!(written["bindings"][0].get("condition"), None);
        assert_eq!(get(&policies)["bindings"], conditional);

        // A write of version 3 may remove the conditions; then the policy has version 1 again.
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
        let mut policies = Policies::new(0, Lag::default());
        let conditional = json!([{"role": "roles/r", "members": ["allUsers"], "condition": {"expression": "true"}}]);
        put(
            &mut policies,
            json!({"version": 3, "bindings": conditional}),
        );
        let written = set(&mut policies, json!({"policy": {"bindings": []}})).unwrap();
        assert!(written.blind);
        assert_eq!(get(&policies)["bindings"], json!([]));
    }

    #[test]
    fn a_stale_read_hands_out_a_stale_etag_and_its_write_conflicts() {
        let lag = Lag {
            visible_after: 10 * SECOND,
            flaps_for: 5 * SECOND,
        };
        let (mut policies, start) = (Policies::new(0, lag), Instant::now());
        let viewers = json!([{"role": "roles/viewer", "members": ["user:ann@example.com"]}]);
        let write = |policies: &mut Policies, etag: &Value, now| {
            let policy = json!({"etag": etag, "bindings": viewers});
            let update = Update::whole(policy).unwrap();
            let written = policies.write(SECRET, &update, now);
            written.map_err(|refusal| refusal.code)
        };
        let first = policies.read(SECRET, Version::Three, start);
        assert_eq!(
            (&first.policy["etag"], first.stale),
            (&json!("ACAB"), false)
        );
        let written = write(&mut policies, &first.policy["etag"], start).unwrap();

        // A client that read before the write was visible cannot write; a client with the write's reply
        // can.
        let stale = policies.read(SECRET, Version::Three, start + 9 * SECOND);
        assert_eq!((stale.policy, stale.stale), (first.policy, true));
        assert!(!policies.grants(SECRET, start + 9 * SECOND));
        let refused = write(&mut policies, &json!("ACAB"), start + 9 * SECOND);
        assert_eq!(refused.unwrap_err(), 409);
        assert_eq!(get(&policies), written.policy);
        let fresh = policies.read(SECRET, Version::Three, start + 15 * SECOND);
        assert_eq!((&fresh.policy, fresh.stale), (&written.policy, false));
        assert!(policies.grants(SECRET, start + 15 * SECOND));
        write(&mut policies, &written.policy["etag"], start + 15 * SECOND).unwrap();
    }

    #[test]
    fn a_policy_set_by_hand_is_shown_at_once() {
        let lag = Lag {
            visible_after: 10 * SECOND,
            flaps_for: SECOND,
        };
        let (mut policies, now) = (Policies::new(0, lag), Instant::now());
        let update = |bindings: Value| Update::whole(json!({"bindings": bindings})).unwrap();
        policies.write(SECRET, &update(json!([])), now).unwrap();
        put(&mut policies, json!({"bindings": [], "x": 1}));
        let seen = policies.read(SECRET, Version::Three, now);
        assert_eq!((&seen.policy["x"], seen.stale), (&json!(1), false));
    }
}
