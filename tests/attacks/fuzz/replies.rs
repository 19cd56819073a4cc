//! Bodies and headers of replies that are errors.

use crate::samples::bytes;
use backoff_cloud::http::ApiError;
use backoff_core::{Fault as _, Policy};
use http::{HeaderMap, HeaderValue};
use std::time::SystemTime;

const CORPUS: &str = include_str!("../corpus/replies.txt");
const HEADERS: [&str; 3] = ["x-amzn-errortype", "x-ms-error-code", "content-type"];

#[test]
fn a_reply_is_an_error_of_bounded_length() {
    let reply = (
        100..=999_u16,
        bytes(CORPUS),
        bolero::produce::<u8>(),
        bytes(CORPUS),
    );
    bolero::check!().with_generator(reply).for_each(
        |(status, body, name, value): &(u16, Vec<u8>, u8, Vec<u8>)| {
            let mut headers = HeaderMap::new();
            if let (Some(name), Ok(value)) = (
                HEADERS.get(usize::from(*name)),
                HeaderValue::from_bytes(value),
            ) {
                headers.insert(*name, value);
            }
            let error = ApiError::new(*status, &headers, body, SystemTime::UNIX_EPOCH);
            assert_eq!(error.status(), Some(*status));
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
            let again = ApiError::new(*status, &headers, body, SystemTime::UNIX_EPOCH);
            assert_eq!(again.kind(), error.kind());
            assert_eq!(again.grpc_code(), error.grpc_code());
        },
    );
}
