//! Tests Cloud Storage's rules for retries: calls each operation of its JSON API on a server that fails in
//! each way that the public conformance tests name, and in some other ways.
//!
//! Source of the scenarios: <https://github.com/googleapis/conformance-tests>, `storage/v1/retry_tests.json`.

mod methods;
mod scenarios;
mod transfers;

use crate::server::Act;
use backoff_cloud::{Policy, storage};
use std::time::Duration;

/// The preset with waits that a test can afford, and time for a slow machine.
const FAST: Policy = storage::REQUEST
    .scaled(0.001)
    .deadline(Duration::from_secs(60));

/// An error as the service reports it.
fn error(status: u16) -> Act {
    let body = format!(r#"{{"error": {{"code": {status}, "message": "as asked for"}}}}"#);
    crate::server::reply(status, "content-type: application/json\r\n", body)
}
