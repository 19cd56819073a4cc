//! A key with its value, and the types of the attribute's own values.

use std::time::Duration;

use proc_macro2::Span;
use quote::ToTokens;
use syn::{Expr, Ident, Token, Type};

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
    Flag(Expr),
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

impl Given<Expr> {
    /// Whether a flag is the literal `true`.
    pub(crate) fn is_true(&self) -> bool {
        self.value.to_token_stream().to_string() == "true"
    }
}

/// A duration.
pub(crate) struct Time {
    pub(crate) expr: Expr,
    /// The duration with its text and its place in the attribute, if it is a literal.
    pub(crate) literal: Option<(Duration, String, Span)>,
}

/// Names of arguments.
pub(crate) struct Names {
    pub(crate) names: Vec<Ident>,
    /// Each name, with its `mut` if it has one.
    pub(crate) muts: Vec<(Token![mut], Ident)>,
}

/// A value that the setter of a policy takes.
pub(crate) enum Rule<'a> {
    Time(&'a Time),
    Codes(&'a On),
    Expr(&'a Expr),
    /// A `static`, or a reference.
    Static(&'a Expr),
}

impl<'a> Rule<'a> {
    /// The user's expressions in the value.
    pub(crate) fn exprs(self) -> Vec<&'a Expr> {
        match self {
            Rule::Time(Time { expr, .. }) | Rule::Expr(expr) | Rule::Static(expr) => vec![expr],
            Rule::Codes(on) => on.codes.iter().collect(),
        }
    }
}
