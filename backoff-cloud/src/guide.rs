//! Pages for users.

#[cfg(feature = "http")]
pub mod ported;
