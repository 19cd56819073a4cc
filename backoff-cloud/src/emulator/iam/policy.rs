//! An allow policy in a write and in a read.
//!
//! Sources: for versions <https://cloud.google.com/iam/docs/allow-policies#versions>, for reads of version
//! 1 <https://cloud.google.com/iam/docs/troubleshooting-withcond>.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value, json};

use super::names;
use crate::emulator::refusal::Refusal;

/// Separates a role from the hash of a condition that the reader does not see.
const HIDDEN: &str = "_withcond_";

/// The version of the policy format that a caller knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(in crate::emulator) enum Version {
    /// A version without conditions: 0, 1 or none.
    One,
    /// Version 3, with conditions.
    Three,
}

impl Version {
    /// Reads `0`, `1` or `3`; no other version exists.
    pub(in crate::emulator) fn of(value: &Value) -> Option<Self> {
        match value.as_u64()? {
            0 | 1 => Some(Self::One),
            3 => Some(Self::Three),
            _ => None,
        }
    }

    /// The version that the bindings need.
    pub(in crate::emulator) fn needed_by(policy: &Map<String, Value>) -> Self {
        if bindings(policy).iter().any(is_conditional) {
            Self::Three
        } else {
            Self::One
        }
    }

    pub(in crate::emulator) fn number(self) -> u8 {
        match self {
            Self::One => 1,
            Self::Three => 3,
        }
    }
}

fn bindings(policy: &Map<String, Value>) -> &[Value] {
    match policy.get("bindings") {
        Some(Value::Array(bindings)) => bindings,
        _ => &[],
    }
}

fn is_conditional(binding: &Value) -> bool {
    binding.get("condition").is_some_and(|it| !it.is_null())
}

/// The policy for a reader of this version. Without version 3, a conditional binding has no condition, and
/// its role ends in a hash of the condition.
pub(in crate::emulator) fn seen_with(version: Version, policy: &Map<String, Value>) -> Value {
    let mut seen = policy.clone();
    if version == Version::One && Version::needed_by(policy) == Version::Three {
        seen.insert("version".to_owned(), json!(1));
        if let Some(Value::Array(bindings)) = seen.get_mut("bindings") {
            bindings.iter_mut().for_each(hide_condition);
        }
    }
    Value::Object(seen)
}

fn hide_condition(binding: &mut Value) {
    if !is_conditional(binding) {
        return;
    }
    if let Value::Object(binding) = binding {
        let condition = binding.remove("condition");
        let mut hasher = DefaultHasher::new();
        condition.map(|it| it.to_string()).hash(&mut hasher);
        let hash = hasher.finish();
        if let Some(Value::String(role)) = binding.get_mut("role") {
            *role = format!("{role}{HIDDEN}{hash:016x}");
        }
    }
}

/// A policy to write. Its form is checked.
///
/// The policy stays JSON, so that unknown fields are kept.
#[derive(Debug, PartialEq)]
pub(in crate::emulator) struct Update {
    policy: Map<String, Value>,
    /// The top-level fields to replace; all fields if there is no mask.
    mask: Option<Vec<String>>,
}

impl Update {
    /// Reads the body of a setIamPolicy.
    pub(in crate::emulator) fn parse(mut body: Map<String, Value>) -> Result<Self, Refusal> {
        let mask = match body.remove("updateMask") {
            // The documented default mask. The etag is always compared.
            None | Some(Value::Null) => vec!["bindings".to_owned()],
            Some(Value::String(mask)) if mask.is_empty() => vec!["bindings".to_owned()],
            Some(Value::String(mask)) => mask
                .split(',')
                .map(|field| field.trim().to_owned())
                .collect(),
            Some(_) => {
                return Err(Refusal::invalid(
                    "updateMask must be a string of field names.",
                ));
            }
        };
        match body.remove("policy") {
            Some(policy) => Ok(Self {
                policy: check_policy(policy)?,
                mask: Some(mask),
            }),
            None => Err(Refusal::invalid("policy is required.")),
        }
    }

    /// A policy that replaces the whole old one.
    pub(in crate::emulator) fn whole(policy: Value) -> Result<Self, Refusal> {
        Ok(Self {
            policy: check_policy(policy)?,
            mask: None,
        })
    }

    pub(in crate::emulator) fn etag(&self) -> Option<&str> {
        self.policy
            .get("etag")
            .and_then(Value::as_str)
            .filter(|etag| !etag.is_empty())
    }

