//! The meaning of AWS error codes, for `clients/aws_smithy.rs` and for the presets of `backoff-cloud`.

use super::fault::FaultKind;

/// The meaning of the code of an AWS error; `None` if the HTTP status decides. A code may have `Exception` at its end
/// or not: DynamoDB's `CancellationReasons` leave it out. With `Exception` it may begin with a small letter, as the
/// events of Bedrock's streams do: `throttlingException`.
///
/// - The throttled codes and the timeouts are the codes of the SDKs for Rust and for Python
///   (<https://docs.rs/aws-runtime/latest/aws_runtime/retries/classifiers/>,
///   <https://github.com/boto/botocore/blob/develop/botocore/retries/standard.py>).
/// - The other transient codes: S3's list of errors
///   (<https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html>), and the codes that the services' models
///   call `retryable` and that have no status which says the same
///   (<https://github.com/boto/botocore/tree/develop/botocore/data>). A test of `backoff-cloud` compares them.
/// - `ModelStreamErrorException`, a 424: "Retry your request"
///   (<https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModelWithResponseStream.html>).
/// - The conflicts are the codes of conditional writes to DynamoDB
///   (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html>) and to
///   S3 (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html>).
#[inline]
pub fn aws_kind(code: &str) -> Option<FaultKind> {
    let code = aws_code(code);
    let name = code.strip_suffix("Exception").unwrap_or(code);
    let is_event = name != code && name.starts_with(|first: char| first.is_ascii_lowercase());
    let is = |known: &str| known == name || is_event && known.eq_ignore_ascii_case(name);
    // Without `Exception` it is a quota of IAM, which no wait cures.
    (code != "LimitExceeded").then(|| kind_by(&KINDS, is))?
}

/// The codes without `Exception` at their end.
const KINDS: [(FaultKind, &str); 3] = [
    (
        FaultKind::Throttled,
        "Throttling ThrottlingError Throttled ThrottledRequest RequestThrottled TooManyRequest TooManyRequests \
         ProvisionedThroughputExceeded TransactionInProgress RequestLimitExceeded BandwidthLimitExceeded \
         LimitExceeded SlowDown PriorRequestNotComplete EC2Throttled",
    ),
    (
        FaultKind::Transient,
        "RequestTimeout InternalError IDPCommunicationError ConditionalRequestConflict OperationAborted \
         ReplicatedWriteConflict RetryableConflict ConcurrentModification InternalServer InternalServiceError \
         InsufficientCapacity DirectoryUnavailable SchemaRegistryUnavailable QueryTimeout ClientTimeout \
         StreamSessionAccessNotReady ModelStreamError",
    ),
    (
        FaultKind::Conflict,
        "ConditionalCheckFailed TransactionConflict PreconditionFailed",
    ),
];

/// The kind of a code in a table of kinds with the codes that have this kind, separated by blanks.
pub fn kind_in(table: &[(FaultKind, &str)], code: &str) -> Option<FaultKind> {
    kind_by(table, |name| name == code)
}

fn kind_by(table: &[(FaultKind, &str)], is: impl Fn(&str) -> bool) -> Option<FaultKind> {
    let names = |(_, codes): &&(FaultKind, &str)| codes.split(' ').any(&is);
    table.iter().find(names).map(|(kind, _)| *kind)
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
            "LimitExceededException",
            "throttlingException",
            "ThrottlingException",
            "aws.protocoltests.restjson#ThrottlingException",
            "ThrottlingException:http://internal.amazon.com/coral/com.amazon.coral.service/",
            "aws.protocoltests#ThrottlingException:http://internal.amazon.com/",
        ] {
            assert_eq!(aws_kind(code), Some(FaultKind::Throttled), "{code}");
        }
        // `LimitExceeded` is a quota of IAM.
        let unknown = "|#|:|throttling|Throttling |AccessDenied|Exception|LimitExceeded|tHrottlingError|\
                       validationException|exception";
        for unknown in unknown.split('|') {
            assert_eq!(aws_kind(unknown), None, "{unknown:?}");
        }
        // The events of a stream have the kinds of the errors.
        for name in
            "Throttling ModelStreamError InternalServer ServiceUnavailable ModelTimeout Validation"
                .split(' ')
        {
            let (small, rest) = (name[..1].to_ascii_lowercase(), &name[1..]);
            let event = aws_kind(&format!("{small}{rest}Exception"));
            assert_eq!(event, aws_kind(&format!("{name}Exception")), "{name}");
        }
        let transient = Some(FaultKind::Transient);
        assert_eq!(aws_kind("internalServerException"), transient);
        assert_eq!(aws_kind("modelStreamErrorException"), transient);
    }
}
