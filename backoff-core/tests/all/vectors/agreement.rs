//! The algorithms of `delay` and the policies that use them have the same waits.

use super::{HALF, LEAST, MOST, SECOND, ms};
use crate::common::Scripted;
use backoff_core::{
    Jitter, Policy,
    delay::{
        Celery, ConnectRetry, Constant, Decorrelated, Delay, Exponential, Fibonacci, Linear, Slots,
    },
};
use std::time::Duration;

fn first<D: Delay>(delay: D, random: u64) -> Vec<Duration> {
    delay
        .waits_with(Scripted::drawing(random))
        .take(100)
        .collect()
}

#[test]
fn algorithms_and_policies_agree() {
    let endless = |policy: Policy| policy.max_backoff(Duration::MAX).max_attempts(101);
    let plain = |policy: Policy| endless(policy.jitter(Jitter::None));
    let first_wait = ms(70);
    let slot = Duration::from_nanos(51_200);
    for random in [LEAST, 1, MOST / 3, HALF, MOST - 1, MOST] {
        let same = |a: Vec<Duration>, b: Policy| {
            assert!(!a.is_empty());
            assert_eq!(a, first(b, random), "{b:?}");
        };
        same(first(ConnectRetry, random), Policy::connect_retry());
        same(first(Slots::new(slot), random), Policy::slots(slot));
        same(
            first(Celery::new(3, 600).full_jitter(true), random)[..3].to_vec(),
            Policy::celery(3),
        );
        same(
            first(Constant::new(first_wait), random),
            plain(Policy::constant(first_wait)),
        );
        same(
            first(Linear::new(first_wait, ms(30)), random),
            plain(Policy::linear(first_wait, ms(30))),
        );
        same(
            first(Fibonacci::new(first_wait), random),
            plain(Policy::fibonacci(first_wait)),
        );
        for factor in [1.0, 1.6, 2.0, 3.0] {
            same(
                first(Exponential::new(first_wait).factor(factor), random),
                plain(Policy::exponential().base(first_wait).factor(factor)),
            );
        }
        same(
            first(Decorrelated::new(first_wait, 9 * SECOND), random),
            endless(Policy::exponential().base(first_wait))
                .jitter(Jitter::Decorrelated)
                .max_backoff(9 * SECOND),
        );
    }
}
