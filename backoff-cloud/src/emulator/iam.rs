//! The policies, and the rules for reading and writing them.

use std::collections::HashMap;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Map, Value, json};

use super::request::{Refusal, is_policy_version};

/// The etag of a policy that nobody has written yet, as the real service has it.
const UNWRITTEN: &str = "ACAB";

/// A policy to write, checked for form.
///
/// The policy stays JSON, so that fields this module knows nothing about survive.
#[derive(Debug, PartialEq)]
pub(super) struct Update {
    policy: Map<String, Value>,
    /// Top-level fields to replace; all of them if there is no mask.
    mask: Option<Vec<String>>,
}

impl Update {
    /// Reads the body of a setIamPolicy.
    pub(super) fn parse(mut body: Map<String, Value>) -> Result<Self, Refusal> {
        let mask = match body.remove("updateMask") {
            None | Some(Value::Null) => None,
            Some(Value::String(mask)) if mask.is_empty() => None,
            Some(Value::String(mask)) => {
                let mut mask: Vec<_> = mask
                    .split(',')
                    .map(|field| field.trim().to_owned())
                    .collect();
                if mask.iter().any(|field| field == "bindings") {
                    // The version says how to read the bindings, so it goes with them.
                    mask.push("version".to_owned());
                }
                Some(mask)
            }
            Some(_) => {
                return Err(Refusal::invalid(
                    "updateMask must be a string of field names.",
                ));
            }
        };
        match body.remove("policy") {
            Some(policy) => Ok(Self {
                policy: check_policy(policy)?,
                mask,
            }),
            None => Err(Refusal::invalid("policy is required.")),
        }
    }

    /// A policy to write whole.
    pub(super) fn whole(policy: Value) -> Result<Self, Refusal> {
        Ok(Self {
            policy: check_policy(policy)?,
            mask: None,
        })
    }

    fn etag(&self) -> Option<&str> {
        self.policy
            .get("etag")
            .and_then(Value::as_str)
            .filter(|etag| !etag.is_empty())
    }
}

fn check_policy(policy: Value) -> Result<Map<String, Value>, Refusal> {
    let Value::Object(mut policy) = policy else {
        return Err(Refusal::invalid("policy must be a JSON object."));
    };
    // As in every Google API, null is the same as absent.
    policy.retain(|_, value| !value.is_null());
    if policy.get("etag").is_some_and(|etag| !etag.is_string()) {
        return Err(Refusal::invalid("policy.etag must be a string."));
    }
    if policy
        .get("version")
        .is_some_and(|version| !is_policy_version(version))
    {
        return Err(Refusal::invalid("policy.version must be 0, 1 or 3."));
    }
    let conditional = match policy.get("bindings") {
        None => false,
        Some(Value::Array(bindings)) => {
            let mut conditional = false;
            for (at, binding) in bindings.iter().enumerate() {
                conditional |= check_binding(binding)
                    .map_err(|what| Refusal::invalid(format!("policy.bindings[{at}]{what}.")))?;
            }
            conditional
        }
        Some(_) => return Err(Refusal::invalid("policy.bindings must be an array.")),
    };
    if conditional && policy.get("version") != Some(&json!(3)) {
        return Err(Refusal::invalid(
            "A policy with conditional bindings must say \"version\": 3.",
        ));
    }
    Ok(policy)
}

/// Says whether the binding is conditional, or what is wrong with it.
fn check_binding(binding: &Value) -> Result<bool, &'static str> {
    let Value::Object(binding) = binding else {
        return Err(" must be a JSON object");
    };
    if !binding.get("role").is_some_and(Value::is_string) {
        return Err(".role must be a string");
    }
    match binding.get("members") {
        None | Some(Value::Null) => {}
        Some(Value::Array(members)) if members.iter().all(Value::is_string) => {}
        Some(_) => return Err(".members must be an array of strings"),
    }
    match binding.get("condition") {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Object(_)) => Ok(true),
        Some(_) => Err(".condition must be a JSON object"),
    }
}

/// A write that was done.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) policy: Value,
    /// Whether it came without an etag.
    pub(super) blind: bool,
}

/// Every resource's policy. A resource nobody has written to has an empty one.
#[derive(Debug)]
pub(super) struct Policies {
    by_resource: HashMap<String, Map<String, Value>>,
    rng: SmallRng,
}

