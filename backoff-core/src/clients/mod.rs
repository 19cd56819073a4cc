//! `Fault` for the errors of other crates: a file and a feature each.

#[cfg(feature = "reqwest-013")]
mod reqwest;
