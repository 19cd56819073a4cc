//! IEEE 802.3: truncated binary exponential backoff.

use super::{LEAST, MOST, Series};
use backoff_core::{Policy, StopReason::Attempts};
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
