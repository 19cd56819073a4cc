//! The method of an HTTP request as the name of an operation.

use http_1::Method;

/// The standard methods.
const METHODS: [&str; 9] = [
    "GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "CONNECT", "PATCH", "TRACE",
];

/// The name of any other method, as in OpenTelemetry's `http.request.method`: a label of metrics must have few values.
pub const OTHER_METHOD: &str = "_OTHER";

/// The method as the name of an operation.
pub fn name_of(method: &Method) -> &'static str {
    let mut names = METHODS.into_iter();
    names.find(|name| method == name).unwrap_or(OTHER_METHOD)
}
