//! The public face of the crate in use. One binary, because each costs a link.

mod common;

#[cfg(all(feature = "breaker", feature = "macros", feature = "tokio"))]
mod breaker;
#[cfg(all(feature = "tokio", feature = "macros"))]
mod budgets;
#[cfg(all(feature = "macros", feature = "tokio"))]
mod calls;
#[cfg(feature = "serde")]
mod config;
#[cfg(all(feature = "tokio", feature = "macros"))]
mod consecutive;
#[cfg(feature = "std")]
mod distributions;
#[cfg(all(feature = "macros", feature = "tokio"))]
mod dropped;
#[cfg(all(feature = "tokio", feature = "macros"))]
mod events;
#[cfg(all(feature = "testing", feature = "tokio"))]
mod faults;
mod features;
#[cfg(all(feature = "macros", feature = "tokio"))]
mod forms;
#[cfg(all(feature = "macros", feature = "tokio"))]
mod hedges;
#[cfg(all(feature = "macros", feature = "tokio"))]
mod limits;
#[cfg(all(feature = "macros", feature = "tokio"))]
mod maybe_applied;
#[cfg(all(
    feature = "breaker",
    feature = "combine",
    feature = "macros",
    feature = "metrics",
    feature = "rate",
    feature = "testing",
    feature = "tokio",
    feature = "tracing"
))]
mod metrics;
#[cfg(feature = "testing")]
mod pace;
mod peers;
#[cfg(all(feature = "tokio", feature = "macros"))]
mod polling;
#[cfg(all(
    feature = "http-1",
    feature = "macros",
    feature = "rate",
    feature = "tokio"
))]
mod quotas;
#[cfg(all(feature = "tokio", feature = "rate"))]
mod rate;
#[cfg(all(feature = "macros", feature = "reconnect"))]
mod reconnect;
#[cfg(all(feature = "tokio", feature = "macros", feature = "std"))]
mod request_ids;
#[cfg(all(feature = "testing", feature = "tokio"))]
mod resume;
mod rooms;
#[cfg(feature = "tokio")]
mod runtimes;
#[cfg(all(feature = "tokio", feature = "macros"))]
mod settings;
#[cfg(feature = "reconnect")]
mod shared;
#[cfg(all(feature = "macros", feature = "tokio"))]
mod signals;
#[cfg(all(
    feature = "breaker",
    feature = "combine",
    feature = "macros",
    feature = "metrics",
    feature = "rate",
    feature = "testing",
    feature = "tokio",
    feature = "tracing"
))]
mod stories;
#[cfg(all(feature = "testing", feature = "tokio", feature = "tower"))]
mod tower;
#[cfg(all(feature = "macros", feature = "rate", feature = "tokio"))]
mod turns;
#[cfg(all(feature = "macros", feature = "tokio"))]
mod updates;
mod vectors;
