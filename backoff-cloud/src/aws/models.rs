//! The table of codes has every error that a model of AWS calls retryable, unless the status says the same.

use super::{STANDARD, kind};
use crate::reply::{Says, http};
use backoff_core::{
    FaultKind::{Throttled, Transient},
    Verdict,
};
use std::process::Command;

/// What the models of botocore 1.44.8 say: `python3 retryable.py > retryable.txt` writes it anew.
const LISTED: &str = include_str!("retryable.txt");

/// Errors that only single services call retryable. Everywhere else these codes say that the request is wrong or
/// refused, and a code does not name its service. (AWS' SDK knows the service, and repeats them.)
const FINAL_ELSEWHERE: [&str; 10] = [
    "AccessDeniedException",
    "BulkLoadIdNotFoundException",
    "ConflictException",
    "ConstraintViolationException",
    "InvalidTokenException",
    "RangeNotSatisfiableException",
    "S3Exception",
    "ServiceQuotaExceededException",
    "UnprocessableEntityException",
    "ValidationException",
];

/// The list of botocore, if Python and botocore are installed.
fn installed() -> Option<String> {
    let script = include_str!("retryable.py");
    let python = Command::new("python3").args(["-c", script]).output().ok()?;
    let list = String::from_utf8(python.stdout).ok()?;
    (python.status.success() && !list.is_empty()).then_some(list)
}

#[test]
fn what_a_model_calls_retryable_is_retried() {
    let installed = installed();
    let lists = [LISTED].into_iter().chain(installed.as_deref());
    for row in lists.flat_map(str::lines) {
        let [code, status, says] = *row.split(' ').collect::<Vec<_>>() else {
            panic!("`{row}` has not three parts");
        };
        // Without a status in the model, the protocols in JSON send a 400.
        let status = status.parse().unwrap_or(400);
        let reply = Says {
            kind: kind(code),
            ..http(status)
        };
        let retried = match STANDARD.judge(&reply) {
            Verdict::Retry { kind, .. } => Some(kind),
            _ => None,
        };
        let is_final = FINAL_ELSEWHERE.contains(&code);
        let expected = match (is_final, says) {
            (true, _) => None,
            _ if retried == Some(Throttled) => Some(Throttled),
            (_, "throttling") => Some(Throttled),
            _ => Some(Transient),
        };
        assert_eq!(
            retried, expected,
            "{row}: name it in `aws_kind` of backoff-core"
        );
    }
}
