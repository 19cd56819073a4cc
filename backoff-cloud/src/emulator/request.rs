//! A raw request: a method, a path, a query and a body.

use axum::http::Method;
use serde_json::{Map, Value};

use super::refusal::Refusal;

/// The request before a service is chosen.
#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) method: &'a Method,
    pub(super) path: &'a str,
    pub(super) query: &'a Query,
    pub(super) body: &'a [u8],
}

impl Request<'_> {
    pub(super) fn object(&self) -> Result<Map<String, Value>, Refusal> {
        match serde_json::from_slice(self.body) {
            Ok(Value::Object(object)) => Ok(object),
            Ok(_) => Err(Refusal::invalid("The request body must be a JSON object.")),
            Err(error) => Err(Refusal::invalid(format!(
                "The request body is not JSON: {error}."
            ))),
        }
    }

    pub(super) fn unknown(&self) -> Refusal {
        let Self { method, path, .. } = self;
        Refusal::not_found(format!("Nothing is served for {method} {path}."))
    }
}

/// The parameters of a query string, decoded.
#[derive(Debug, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// The value of a parameter. The last one counts if there are several; an empty value counts as
    /// missing.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .rev()
            .find(|(found, _)| found == name)
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }
}

impl FromIterator<(String, String)> for Query {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(parameters: I) -> Self {
        Self(parameters.into_iter().collect())
    }
}
