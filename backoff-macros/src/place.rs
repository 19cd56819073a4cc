//! Decides from the names in a policy, or in an expression, where it can be made.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Expr, ExprGroup, ExprParen, ExprPath, PathSegment, Signature, UnOp};

use crate::args::Args;
use crate::bindings::{Binding, is_small, named};
use crate::groups::{any_deep, is_punct, last_name};

/// The place where a value is made: the later one for a value that has parts of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// A `const` item: `cargo check` finds invalid values, and nothing is kept during an await.
    Item,
    /// An inline `const`, because an item cannot see `Self` and generic parameters.
    Inline,
    /// At each call, because it depends on an argument, or is evaluated.
    Call,
}

/// The names that the user's expressions can see.
pub(crate) enum Scope {
    /// In a function: its arguments, whether one is `self`, and its generic parameters.
    Function {
        bound: Vec<Binding>,
        has_self: bool,
        generics: Vec<String>,
    },
    /// A block does not show its surroundings, so names are judged by their form.
    Block,
}

impl Scope {
    pub(crate) fn of(sig: &Signature, bound: Vec<Binding>) -> Self {
        let types = sig.generics.type_params().map(|it| it.ident.to_string());
        let consts = sig.generics.const_params().map(|it| it.ident.to_string());
        Scope::Function {
            bound,
            has_self: sig.receiver().is_some(),
            generics: types.chain(consts).collect(),
        }
    }

    /// The place of the policy with all its rules.
    pub(crate) fn of_policy(&self, args: &Args) -> Place {
        let rules = args.rules().into_iter();
        let rules = rules.flat_map(|(_, rule)| rule.exprs());
        let rules = rules.map(|rule| self.place(rule)).max();
        let policy = args.policy.as_ref().map(|policy| match &policy.value {
            Expr::Reference(_) => Place::Call,
            value => self.of_named_policy(value),
        });
        rules.max(policy).unwrap_or(Place::Item)
    }

    /// The place of a policy that the user gives. A name alone is no parameter of the `impl` around, because a
    /// constant parameter has no policy.
    fn of_named_policy(&self, value: &Expr) -> Place {
        match value {
            Expr::MethodCall(call) => {
                let args = call.args.iter().map(|arg| self.place(arg)).max();
                args.max(Some(self.of_named_policy(&call.receiver)))
                    .unwrap_or(Place::Item)
            }
            Expr::Path(path) => match path.path.get_ident() {
                Some(name) if self.is_variable(name) => Place::Call,
                Some(_) => Place::Item,
                None if is_of_a_type(path) => Place::Inline,
                None => self.place(value),
            },
            _ => self.place(value),
        }
    }

    /// The place of an expression. A macro cannot see whether an expression is a constant, so its form
    /// decides: paths, literals, constructors and setters of a policy, `codes![]`, and any expression in
    /// `const { .. }` are constants.
    pub(crate) fn place(&self, value: &Expr) -> Place {
        let mut parts: Vec<&Expr> = Vec::new();
        match value {
            Expr::Lit(_) | Expr::Const(_) | Expr::Infer(_) => {}
            Expr::Path(path) => {
                if path.path.get_ident().is_some_and(|it| self.is_variable(it)) {
                    return Place::Call;
                }
                return self.among(path.to_token_stream());
            }
            Expr::Macro(it) if last_name(&it.mac.path) == "codes" => {
                return self.among(it.mac.tokens.clone());
            }
            Expr::Paren(ExprParen { expr, .. }) | Expr::Group(ExprGroup { expr, .. }) => {
                parts.push(expr)
            }
            Expr::Field(field) => parts.push(&field.base),
            Expr::Reference(reference) => parts.push(&reference.expr),
            Expr::Cast(cast) => parts.push(&cast.expr),
            Expr::Unary(unary) if !matches!(unary.op, UnOp::Deref(_)) => parts.push(&unary.expr),
            Expr::Binary(binary) => parts.extend([&*binary.left, &*binary.right]),
            Expr::Range(range) => {
                parts.extend(range.start.iter().chain(&range.end).map(|end| &**end))
            }
            Expr::MethodCall(call) => {
                parts.push(&call.receiver);
                parts.extend(&call.args);
            }
            Expr::Call(call) if is_constructor(&call.func) => parts.extend(&call.args),
            _ => return Place::Call,
        }
        parts
            .into_iter()
            .map(|part| self.place(part))
            .max()
            .unwrap_or(Place::Item)
    }

    fn is_variable(&self, name: &Ident) -> bool {
        match self {
            Scope::Function {
                bound, has_self, ..
            } => {
                let is_self = *has_self && (name == "self" || name == "__self");
                is_self || named(bound, name).is_some()
            }
            Scope::Block => is_small(&name.to_string()),
        }
    }

    /// The place of a constant with these names. A single capital that begins a path counts as a parameter of
    /// the `impl` around, which a method does not show.
    fn among(&self, names: TokenStream) -> Place {
        let is_generic = any_deep(names, &mut |tokens| match tokens {
            [.., colon, TokenTree::Ident(_)] if is_punct(colon, ':') => false,
            [.., TokenTree::Ident(word)] => {
                let word = word.to_string();
                let is_parameter = match self {
                    Scope::Function { generics, .. } => generics.contains(&word),
                    Scope::Block => false,
                };
                is_parameter || word == "Self" || matches!(word.as_bytes(), [b'A'..=b'Z'])
            }
            _ => false,
        });
        if is_generic {
            Place::Inline
        } else {
            Place::Item
        }
    }
}

