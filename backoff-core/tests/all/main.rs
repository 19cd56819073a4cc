//! The public face of the crate in use. One binary, because each costs a link.

mod common;

#[cfg(all(feature = "tokio", feature = "macros"))]
mod budgets;
#[cfg(feature = "tokio")]
mod calls;
#[cfg(all(feature = "tokio", feature = "macros"))]
mod cancelled;
#[cfg(feature = "serde")]
mod config;
#[cfg(all(feature = "tokio", feature = "macros"))]
mod consecutive;
#[cfg(all(feature = "tokio", feature = "macros"))]
mod cut_keys;
#[cfg(feature = "std")]
mod distributions;
#[cfg(feature = "tokio")]
mod doubt;
#[cfg(feature = "tokio")]
mod drivers;
#[cfg(all(feature = "tokio", feature = "macros"))]
mod events;
#[cfg(all(feature = "macros", feature = "testing", feature = "tokio"))]
mod forms;
#[cfg(feature = "tokio")]
mod given_up;
#[cfg(all(feature = "tokio", feature = "macros"))]
mod judges;
#[cfg(all(feature = "tokio", feature = "macros"))]
mod limits;
#[cfg(all(feature = "tokio", feature = "macros"))]
mod maybe_applied;
#[cfg(all(
    feature = "macros",
    feature = "metrics",
    feature = "testing",
    feature = "tokio"
))]
mod metrics;
#[cfg(all(feature = "std", feature = "testing"))]
mod pace;
mod peers;
#[cfg(all(feature = "tokio", feature = "macros"))]
mod polling;
#[cfg(all(feature = "macros", feature = "reconnect"))]
mod reconnect;
#[cfg(all(feature = "tokio", feature = "macros", feature = "std"))]
mod request_ids;
#[cfg(all(feature = "testing", feature = "tokio"))]
mod resume;
mod rooms;
#[cfg(feature = "tokio")]
mod runtimes;
#[cfg(all(feature = "macros", feature = "tokio", feature = "tracing"))]
mod spans;
#[cfg(all(feature = "tokio", feature = "macros", feature = "testing"))]
mod stopping;
#[cfg(feature = "tokio")]
#[cfg(all(feature = "tokio", feature = "tower"))]
mod stopping_tower;
#[cfg(feature = "tokio")]
mod timeouts;
#[cfg(all(feature = "testing", feature = "tokio", feature = "tower"))]
mod tower;
#[cfg(feature = "tokio")]
mod updates;
mod vectors;
