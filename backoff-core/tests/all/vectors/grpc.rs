//! gRPC: proposal A6 (client retries) and the connection backoff protocol.

use super::{EXPONENTIAL, HALF, LEAST, MOST, SECOND, Series, play::play};
use backoff_core::{Budget, Jitter, Policy, StopReason::Attempts};
use std::time::Duration;

const GRPC_CONFIG: Policy = Policy::exponential()
    .base(Duration::from_millis(100))
    .max_backoff(SECOND)
    .max_attempts(4);

#[rustfmt::skip]
pub(super) const SERIES: &[Series] = &[
    ("gRPC A6, the retry policy of its example, as drawn in 2017: from zero",
        GRPC_CONFIG.jitter(Jitter::Full), MOST,
        &[0.1, 0.2, 0.4], Some(Attempts)),
    ("gRPC A6, the retry policy of its example, as drawn since 2024: 20 % less",
        GRPC_CONFIG.jitter(Jitter::Proportional(0.2)), LEAST,
        &[0.08, 0.16, 0.32], Some(Attempts)),
    ("gRPC A6, the retry policy of its example, as drawn since 2024: the middle",
        GRPC_CONFIG.jitter(Jitter::Proportional(0.2)), HALF,
        &[0.1, 0.2, 0.4], Some(Attempts)),
    ("gRPC A6, the retry policy of its example, as drawn since 2024: 20 % more",
        GRPC_CONFIG.jitter(Jitter::Proportional(0.2)), MOST,
        &[0.12, 0.24, 0.48], Some(Attempts)),
    // gRPC multiplies after the cap and so waits up to 1.2 s; here the cap leaves room.
    ("gRPC A6, the retry policy of its example with six attempts, at the cap",
        GRPC_CONFIG.max_attempts(6).jitter(Jitter::Proportional(0.2)), MOST,
        &[0.12, 0.24, 0.48, 0.96, 1.0], Some(Attempts)),
    ("gRPC, connection backoff protocol: 1 s, a multiplier of 1.6, 120 s; no jitter",
        EXPONENTIAL.factor(1.6).max_backoff(Duration::from_secs(120)), LEAST,
        &[1.0, 1.6, 2.56, 4.096, 6.5536, 10.48576, 16.777216, 26.8435456, 42.94967296,
            68.719476736, 109.951162778, 120.0, 120.0], None),
];

#[test]
fn grpc_throttling_counts_every_failure_and_success() {
    let source = "gRPC A6, throttling; the table of the clients' throttle tests";
    let failures = [3, 2, 1, 0, 0].map(|tokens| format!("503 attempts {tokens}"));
    let successes = [0.8, 1.6, 2.4, 3.2, 4.0, 4.0].map(|tokens| format!("ok {tokens}"));
    let operations = [failures.join("; "), successes.join("; ")].join("; ");
    let once = Policy::exponential().max_attempts(1);
    play(source, once, Budget::grpc(4, 0.8), MOST, &operations);
}

/// The throttling that gRPC A6 shows as its example: 10 tokens, a tenth back for a success.
#[test]
fn grpc_throttling_refuses_at_exactly_half() {
    const POLICY: Policy = Policy::exponential().max_attempts(10).jitter(Jitter::None);
    let source = "gRPC A6, throttling with 10 tokens and a ratio of 0.1";
    // After a success there are 5.1, a failure makes it 4.1: still refused.
    let operations = "503 1 9, 503 2 8, 503 4 7, 503 8 6, 503 budget 5; ok 5.1; 503 budget 4.1";
    play(source, POLICY, Budget::grpc(10, 0.1), LEAST, operations);
    // What is not to be retried is not counted; a refusal is, and so is the last attempt.
    let operations = "400 permanent 10; no stopped_by_server 9; 503 1 8, 503 attempts 7";
    let policy = POLICY.max_attempts(2);
    play(source, policy, Budget::grpc(10, 0.1), LEAST, operations);
}

/// gRPC A6, "Pushback".
///
/// gRPC waits exactly as long as the pushback says and then begins anew with the first backoff. Here the wait is
/// the longer one of the pushback and the own backoff, and the backoff goes on.
#[test]
fn grpc_pushback() {
    let longer = "503@250 0.25 499, 503 0.2 498, 503@0 0.4 497, 503@1 attempts 497";
    // Negative, unparsable or repeated: the server asks not to be called again.
    let no = "no@1 stopped_by_server 500";
    let permanent = "400@1 permanent 500";
    for operation in [longer, no, permanent] {
        let (policy, budget) = (GRPC_CONFIG.jitter(Jitter::None), Budget::costs(500, 1, 1));
        play("gRPC A6, pushback", policy, budget, MOST, operation);
    }
}
