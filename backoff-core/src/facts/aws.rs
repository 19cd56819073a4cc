//! The meaning of AWS error codes, for `clients/aws_smithy.rs` and for the presets of `backoff-cloud`.

use super::fault::FaultKind;

/// The meaning of the code of an AWS error; `None` if the HTTP status decides.
///
/// The throttled and the transient codes are the codes of the SDKs for Rust and for Python
/// (<https://docs.rs/aws-runtime/latest/aws_runtime/retries/classifiers/>,
/// <https://github.com/boto/botocore/blob/develop/botocore/retries/standard.py>). The conflicts are the
/// codes of conditional writes to DynamoDB
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html>) and to
/// S3 (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html>).
pub fn aws_kind(code: &str) -> Option<FaultKind> {
    match aws_code(code) {
        "Throttling"
        | "ThrottlingException"
        | "ThrottledException"
        | "RequestThrottledException"
        | "TooManyRequestsException"
        | "ProvisionedThroughputExceededException"
        | "TransactionInProgressException"
        | "RequestLimitExceeded"
        | "BandwidthLimitExceeded"
        | "LimitExceededException"
        | "RequestThrottled"
        | "SlowDown"
        | "PriorRequestNotComplete"
        | "EC2ThrottledException" => Some(FaultKind::Throttled),
        "RequestTimeout"
        | "RequestTimeoutException"
        | "InternalError"
        | "IDPCommunicationError"
        | "ConditionalRequestConflict" => Some(FaultKind::Transient),
        "ConditionalCheckFailedException"
        | "TransactionConflictException"
        | "PreconditionFailed" => Some(FaultKind::Conflict),
        _ => None,
    }
}

/// The code without the prefix and suffix that services add.
///
/// Source: <https://smithy.io/2.0/aws/protocols/aws-restjson1-protocol.html>, "Operation error
/// serialization".
pub fn aws_code(code: &str) -> &str {
    let code = code.split(':').next().unwrap_or(code);
    code.rsplit('#').next().unwrap_or(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_are_known_with_what_is_put_around_them() {
        for code in [
            "ThrottlingException",
            "aws.protocoltests.restjson#ThrottlingException",
            "ThrottlingException:http://internal.amazon.com/coral/com.amazon.coral.service/",
            "aws.protocoltests#ThrottlingException:http://internal.amazon.com/",
        ] {
            assert_eq!(aws_kind(code), Some(FaultKind::Throttled), "{code}");
        }
        for unknown in ["", "#", ":", "throttling", "Throttling ", "AccessDenied"] {
            assert_eq!(aws_kind(unknown), None, "{unknown:?}");
        }
    }
}
