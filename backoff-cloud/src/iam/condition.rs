//! The condition of a binding.

#[cfg(feature = "http")]
use serde_json::{Map, Value};

/// A condition of a binding, in the Common Expression Language.
///
/// Two conditions are the same if their titles, expressions and descriptions are.
///
/// ```
/// use backoff_cloud::iam::Condition;
///
/// let until = "request.time < timestamp(\"2027-01-01T00:00:00Z\")";
/// let condition = Condition::new("this year", until).description("for the audit");
/// assert_eq!(condition.title, "this year");
/// ```
///
/// Source: <https://cloud.google.com/iam/docs/conditions-overview>.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "http", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "http", serde(default))]
pub struct Condition {
    /// The title.
    pub title: String,
    /// The expression that must be true.
    pub expression: String,
    /// The description; may be empty.
    #[cfg_attr(feature = "http", serde(skip_serializing_if = "String::is_empty"))]
    pub description: String,
    /// All other fields.
    #[cfg(feature = "http")]
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl Condition {
    /// A condition without a description.
    pub fn new(title: impl Into<String>, expression: impl Into<String>) -> Self {
        Condition {
            title: title.into(),
            expression: expression.into(),
            ..Condition::default()
        }
    }

    /// Adds this description.
    #[must_use]
    pub fn description(self, description: impl Into<String>) -> Self {
        Condition {
            description: description.into(),
            ..self
        }
    }

    /// The fields by which two conditions are compared.
    pub(super) fn key(&self) -> (&str, &str, &str) {
        (&self.title, &self.expression, &self.description)
    }
}
