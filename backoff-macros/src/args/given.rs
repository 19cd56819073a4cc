//! A key with its value, and the types of the attribute's own values.

use std::time::Duration;

use quote::ToTokens;
use syn::{Expr, Ident, Type};

use super::on::On;

/// A key and its value.
pub(crate) struct Given<T> {
    pub(crate) key: Ident,
    pub(crate) value: T,
}

/// The tokens after a key, before their meaning is known.
pub(super) enum Value {
    Expr(Expr),
    Text(Expr),
    Flag(Flag),
    On(On),
    Names(Names),
    Types(Vec<Type>),
}

/// The form in which a key is written, without its contents.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Form {
    /// `key = value`
    Expr,
    /// `key = value`; a literal must be a text.
    Text,
    /// `key`, or `key = value`
    Flag,
    /// `key = [..]`
    On,
    /// `key(name, mut name)`
    Names,
    /// `key(Type, Type)`
    Types,
}

/// A key without a value means `true`.
pub(crate) type Flag = Option<Expr>;

impl Given<Flag> {
    /// Whether the key has no value or the literal `true`.
    pub(crate) fn is_true(&self) -> bool {
        let value = self.value.as_ref();
        value.is_none_or(|value| value.to_token_stream().to_string() == "true")
    }
}

/// A duration.
pub(crate) struct Time {
    pub(crate) expr: Expr,
    /// The duration of the expression, if it is a literal.
    pub(crate) literal: Option<Duration>,
}

/// The jitter of the waits.
pub(crate) enum Jitter {
    /// A name that the attribute knows, with its variant of `Jitter`.
    Named(Ident, &'static str),
    /// A random time up to this one, added to the wait.
    Additive(Time),
    /// Anything of type `Jitter`.
    Expr(Expr),
}

/// The level of a log event.
pub(crate) enum Level {
    /// A name that the attribute knows, with its variant of `LogLevel`.
    Named(Ident, &'static str),
    /// Anything of type `LogLevel`.
    Expr(Expr),
}

/// Names of arguments.
pub(crate) struct Names {
    pub(crate) names: Vec<Ident>,
    /// Each name, with its `mut` if it has one.
    pub(crate) muts: Vec<(Ident, Ident)>,
}

/// A value that the setter of a policy takes.
pub(crate) enum Rule<'a> {
    Time(&'a Time),
    Jitter(&'a Jitter),
    Level(&'a Level),
    Codes(&'a On),
    Flag(&'a Flag),
    /// A whole number.
    Count(&'a Expr),
    /// A number with decimals.
    Factor(&'a Expr),
    /// A `static`, or a reference.
    Static(&'a Expr),
}

impl<'a> Rule<'a> {
    /// The user's expressions in the value.
    pub(crate) fn exprs(self) -> Vec<&'a Expr> {
        match self {
            Rule::Jitter(Jitter::Named(..)) | Rule::Level(Level::Named(..)) => Vec::new(),
            Rule::Time(Time { expr, .. })
            | Rule::Jitter(Jitter::Additive(Time { expr, .. }) | Jitter::Expr(expr))
            | Rule::Level(Level::Expr(expr))
            | Rule::Count(expr)
            | Rule::Factor(expr)
            | Rule::Static(expr) => vec![expr],
            Rule::Codes(on) => on.codes.iter().collect(),
            Rule::Flag(flag) => flag.iter().collect(),
        }
    }
}
