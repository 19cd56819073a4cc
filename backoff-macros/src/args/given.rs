//! What is given: a key with its value, and the values of the attribute's own kinds.

use std::time::Duration;

use syn::{Expr, Ident};

/// A key and its value.
pub(crate) struct Given<T> {
    pub(crate) key: Ident,
    pub(crate) value: T,
}

/// A length of time.
pub(crate) struct Time {
    pub(crate) expr: Expr,
    /// What the expression says if it is a literal.
    pub(crate) literal: Option<Duration>,
}

/// How waits are spread.
pub(crate) enum Jitter {
    /// A name of the attribute's own, with its variant of `Jitter`.
    Named(Ident, &'static str),
    /// A random time up to this one on top of the wait.
    Additive(Time),
    /// Anything of type `Jitter`.
    Expr(Expr),
}
