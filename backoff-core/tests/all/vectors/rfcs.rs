//! Protocols: SIP (RFC 3261), DHCP (RFC 2131), CoAP (RFC 7252).

use super::{EXPONENTIAL, HALF, LEAST, MOST, SECOND, Series};
use backoff_core::{
    Jitter, Policy,
    StopReason::{Attempts, Deadline},
};
use std::time::Duration;

const DHCP: Policy = Policy::custom(dhcp)
    .jitter(Jitter::Additive(Duration::from_secs(2)))
    .max_backoff(Duration::from_secs(65))
    .max_attempts(1_000);

/// The least wait that DHCP's "plus or minus a second" leaves.
fn dhcp(retry: u32) -> Duration {
    4 * SECOND * 2u32.saturating_pow(retry).min(16) - SECOND
}

#[rustfmt::skip]
pub(super) const SERIES: &[Series] = &[
    // RFC 3261 sends no more once 32 s have passed.
    ("RFC 3261, 17.1.2.2, timer E with T1 = 0.5 s and T2 = 4 s; timer F",
        EXPONENTIAL.base(Duration::from_millis(500)).max_backoff(Duration::from_secs(4))
            .deadline(Duration::from_secs(32)), LEAST,
        &[0.5, 1.0, 2.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0], Some(Deadline)),
    ("RFC 2131, 4.1, retransmission: a second less",
        DHCP, LEAST,
        &[3.0, 7.0, 15.0, 31.0, 63.0, 63.0], None),
    ("RFC 2131, 4.1, retransmission: the middle",
        DHCP, HALF,
        &[4.0, 8.0, 16.0, 32.0, 64.0, 64.0], None),
    ("RFC 2131, 4.1, retransmission: a second more",
        DHCP, MOST,
        &[5.0, 9.0, 17.0, 33.0, 65.0, 65.0], None),
    // They add up to 45 s, the RFC's MAX_TRANSMIT_SPAN.
    ("RFC 7252, 4.8, the longest timeouts of a CoAP message: 2 s times 1.5, doubled",
        EXPONENTIAL.base(Duration::from_secs(3)).max_attempts(5), LEAST,
        &[3.0, 6.0, 12.0, 24.0], Some(Attempts)),
];
