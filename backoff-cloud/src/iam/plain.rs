//! An allow policy in plain types, which keeps unknown fields.

use super::allow::{AllowPolicy, Binding};
use super::condition::Condition;
#[cfg(feature = "http")]
use serde_json::{Map, Value};

/// An allow policy as the HTTP/JSON services send it.
///
/// With the feature `http` it is read and written by serde. Fields that are not named here are kept in
/// `rest`: `auditConfigs`, and fields that future versions add.
///
/// Source: <https://cloud.google.com/iam/docs/reference/rest/v1/Policy>.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "http", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "http", serde(default))]
pub struct PlainPolicy {
    /// The version of the format: 1, or 3 if there are conditions.
    pub version: i32,
    /// The etag. A write carries it and fails if another client has written in the meantime.
    #[cfg_attr(feature = "http", serde(skip_serializing_if = "Option::is_none"))]
    pub etag: Option<String>,
    /// The roles and their members.
    pub bindings: Vec<PlainBinding>,
    /// All other fields.
    #[cfg(feature = "http")]
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A role, its members and its condition.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "http", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "http", serde(default))]
pub struct PlainBinding {
    /// The role, such as `roles/viewer`.
    pub role: String,
    /// The members that have the role, such as `user:ann@example.com`.
    pub members: Vec<String>,
    /// The condition under which they have the role; without one they always have it.
    #[cfg_attr(feature = "http", serde(skip_serializing_if = "Option::is_none"))]
    pub condition: Option<Condition>,
    /// All other fields.
    #[cfg(feature = "http")]
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl AllowPolicy for PlainPolicy {
    type Binding = PlainBinding;

    fn etag(&self) -> &[u8] {
        self.etag.as_deref().unwrap_or_default().as_bytes()
    }

    fn set_version(&mut self, version: i32) {
        self.version = version;
    }

    fn bindings(&self) -> &[PlainBinding] {
        &self.bindings
    }

    fn bindings_mut(&mut self) -> &mut Vec<PlainBinding> {
        &mut self.bindings
    }
}

impl Binding for PlainBinding {
    fn new(role: &str, condition: Option<&Condition>) -> Self {
        PlainBinding {
            role: role.to_owned(),
            condition: condition.cloned(),
            ..PlainBinding::default()
        }
    }

    fn role(&self) -> &str {
        &self.role
    }

    fn has_condition(&self, condition: Option<&Condition>) -> bool {
        self.condition.as_ref().map(Condition::key) == condition.map(Condition::key)
    }

    fn members(&self) -> &[String] {
        &self.members
    }

    fn members_mut(&mut self) -> &mut Vec<String> {
        &mut self.members
    }
}

#[cfg(all(test, feature = "http"))]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unknown_fields_are_kept() {
        let text = json!({
            "version": 3,
            "etag": "BwYd",
            "bindings": [{
                "role": "roles/viewer",
                "members": ["user:a"],
                "condition": {"title": "t", "expression": "e", "location": "l", "new": 1},
                "bindingId": "7",
            }],
            "auditConfigs": [{"service": "allServices"}],
            "new": {"deep": [1.5, null]},
        });
        let policy: PlainPolicy = serde_json::from_value(text.clone()).unwrap();
        assert_eq!(serde_json::to_value(policy).unwrap(), text);
    }
}
