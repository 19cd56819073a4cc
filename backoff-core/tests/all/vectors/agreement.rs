//! The algorithms of `delay` and the policies that use them have the same waits.

use super::{HALF, LEAST, MOST, SECOND, ms};
use crate::common::time::Time;
use backoff_core::{
    Jitter, Policy,
    delay::{
        Celery, ConnectRetry, Constant, Decorrelated, Delay, Exponential, Fibonacci, Linear, Slots,
    },
};
use std::time::Duration;

fn first<D: Delay>(delay: D, random: u64) -> Vec<Duration> {
    delay
        .waits_with(Time::default().drawing(random))
        .take(100)
        .collect()
}

#[test]
fn algorithms_and_policies_agree() {
    let endless = |policy: Policy| policy.max_backoff(Duration::MAX).max_attempts(101);
    let plain = |policy: Policy| endless(policy.jitter(Jitter::None));
    let (w, slot) = (ms(70), Duration::from_nanos(51_200));
    for random in [LEAST, 1, MOST / 3, HALF, MOST - 1, MOST] {
        let celery = first(Celery::new(3, 600).full_jitter(true), random);
        let decorrelated = endless(Policy::exponential().base(w)).jitter(Jitter::Decorrelated);
        let decorrelated = decorrelated.max_backoff(9 * SECOND);
        let grows = |factor| Exponential::new(w).factor(factor);
        let exponential = |factor| plain(Policy::exponential().base(w).factor(factor));
        for (alone, policy) in [
            (first(ConnectRetry, random), Policy::connect_retry()),
            (first(Slots::new(slot), random), Policy::slots(slot)),
            (celery[..3].to_vec(), Policy::celery(3)),
            (first(Constant::new(w), random), plain(Policy::constant(w))),
            (
                first(Linear::new(w, ms(30)), random),
                plain(Policy::linear(w, ms(30))),
            ),
            (
                first(Fibonacci::new(w), random),
                plain(Policy::fibonacci(w)),
            ),
            (first(grows(1.0), random), exponential(1.0)),
            (first(grows(1.6), random), exponential(1.6)),
            (first(grows(2.0), random), exponential(2.0)),
            (first(grows(3.0), random), exponential(3.0)),
            (
                first(grows(3.0).max(SECOND), random),
                exponential(3.0).max_backoff(SECOND),
            ),
            (
                first(Decorrelated::new(w, 9 * SECOND), random),
                decorrelated,
            ),
        ] {
            assert!(!alone.is_empty());
            assert_eq!(alone, first(policy, random), "{policy:?}");
        }
    }
}
