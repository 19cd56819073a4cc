//! The growth of the wait without jitter, in the form that a policy stores.

use super::{exponential, series, slots};
use crate::runtime::nanos;
use core::{fmt, time::Duration};

/// The growth of the wait without jitter.
#[derive(Clone, Copy)]
pub(crate) enum Growth {
    Constant,
    Linear(u64),
    Exponential(f64),
    Fibonacci,
    /// The highest number of slots that may be drawn.
    Slots,
    Custom(fn(u32) -> Duration),
}

impl Growth {
    /// The wait before retry `n` without jitter, at most `cap`.
    pub(crate) fn delay(self, base: u64, cap: u64, n: u32) -> u64 {
        match self {
            Growth::Exponential(factor) => exponential::delay(base, factor, cap, n),
            Growth::Constant => base.min(cap),
            Growth::Linear(step) => series::linear(base, step, n).min(cap),
            Growth::Fibonacci => series::fibonacci(base, cap, n),
            Growth::Slots => slots::most(base, n).min(cap),
            Growth::Custom(delay) => nanos(delay(n)).min(cap),
        }
    }
}

impl PartialEq for Growth {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Growth::Linear(a), Growth::Linear(b)) => a == b,
            (Growth::Exponential(a), Growth::Exponential(b)) => a == b,
            (Growth::Custom(a), Growth::Custom(b)) => core::ptr::fn_addr_eq(*a, *b),
            (a, b) => core::mem::discriminant(a) == core::mem::discriminant(b),
        }
    }
}

impl fmt::Debug for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Growth::Constant => f.write_str("Constant"),
            Growth::Linear(step) => write!(f, "Linear({:?})", Duration::from_nanos(*step)),
            Growth::Exponential(factor) => write!(f, "Exponential({factor})"),
            Growth::Fibonacci => f.write_str("Fibonacci"),
            Growth::Slots => f.write_str("Slots"),
            Growth::Custom(_) => f.write_str("Custom(..)"),
        }
    }
}