    /// The version that the writer knows, as its policy says.
    pub(in crate::emulator) fn version(&self) -> Version {
        self.policy
            .get("version")
            .and_then(Version::of)
            .unwrap_or(Version::One)
    }

    /// Whether the write replaces the bindings.
    pub(in crate::emulator) fn touches_bindings(&self) -> bool {
        self.mask
            .as_ref()
            .is_none_or(|mask| mask.iter().any(|field| field == "bindings"))
    }

    /// The policy after this write, without its etag.
    pub(in crate::emulator) fn applied_to(
        &self,
        stored: Option<&Map<String, Value>>,
    ) -> Map<String, Value> {
        let mut policy = match &self.mask {
            None => self.policy.clone(),
            Some(mask) => {
                let mut policy = stored.cloned().unwrap_or_default();
                for field in mask {
                    match self.policy.get(field) {
                        Some(value) => policy.insert(field.clone(), value.clone()),
                        None => policy.remove(field),
                    };
                }
                policy
            }
        };
        let version = Version::needed_by(&policy).number();
        policy.insert("version".to_owned(), json!(version));
        policy
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
    let version = match policy.get("version") {
        None => Version::One,
        Some(version) => Version::of(version)
            .ok_or_else(|| Refusal::invalid("policy.version must be 0, 1 or 3."))?,
    };
    match policy.get("bindings") {
        None => {}
        Some(Value::Array(bindings)) => {
            for (at, binding) in bindings.iter().enumerate() {
                check_binding(binding)
                    .map_err(|what| Refusal::invalid(format!("policy.bindings[{at}]{what}.")))?;
            }
        }
        Some(_) => return Err(Refusal::invalid("policy.bindings must be an array.")),
    }
    if version < Version::needed_by(&policy) {
        return Err(Refusal::invalid(
            "A policy with conditional bindings must say \"version\": 3.",
        ));
    }
    if let Some(Value::Array(bindings)) = policy.get_mut("bindings") {
        bindings.retain_mut(fold_members);
    }
    Ok(policy)
}

/// Changes the members of a binding to their stored form. Returns whether the binding has any.
fn fold_members(binding: &mut Value) -> bool {
    let members = binding.get_mut("members").and_then(Value::as_array_mut);
    let Some(members) = members else {
        return false;
    };
    for member in &mut *members {
        if let Value::String(name) = member {
            *name = names::folded(name);
        }
    }
    !members.is_empty()
}

/// Returns the mistake in a binding.
fn check_binding(binding: &Value) -> Result<(), String> {
    let Value::Object(binding) = binding else {
        return Err(" must be a JSON object".to_owned());
    };
    match binding.get("role") {
        Some(Value::String(role)) if role.contains(HIDDEN) => {
            return Err(
                ".role stands for a condition that was not shown: read the policy with \
                 options.requestedPolicyVersion 3, and write that"
                    .to_owned(),
            );
        }
        Some(Value::String(role)) if names::is_role(role) => {}
        Some(Value::String(role)) => {
            return Err(format!(
                ".role must be roles/NAME, projects/PROJECT/roles/NAME or \
                 organizations/ORGANIZATION/roles/NAME, not {role:?}"
            ));
        }
        _ => return Err(".role must be a string".to_owned()),
    }
    match binding.get("members") {
        None | Some(Value::Null) => {}
        Some(Value::Array(members)) => {
            for member in members {
                check_member(member)?;
            }
        }
        Some(_) => return Err(".members must be an array of strings".to_owned()),
    }
    match binding.get("condition") {
        None | Some(Value::Null | Value::Object(_)) => Ok(()),
        Some(_) => Err(".condition must be a JSON object".to_owned()),
    }
}

fn check_member(member: &Value) -> Result<(), String> {
    match member {
        Value::String(name) if names::is_member(name) => Ok(()),
        Value::String(name) => Err(format!(
            ".members must be principals such as user:ann@example.com, not {name:?}"
        )),
        _ => Err(".members must be an array of strings".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(object) => object,
            other => panic!("{other} is no object"),
        }
    }

    fn refused(body: Value) -> String {
        let refusal = Update::parse(object(body)).unwrap_err();
        assert_eq!(refusal.code, 400);
        refusal.message
    }

    #[test]
    fn the_refusal_of_an_invalid_policy_names_the_mistake() {
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
                json!({"policy": {"bindings": [{"role": "roles/r"}, 1]}}),
                "policy.bindings[1] must",
            ),
            (
                json!({"policy": {"bindings": [{}]}}),
                "policy.bindings[0].role",
            ),
            (
                json!({"policy": {"bindings": [{"role": "roles/r", "members": [1]}]}}),
                "policy.bindings[0].members",
            ),
            (
                json!({"policy": {"bindings": [{"role": "roles/r", "condition": 1}]}}),
                "policy.bindings[0].condition",
            ),
        ] {
            let message = refused(body);
            assert!(message.contains(what), "{message}");
        }
    }

    #[test]
    fn unknown_members_and_roles_are_refused() {
        let with = |role: &str, member: &str| json!({"policy": {"bindings": [{"role": role, "members": ["allUsers", member]}]}});
        for member in ["", "ann@example.com", "user:", "user:ann@example.com "] {
            let message = refused(with("roles/viewer", member));
            assert!(message.contains("policy.bindings[0].members"), "{message}");
        }
        let message = refused(with("viewer", "user:ann@example.com"));
        assert!(message.contains("policy.bindings[0].role"), "{message}");
        assert!(Update::parse(object(with("roles/viewer", "user:ann@example.com"))).is_ok());
    }

    #[test]
    fn members_are_kept_in_lower_case_and_bindings_without_any_not_at_all() {
        let bindings = json!([
            {"role": "roles/a"},
            {"role": "roles/b", "members": null},
            {"role": "roles/c", "members": []},
            {"role": "roles/d", "members": ["user:Ann@Example.com", "principal://x/A"]},
        ]);
        let kept = Update::whole(json!({"bindings": bindings})).unwrap();
        assert_eq!(
            kept.applied_to(None)["bindings"],
            json!([{"role": "roles/d", "members": ["user:ann@example.com", "principal://x/A"]}])
        );
    }

    #[test]
    fn a_condition_needs_version_three() {
        let policy = |version| json!({"version": version, "bindings": [{"role": "roles/r", "condition": {}}]});
        for version in [json!(null), json!(0), json!(1)] {
            assert!(refused(json!({"policy": policy(version)})).contains("\"version\": 3"));
        }
        assert!(Update::parse(object(json!({"policy": policy(json!(3))}))).is_ok());
    }

    #[test]
    fn a_role_that_hides_a_condition_cannot_be_written() {
        for version in [1, 3] {
            let policy = json!({"version": version, "bindings": [{"role": "roles/r_withcond_1"}]});
            assert!(refused(json!({"policy": policy})).contains("requestedPolicyVersion 3"));
        }
    }

    #[test]
    fn a_policy_set_by_hand_is_checked_too() {
        assert!(Update::whole(json!({"bindings": []})).is_ok());
        assert!(Update::whole(json!([])).is_err());
    }

    #[test]
    fn a_reader_of_version_one_sees_a_hash_for_a_condition() {
        let member = json!(["user:a@b.c"]);
        let noon =
            json!({"role": "roles/r", "members": member, "condition": {"expression": "noon"}});
        let night =
            json!({"role": "roles/r", "members": member, "condition": {"expression": "night"}});
        let plain = json!({"role": "roles/r", "members": member, "condition": null});
        let policy =
            object(json!({"version": 3, "etag": "ACAB", "bindings": [noon, night, plain]}));
        assert_eq!(
            seen_with(Version::Three, &policy),
            Value::Object(policy.clone())
        );
        let seen = seen_with(Version::One, &policy);
        assert_eq!(
            (&seen["version"], &seen["etag"]),
            (&json!(1), &json!("ACAB"))
        );
        let roles: Vec<_> = (0..3)
            .map(|at| seen["bindings"][at]["role"].as_str().unwrap())
            .collect();
        for role in &roles[..2] {
            let hash = role.strip_prefix("roles/r_withcond_").unwrap();
            assert!(hash.len() == 16 && u64::from_str_radix(hash, 16).is_ok());
        }
        assert_ne!(roles[0], roles[1]);
        assert_eq!(roles[2], "roles/r");
        for at in 0..2 {
            assert_eq!(seen["bindings"][at].get("condition"), None);
            assert_eq!(seen["bindings"][at]["members"], member);
        }
    }

    #[test]
    fn the_version_of_a_policy_is_what_its_bindings_need() {
        let whole = |policy| Update::whole(policy).unwrap().applied_to(None);
        assert_eq!(whole(json!({"version": 3}))["version"], 1);
        assert_eq!(whole(json!({}))["version"], 1);
        let conditional = json!({"version": 3, "bindings": [
            {"role": "roles/r", "members": ["allUsers"], "condition": {}},
        ]});
        assert_eq!(whole(conditional)["version"], 3);
    }
}
