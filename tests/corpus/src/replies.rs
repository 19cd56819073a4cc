//! Bodies and headers of replies that are errors.

use backoff_cloud::http::ApiError;
use backoff_core::{Fault as _, Policy};
use http_1::{HeaderMap, HeaderValue};
use std::time::SystemTime;

/// Bodies of replies that are errors, and texts that are nearly such bodies.
pub const SAMPLES: &str = include_str!("../samples/replies.txt");
const HEADERS: [&str; 3] = ["x-amzn-errortype", "x-ms-error-code", "content-type"];

/// A reply is an error of bounded length. The number of the header chooses its name.
pub fn check(status: u16, body: &[u8], name: u8, value: &[u8]) {
    let mut headers = HeaderMap::new();
    if let (Some(name), Ok(value)) = (
        HEADERS.get(usize::from(name)),
        HeaderValue::from_bytes(value),
    ) {
        headers.insert(*name, value);
    }
    let error = ApiError::new(status, &headers, body, SystemTime::UNIX_EPOCH);
    assert_eq!(error.status(), Some(status));
    let _ = Policy::exponential().judge(&error);
    let shown = error.to_string();
    assert!(shown.len() < 4_096, "{} characters", shown.len());
    assert!(!shown.contains(['\r', '\0', '\u{1b}']), "{shown:?}");
    let _ = (
        format!("{error:?}"),
        error.details().len(),
        error.retry_after(),
    );
    // A reply says the same twice.
    let again = ApiError::new(status, &headers, body, SystemTime::UNIX_EPOCH);
    assert_eq!(again.kind(), error.kind());
    assert_eq!(again.grpc_code(), error.grpc_code());
}

#[test]
fn every_sample() {
    for body in SAMPLES.lines().map(str::as_bytes) {
        for status in [400, 403, 408, 409, 429, 500, 503] {
            for name in 0..=HEADERS.len() as u8 {
                check(status, body, name, b"ThrottlingException");
            }
        }
    }
}
