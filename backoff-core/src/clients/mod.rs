//! `Fault` for the errors of other crates: a file each, and a feature where it is another crate's. Where
//! one can be made of an attempt that was cut, its `From<TimedOut>` stands there too.

pub(crate) mod boxed;
mod io;
mod sources;

#[cfg(feature = "gax-1")]
mod gax;
#[cfg(feature = "h2-04")]
mod h2;
#[cfg(feature = "http-1")]
mod http;
#[cfg(feature = "hyper-1")]
mod hyper;
#[cfg(feature = "redis-1")]
mod redis;
#[cfg(any(feature = "reqwest-012", feature = "reqwest-013"))]
mod reqwest;
#[cfg(feature = "tonic-014")]
mod tonic;
