//! The scenarios.

pub(crate) mod contention;
pub(crate) mod hedge;
pub(crate) mod outage;
pub(crate) mod quotas;
pub(crate) mod rate;

/// A table of loads, a row each: a name, how the load differs from the first one, and its limits.
macro_rules! rows {
    ($base:expr; $($name:literal { $($set:tt)* } $limits:expr;)*) => {
        &[$(($name, $crate::load::Load { $($set)* ..$base }, $limits)),*]
    };
}
pub(crate) use rows;