/// Whether a policy is a constant of a type, `Rule::POLICY`. The type may be a parameter of the `impl`
/// around, which a method does not show.
fn is_of_a_type(path: &ExprPath) -> bool {
    let first = path.path.segments.first();
    let is_type = |it: &PathSegment| it.ident.to_string().starts_with(char::is_uppercase);
    path.qself.is_some() || path.path.segments.len() > 1 && first.is_some_and(is_type)
}

/// Whether the expression makes a value of a type with constant functions: `Policy::exponential`.
fn is_constructor(function: &Expr) -> bool {
    let Expr::Path(path) = function else {
        return false;
    };
    let owner = path.path.segments.iter().nth_back(1);
    owner.is_some_and(|owner| {
        ["Policy", "Duration", "Jitter", "Codes"].contains(&&*owner.ident.to_string())
    })
}

/// Whether the policy is behind a reference and can stay there: `*policy`, `&self.policy`. A call may
/// make a guard, which must not live as long as the function.
pub(crate) fn is_behind_a_reference(args: &Args) -> bool {
    fn is_place(expr: &Expr) -> bool {
        match expr {
            Expr::Path(_) => true,
            Expr::Field(field) => is_place(&field.base),
            Expr::Paren(ExprParen { expr, .. }) | Expr::Group(ExprGroup { expr, .. }) => {
                is_place(expr)
            }
            _ => false,
        }
    }
    let place = match args.policy.as_ref().map(|policy| &policy.value) {
        Some(Expr::Unary(unary)) if matches!(unary.op, UnOp::Deref(_)) => &unary.expr,
        Some(Expr::Reference(reference)) => &reference.expr,
        _ => return false,
    };
    // A rule that is changed makes another policy.
    is_place(place) && args.rules().is_empty()
}

#[cfg(test)]
mod tests {
    use super::Place::{Call, Inline, Item};
    use super::*;

    fn args(keys: &str) -> Args {
        let mut errors = crate::errors::Errors::default();
        let args = crate::args::parse(keys.parse().unwrap(), &mut errors);
        assert_eq!(errors.messages(), [""; 0], "{keys}");
        args
    }

    #[test]
    fn the_policy_is_made_where_it_can_see_what_it_names() {
        let function: syn::ItemFn = syn::parse_quote!(
            fn f<'a, T, const N: u32>(&self, limit: u32, (from_secs, iam): P) {}
        );
        let rows = [
            ("policy = other::P, base = Duration::from_secs(1)", Item),
            ("policy = iam", Call),
            ("policy = iam::REQUEST", Item),
            ("policy = P, deadline = D", Inline),
            ("policy = P.max_backoff(\"1s\"), max_attempts = 1 - 1", Item),
            ("policy = P.max_attempts(limit)", Call),
            ("max_attempts = self.limit", Call),
            ("policy = mine.limit, jitter = equal", Item),
            ("max_attempts = N", Inline),
            ("policy = T::POLICY", Inline),
            ("policy = OfTheImpl::POLICY", Inline),
            ("policy = <Rule as Rules>::POLICY", Inline),
            ("policy = S::POLICY", Inline),
            ("on = [429, Self::CODES]", Inline),
            ("max_attempts = const_max(N, limit)", Call),
            ("max_attempts = (0..limit).len()", Call),
            ("when = |e| e.x == limit, attempt_timeout = self.t", Item),
        ];
        for (keys, expected) in rows {
            let scope = Scope::of(&function.sig, crate::bindings::of(&function));
            assert_eq!(scope.of_policy(&args(keys)), expected, "{keys}");
        }
    }

    #[test]
    fn a_block_guesses_where_its_policy_is_made() {
        let rows = [
            ("policy = iam::REQUEST, base = Duration::from_secs(1)", Item),
            ("base = seconds(1), jitter = full, on = [500..=504]", Call),
            ("base = const { seconds(1) }, budget = &BUDGET", Item),
            ("policy = Policy::exponential().on(codes![409])", Item),
            ("policy = *LAZY", Call),
            ("policy = &POLICY", Call),
            ("policy = make()", Call),
            ("policy = if FAST { A } else { B }, timeout = \"60s\"", Call),
            ("policy = policy", Call),
            ("max_attempts = self.limit", Call),
            ("max_attempts = __self.limit", Call),
            ("policy = _P", Item),
            ("policy = Self::POLICY", Inline),
            ("policy = T::POLICY", Inline),
        ];
        for (keys, expected) in rows {
            assert_eq!(Scope::Block.of_policy(&args(keys)), expected, "{keys}");
        }
    }

    #[test]
    fn a_policy_behind_a_reference_stays_there_and_any_other_is_copied() {
        let rows = [
            ("policy = *policy", true),
            ("policy = &self.policy, timeout = \"60s\"", true),
            ("policy = *LAZY", true),
            // The borrow of `self`, or a guard, would live as long as the call.
            ("policy = self.policy", false),
            ("policy = *self.shared.lock().unwrap()", false),
            ("policy = *policy, max_attempts = 3", false),
            ("policy = *policy, idempotent", false),
        ];
        for (keys, expected) in rows {
            assert_eq!(is_behind_a_reference(&args(keys)), expected, "{keys}");
        }
    }
}
