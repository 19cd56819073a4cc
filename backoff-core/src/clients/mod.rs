//! `Fault` for the errors of other crates: a file each, and a feature where it is another crate's.

pub(crate) mod boxed;
mod io;

#[cfg(feature = "reqwest-013")]
mod reqwest;
