//! Repeats the user's value in a message, but only if the advice with this value is right.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Expr, Lit, RangeLimits};

use crate::args::bare::bare;
use crate::args::given::Form;
use crate::args::table::{Key, named};
use crate::args::{misread, on};
use crate::duration;
use crate::errors::show;

/// A longer value is left out.
const LONGEST: usize = 40;

/// The tokens after the key of another library, if there are any.
pub(super) struct Pasted<'a> {
    tokens: Option<&'a TokenStream>,
    expr: Option<Expr>,
}

impl<'a> Pasted<'a> {
    pub(super) fn new(tokens: Option<&'a TokenStream>) -> Self {
        let expr = tokens.and_then(|tokens| syn::parse2(tokens.clone()).ok().map(bare));
        Self { tokens, expr }
    }

    fn shown(&self) -> Option<String> {
        let shown = self.tokens.map(show);
        shown.filter(|shown| shown.len() <= LONGEST)
    }

    /// The literal, if the value is one, with or without a sign.
    fn literal(&self) -> Option<&Lit> {
        let mut expr = self.expr.as_ref()?;
        while let Expr::Unary(unary) = expr {
            expr = &unary.expr;
        }
        match expr {
            Expr::Lit(literal) => Some(&literal.lit),
            _ => None,
        }
    }

    /// "write `key = value`", or the usual form of the key if the key takes no such value.
    pub(super) fn written(&self, key: &str) -> String {
        let Some(known) = named(key) else {
            return format!("write `{key}`");
        };
        let fits = self.literal().is_none_or(|literal| takes(known, literal));
        match self.shown() {
            _ if !fits => format!("write it like `{}`", known.usage),
            Some(shown) if !known.takes_parentheses() => format!("write `{key} = {shown}`"),
            _ => format!("write `{key}`"),
        }
    }

    /// The list of `on` with the value as its only item, or the value itself if it is a list.
    pub(super) fn as_list(&self) -> Option<String> {
        let tokens = self.tokens?;
        let first = tokens.clone().into_iter().next();
        if matches!(first, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Bracket)
        {
            return self.shown();
        }
        if let Some(codes) = misread::codes(tokens) {
            return Some(format!("[{codes}]"));
        }
        let is_item = match self.expr.as_ref()? {
            Expr::Lit(literal) => is_whole(&literal.lit),
            Expr::Range(range) => {
                let ends = [&range.start, &range.end];
                matches!(range.limits, RangeLimits::Closed(_))
                    && ends.into_iter().all(
                        |end| matches!(end.as_deref(), Some(Expr::Lit(end)) if is_whole(&end.lit)),
                    )
            }
            Expr::Path(path) => !starts_small(&path.path) && misread::name(&path.path).is_none(),
            other => on::is_pattern(other),
        };
        let shown = self.shown().filter(|_| is_item)?;
        Some(format!("[{shown}]"))
    }

    /// Whether the value looks like a function: a closure, or a name in small letters.
    pub(super) fn is_function(&self) -> bool {
        match &self.expr {
            Some(Expr::Closure(_)) => true,
            Some(Expr::Path(path)) => starts_small(&path.path),
            _ => false,
        }
    }

    /// The digits of a number without a unit, if a duration can be made from them.
    pub(super) fn amount(&self) -> Option<String> {
        let Some(Expr::Lit(literal)) = &self.expr else {
            return None;
        };
        let (digits, suffix) = match &literal.lit {
            Lit::Int(number) => (number.base10_digits(), number.suffix()),
            Lit::Float(number) => (number.base10_digits(), number.suffix()),
            _ => return None,
        };
        let is_amount = suffix.is_empty() && duration::parse(&format!("{digits}s")).is_ok();
        is_amount.then(|| digits.to_owned())
    }

    pub(super) fn count(&self) -> Option<u32> {
        match &self.expr {
            Some(Expr::Lit(literal)) => match &literal.lit {
                Lit::Int(number) => number.base10_parse().ok(),
                _ => None,
            },
            _ => None,
        }
    }

    /// The value plus one, if the value is a count.
    pub(super) fn one_more(&self) -> Option<String> {
        if let Some(count) = self.count() {
            return Some(count.saturating_add(1).to_string());
        }
        let shown = self.shown().filter(|_| self.literal().is_none())?;
        match self.expr.as_ref()? {
            expr if is_simple(expr) => Some(format!("{shown} + 1")),
            Expr::Binary(_) | Expr::Cast(_) | Expr::Unary(_) => Some(format!("({shown}) + 1")),
            _ => None,
        }
    }

    /// The value as a fraction from 0 to 1.
    pub(super) fn share(&self) -> Option<String> {
        let expr = self.expr.as_ref()?;
        if self.literal().is_none() && is_simple(expr) {
            return self.shown();
        }
        let Expr::Lit(literal) = expr else {
            return None;
        };
        let share: f64 = match &literal.lit {
            Lit::Int(number) => number.base10_parse().ok()?,
            Lit::Float(number) => number.base10_parse().ok()?,
            _ => return None,
        };
        (0.0..=1.0).contains(&share).then(|| format!("{share:?}"))
    }
}

/// Whether an operator after the expression applies to the whole expression.
fn is_simple(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Path(_)
            | Expr::Call(_)
            | Expr::MethodCall(_)
            | Expr::Field(_)
            | Expr::Index(_)
            | Expr::Macro(_)
            | Expr::Paren(_)
    )
}