impl Policies {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            by_resource: HashMap::new(),
            rng: SmallRng::seed_from_u64(seed),
        }
    }

    pub(super) fn get(&self, resource: &str) -> Value {
        match self.by_resource.get(resource) {
            Some(policy) => Value::Object(policy.clone()),
            None => json!({"etag": UNWRITTEN}),
        }
    }

    /// Writes, unless the update carries another etag than the policy has.
    pub(super) fn set(&mut self, resource: &str, update: &Update) -> Result<Written, Refusal> {
        let stored = self.by_resource.get(resource);
        let current = stored
            .and_then(|policy| policy.get("etag"))
            .and_then(Value::as_str);
        let claimed = update.etag();
        if claimed.is_some_and(|etag| etag != current.unwrap_or(UNWRITTEN)) {
            return Err(Refusal::new(
                409,
                "The policy was changed by someone else since it was read. Read it again, make \
                 the change to what was read, and write that, waiting longer after each attempt.",
            ));
        }
        let mut policy = match &update.mask {
            None => update.policy.clone(),
            Some(mask) => {
                let mut policy = stored.cloned().unwrap_or_default();
                for field in mask {
                    match update.policy.get(field) {
                        Some(value) => policy.insert(field.clone(), value.clone()),
                        None => policy.remove(field),
                    };
                }
                policy
            }
        };
        if policy
            .get("version")
            .is_none_or(|version| *version == json!(0))
        {
            policy.insert("version".to_owned(), json!(1));
        }
        policy.insert("etag".to_owned(), Value::String(etag(self.rng.random())));
        self.by_resource.insert(resource.to_owned(), policy.clone());
        Ok(Written {
            policy: Value::Object(policy),
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

    fn update(body: Value) -> Result<Update, Refusal> {
        match body {
            Value::Object(body) => Update::parse(body),
            other => panic!("{other} is no object"),
        }
    }

    fn set(policies: &mut Policies, body: Value) -> Result<Written, u16> {
        policies
            .set(SECRET, &update(body).unwrap())
            .map_err(|refusal| refusal.code)
    }

    #[test]
    fn base64_is_base64() {
        assert_eq!(etag(*b"light w\xff\x00"), "bGlnaHQgd/8A");
    }

    #[test]
    fn a_new_resource_has_an_empty_policy_with_an_etag() {
        assert_eq!(Policies::new(0).get(SECRET), json!({"etag": "ACAB"}));
    }

    #[test]
    fn every_write_changes_the_etag_and_a_stale_one_conflicts() {
        let mut policies = Policies::new(0);
        let first = set(&mut policies, json!({"policy": {"etag": "ACAB"}})).unwrap();
        assert!(!first.blind);
        assert_eq!(policies.get(SECRET), first.policy);
        let second = set(&mut policies, json!({"policy": first.policy})).unwrap();
        assert_ne!(first.policy["etag"], second.policy["etag"]);
        assert_eq!(
            set(&mut policies, json!({"policy": first.policy})).unwrap_err(),
            409
        );
        assert_eq!(
            set(&mut policies, json!({"policy": {"etag": "ACAB"}})).unwrap_err(),
            409
        );
        assert_eq!(policies.get(SECRET), second.policy);
    }

    #[test]
    fn without_an_etag_a_write_is_blind() {
        let mut policies = Policies::new(0);
        set(&mut policies, json!({"policy": {"auditConfigs": []}})).unwrap();
        for policy in [json!({}), json!({"etag": ""}), json!({"etag": null})] {
            let written = set(&mut policies, json!({"policy": policy})).unwrap();
            assert!(written.blind);
            assert_eq!(written.policy.get("auditConfigs"), None);
        }
    }

    #[test]
    fn fields_nobody_modelled_survive() {
        let condition = json!({"title": "until noon", "expression": "true", "odd": [1]});
        let policy = json!({
            "version": 3,
            "bindings": [{"role": "r", "members": ["user:a"], "condition": condition, "x": 1}],
            "auditConfigs": [{"service": "allServices"}],
            "y": {"z": null},
        });
        let mut policies = Policies::new(0);
        set(&mut policies, json!({"policy": policy})).unwrap();
        let mut read = policies.get(SECRET);
        read.as_object_mut().unwrap().remove("etag");
        assert_eq!(read, policy);
    }

    #[test]
    fn a_mask_limits_what_is_replaced() {
        let mut policies = Policies::new(0);
        let first = json!({"bindings": [{"role": "r"}], "auditConfigs": [1], "other": 1});
        set(&mut policies, json!({"policy": first})).unwrap();
        let second = json!({"bindings": [{"role": "s"}], "auditConfigs": [2]});
        let body = json!({"policy": second, "updateMask": "bindings, other,etag"});
        let written = set(&mut policies, body).unwrap().policy;
        assert_eq!(written["bindings"], second["bindings"]);
        assert_eq!(written["auditConfigs"], json!([1]));
        assert_eq!(written.get("other"), None);
        assert_eq!(written["version"], 1);

        let third = json!({"version": 3, "bindings": [{"role": "s", "condition": {}}]});
        let body = json!({"policy": third, "updateMask": "bindings"});
        assert_eq!(set(&mut policies, body).unwrap().policy["version"], 3);
    }

    #[test]
    fn what_is_no_policy_is_refused_by_name() {
        for (body, what) in [
            (json!({}), "policy is required"),
            (json!({"policy": 1}), "policy must be"),
            (json!({"policy": null}), "policy must be"),
            (json!({"policy": {}, "updateMask": 1}), "updateMask"),
            (json!({"policy": {"etag": 1}}), "policy.etag"),
            (json!({"policy": {"version": 2}}), "policy.version"),
            (json!({"policy": {"version": "1"}}), "policy.version"),
            (json!({"policy": {"bindings": {}}}), "policy.bindings must"),
            (
                json!({"policy": {"bindings": [{"role": "r"}, 1]}}),
                "policy.bindings[1] must",
            ),
            (
                json!({"policy": {"bindings": [{}]}}),
                "policy.bindings[0].role",
            ),
            (
                json!({"policy": {"bindings": [{"role": "r", "members": [1]}]}}),
                "policy.bindings[0].members",
            ),
            (
                json!({"policy": {"bindings": [{"role": "r", "condition": 1}]}}),
                "policy.bindings[0].condition",
            ),
            (
                json!({"policy": {"bindings": [{"role": "r", "condition": {}}]}}),
                "\"version\": 3",
            ),
        ] {
            let refusal = update(body).unwrap_err();
            assert_eq!(refusal.code, 400);
            assert!(refusal.message.contains(what), "{}", refusal.message);
        }
    }

    #[test]
    fn a_policy_set_by_hand_is_checked_too() {
        assert!(Update::whole(json!({"bindings": []})).is_ok());
        assert!(Update::whole(json!([])).is_err());
    }
}
