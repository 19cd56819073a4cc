//! The metrics of a breaker that has a name. [`telemetry`](crate::telemetry) lists them.

use crate::telemetry;
use metrics::{counter, gauge};

pub(super) fn opened(name: Option<&'static str>) {
    let Some(name) = name else { return };
    telemetry::describe_once();
    counter!("retry.breaker.opened", "retry.breaker" => name).increment(1);
    gauge!("retry.breaker.state", "retry.breaker" => name).set(1);
}

pub(super) fn closed(name: Option<&'static str>) {
    let Some(name) = name else { return };
    gauge!("retry.breaker.state", "retry.breaker" => name).set(0);
}

pub(super) fn refused(name: Option<&'static str>) {
    let Some(name) = name else { return };
    counter!("retry.breaker.refused", "retry.breaker" => name).increment(1);
}