/// Whether the key can take such a literal.
fn takes(key: &Key, literal: &Lit) -> bool {
    match literal {
        Lit::Str(text) if key.takes_time() => duration::parse(&text.value()).is_ok(),
        number @ (Lit::Int(_) | Lit::Float(_)) if key.takes_time() => {
            duration::parse(&number.to_token_stream().to_string()).is_ok()
        }
        Lit::Str(_) => key.form == Form::Text || key.name == "jitter",
        Lit::Bool(_) => key.form == Form::Flag,
        _ => key.form == Form::Expr && key.no_literal.is_none(),
    }
}

fn is_whole(literal: &Lit) -> bool {
    matches!(literal, Lit::Int(number) if number.suffix().is_empty())
}

fn starts_small(path: &syn::Path) -> bool {
    let last = path.segments.last().map(|last| last.ident.to_string());
    last.is_some_and(|last| last.starts_with(|c: char| c.is_lowercase() || c == '_'))
}

#[cfg(test)]
mod tests {
    use crate::args::aliases::instead;

    fn said(word: &str, value: &str) -> String {
        instead(word, Some(&value.parse().unwrap())).unwrap_or_default()
    }

    #[test]
    fn what_is_known_under_another_name_is_written_with_its_key() {
        let rows = [
            ("retry_on", "500..=504", "on = [500..=504]"),
            ("retry_on", "429 | 503", "on = [429, 503]"),
            ("retry_on", "(429, 503)", "on = [429, 503]"),
            ("retry_on", "[429]", "on = [429]"),
            ("retry_on", "5xx", "on = [500..=599]"),
            ("retry_on", "\"429\"", "on = [429]"),
            ("retry_on", "E::Busy", "on = [E::Busy]"),
            ("retry_on", "E::Busy(_)", "on = [E::Busy(_)]"),
            ("retry_on", "E::Io { .. }", "on = [E::Io { .. }]"),
            ("retry_on", "E::A | E::B", "on = [E::A | E::B]"),
            ("retry_on", "MINE", "on = [MINE]"),
            ("retry_on", "is_busy", "when = is_busy"),
            ("retry_on", "E::is_busy", "when = E::is_busy"),
            ("retry_on", "|e| e.busy()", "when = |e| e.busy()"),
            ("retry_on", "r#type", "when = r#type"),
            ("codes", "503", "on = [503]"),
            ("retry_if", "any_of(A)", "when = any_of(A)"),
            ("timeout_ms", "1_500", "timeout = \"1500ms\""),
            ("initial_delay_secs", "1.5", "base = \"1.5s\""),
            ("delay", "\"3s\"", "base = \"3s\""),
            ("delay", "3s", "base = 3s"),
            ("delay", "DELAY", "base = DELAY"),
            ("max_delay", "\"10s\"", "max_backoff = \"10s\""),
            ("max_jitter", "\"1s\"", "jitter = \"1s\""),
            ("exponent", "2", "factor = 2"),
        ];
        for (word, value, expected) in rows {
            assert_eq!(
                said(word, value),
                format!("write `{expected}`"),
                "{word} = {value}"
            );
        }
    }

    #[test]
    fn only_what_compiles_and_is_surely_meant_is_pasted() {
        let either = "`on = [..]` with codes or patterns of the error, or `when = |error| ..`";
        let rows = [
            ("retry_on", "Busy", either),
            ("retry_on", "ABORTED", either),
            ("retry_on", "500..504", either),
            ("retry_on", "any_of(A)", either),
            ("retry_on", "\"busy\"", either),
            ("retry_on", "true", either),
            ("retry_on", "5.5", either),
            ("codes", "503.0", "such as `on = [429, Error::Busy { .. }]`"),
            ("retries", "N as u32", "max_attempts = (N as u32) + 1`"),
            ("retries", "N", "max_attempts = N + 1`, which counts"),
            ("retries", "(2 * N)", "max_attempts = (2 * N) + 1`"),
            (
                "retries",
                "limits::of(3)",
                "max_attempts = limits::of(3) + 1`",
            ),
            ("retries", "3u32", "max_attempts = 4`"),
            ("max_times", "N", "max_attempts = N + 1`, which counts"),
            ("MaxRetryAttempts", "2", "max_attempts = 3`, which counts"),
            ("retries", "-1", "max_attempts = ..`"),
            ("retries", "3.5", "max_attempts = ..`"),
            ("retries", "true", "max_attempts = ..`"),
            ("retries", "|n| n", "max_attempts = ..`"),
            ("times", "\"3\"", "write `max_attempts`, which counts"),
            ("tries", "\"3\"", "write it like `max_attempts = 5`"),
            ("tries", "true", "write it like `max_attempts = 5`"),
            ("random", "0.3", "Jitter::Proportional(0.3)`"),
            ("random", "1", "Jitter::Proportional(1.0)`"),
            ("random", "SHARE", "Jitter::Proportional(SHARE)`"),
            ("random", "20", "Jitter::Proportional(0.2)`"),
            ("random", "-0.5", "Jitter::Proportional(0.2)`"),
            ("random", "true", "Jitter::Proportional(0.2)`"),
            ("random", "\"20%\"", "Jitter::Proportional(0.2)`"),
            ("timeout_ms", "1e3", "such as `timeout = \"10ms\"`"),
            ("timeout_ms", "true", "such as `timeout = \"10ms\"`"),
            ("delay", "1e3", "write it like `base = \"1s\"`"),
            ("delay", "\"soon\"", "write it like `base = \"1s\"`"),
            ("delay", "true", "write it like `base = \"1s\"`"),
            ("on_retry", "\"log\"", "`notify = |event| log(event)`"),
        ];
        for (word, value, part) in rows {
            let said = said(word, value);
            assert!(said.contains(part), "{word} = {value}: {said}");
        }
        for word in ["colour", "colour_ms", "jitter_ms"] {
            assert_eq!(said(word, "3"), "", "{word}");
        }
    }
}
