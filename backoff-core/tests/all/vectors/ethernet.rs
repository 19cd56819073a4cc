//! IEEE 802.3: truncated binary exponential backoff.

use super::{LEAST, MOST, SECOND, Series};
use backoff_core::{
    Policy,
    StopReason::Attempts,
    delay::{Delay, Slots},
};
use std::time::Duration;

const ETHERNET: Policy = Policy::slots(Duration::from_nanos(51_200));

#[rustfmt::skip]
pub(super) const SERIES: &[Series] = &[
    ("IEEE 802.3: the longest waits of a frame on 10 Mbit/s; 51.2 µs times 2^c − 1",
        ETHERNET, MOST,
        &[0.0000512, 0.0001536, 0.0003584, 0.000768, 0.0015872, 0.0032256, 0.0065024, 0.013056,
            0.0261632, 0.0523776, 0.0523776, 0.0523776, 0.0523776, 0.0523776, 0.0523776], Some(Attempts)),
    ("IEEE 802.3: the shortest waits of a frame, and its 16 attempts",
        ETHERNET, LEAST,
        &[0.0; 15], Some(Attempts)),
];

/// Binary exponential backoff: the number of slots expected after a collision, `(2^c − 1) / 2`,
/// with the range ending at the 10th collision (IEEE 802.3).
#[test]
fn ethernet_expectations() {
    let slots = Slots::new(2 * SECOND);
    let policy = Policy::slots(2 * SECOND).max_backoff(Duration::MAX);
    for (collision, expected) in [
        (1, 0.5),
        (2, 1.5),
        (3, 3.5),
        (4, 7.5),
        (9, 255.5),
        (10, 511.5),
        (11, 511.5),
        (15, 511.5),
    ] {
        assert_eq!(Slots::expected(collision), expected, "E({collision})");
        // The middle of the ends, from the algorithm and from the policy: half of so many slots of 2 s.
        let most = Duration::from_secs_f64(4.0 * expected);
        for (random, end) in [(LEAST, Duration::ZERO), (MOST, most)] {
            let alone = slots.delay(collision - 1, Duration::ZERO, random);
            assert_eq!(alone, Some(end), "E({collision})");
            let policys = policy.delay(collision - 1, Duration::ZERO, random);
            assert_eq!(policys, Some(end), "E({collision})");
        }
    }
}
