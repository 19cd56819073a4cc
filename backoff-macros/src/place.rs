//! Decides from the names in a policy, or in an expression, where it can be made.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::{Expr, ExprGroup, ExprParen, FnArg, GenericParam, PathSegment, Signature, Token, UnOp};

use crate::args::Args;
use crate::groups::flat;

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
    /// In a function: its arguments, and its generic parameters.
    Function {
        variables: Vec<String>,
        generics: Vec<String>,
    },
    /// A block does not show its surroundings, so names are judged by their form.
    Block,
}

impl Scope {
    pub(crate) fn of(sig: &Signature) -> Self {
        let mut variables = Vec::new();
        for input in &sig.inputs {
            match input {
                FnArg::Receiver(_) => variables.extend(["self", "__self"].map(str::to_owned)),
                FnArg::Typed(typed) => {
                    let names = named(flat(typed.pat.to_token_stream()));
                    variables.extend(names.into_iter().map(|named| named.name));
                }
            }
        }
        let mut generics = Vec::new();
        for parameter in &sig.generics.params {
            match parameter {
                GenericParam::Type(parameter) => generics.push(parameter.ident.to_string()),
                GenericParam::Const(parameter) => generics.push(parameter.ident.to_string()),
                GenericParam::Lifetime(_) => {}
            }
        }
        Scope::Function {
            variables,
            generics,
        }
    }

    /// The place of the policy with all its rules.
    pub(crate) fn of_policy(&self, args: &Args) -> Place {
        let rules = args.rules().into_iter();
        let rules = rules.flat_map(|(_, rule)| rule.tokens());
        let rules = rules.map(|rule| self.place(rule)).max();
        let policy = args.policy.as_ref().map(|policy| match &policy.value {
            Expr::Reference(_) => Place::Call,
            value if is_of_a_type(value) => self.place(value).max(Place::Inline),
            value => self.place(value),
        });
        rules.max(policy).unwrap_or(Place::Item)
    }

    /// The place of an expression.
    pub(crate) fn place(&self, value: impl ToTokens) -> Place {
        let tokens = flat(value.into_token_stream());
        let is_evaluated = !is_plain(&tokens)
            && syn::parse2::<Expr>(tokens.clone()).is_ok_and(|expr| !is_constant(&expr));
        let named = named(tokens);
        if is_evaluated || named.iter().any(|named| self.is_variable(named)) {
            Place::Call
        } else if named.iter().any(|named| self.is_generic(named)) {
            Place::Inline
        } else {
            Place::Item
        }
    }

    fn is_variable(&self, named: &Named) -> bool {
        !named.before_path
            && match self {
                Scope::Function { variables, .. } => variables.contains(&named.name),
                Scope::Block => {
                    let word = named.name.trim_start_matches('_');
                    word.starts_with(char::is_lowercase) && !named.before_call
                }
            }
    }

    /// A single capital counts as a parameter of the `impl` around, which a method does not show.
    fn is_generic(&self, named: &Named) -> bool {
        let is_letter = matches!(named.name.as_bytes(), [b'A'..=b'Z']);
        let is_parameter = match self {
            Scope::Function { generics, .. } => generics.contains(&named.name),
            Scope::Block => false,
        };
        is_letter || is_parameter || named.name == "Self"
    }
}

/// Whether a policy is a constant of a type, `Rule::POLICY`. The type may be a parameter of the `impl`
/// around, which a method does not show.
fn is_of_a_type(policy: &Expr) -> bool {
    let Expr::Path(path) = policy else {
        return false;
    };
    let first = path.path.segments.first();
    let is_type = |it: &PathSegment| it.ident.to_string().starts_with(char::is_uppercase);
    path.qself.is_some() || path.path.segments.len() > 1 && first.is_some_and(is_type)
}

/// Whether these tokens are a number, a text, a path or a range, without parsing them.
fn is_plain(tokens: &TokenStream) -> bool {
    tokens.clone().into_iter().all(|token| match token {
        TokenTree::Literal(_) => true,
        TokenTree::Ident(word) => word != "await" && word != "return" && word != "break",
        TokenTree::Punct(sign) => matches!(sign.as_char(), ':' | '.' | '='),
        TokenTree::Group(_) => false,
    })
}

/// Whether an expression looks like a constant. A macro cannot see whether it is one, so its form
/// decides: paths, literals, constructors and setters of a policy, `codes![]`, and any expression in
/// `const { .. }`.
fn is_constant(expr: &Expr) -> bool {
    let all = |args: &Punctuated<Expr, Token![,]>| args.iter().all(is_constant);
    match expr {
        Expr::Path(_) | Expr::Lit(_) | Expr::Const(_) | Expr::Infer(_) => true,
        Expr::Macro(mac) => mac
            .mac
            .path
            .segments
            .last()
            .is_some_and(|it| it.ident == "codes"),
        Expr::Paren(ExprParen { expr, .. }) | Expr::Group(ExprGroup { expr, .. }) => {
            is_constant(expr)
        }
        Expr::Field(field) => is_constant(&field.base),
        Expr::Reference(reference) => is_constant(&reference.expr),
        Expr::Cast(cast) => is_constant(&cast.expr),
        Expr::Unary(unary) => !matches!(unary.op, UnOp::Deref(_)) && is_constant(&unary.expr),
        Expr::Binary(binary) => is_constant(&binary.left) && is_constant(&binary.right),
        Expr::Range(range) => [&range.start, &range.end]
            .into_iter()
            .flatten()
            .all(|end| is_constant(end)),
        Expr::MethodCall(call) => is_constant(&call.receiver) && all(&call.args),
        Expr::Call(call) => is_constructor(&call.func) && all(&call.args),
        _ => false,
    }
}

/// Whether the expression makes a value of a type with constant functions: `Policy::exponential`.
fn is_constructor(function: &Expr) -> bool {
    let Expr::Path(path) = function else {
        return false;
    };
    let mut segments = path.path.segments.iter().rev().skip(1);
    segments.next().is_some_and(|owner| {
        ["Policy", "Duration", "Jitter", "Codes"]
            .iter()
            .any(|name| owner.ident == name)
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
    let is_reference = args
        .policy
        .as_ref()
        .is_some_and(|policy| match &policy.value {
            Expr::Unary(unary) => matches!(unary.op, UnOp::Deref(_)) && is_place(&unary.expr),
            Expr::Reference(reference) => is_place(&reference.expr),
            _ => false,
        });
    // A rule that is changed makes another policy.
    is_reference && args.rules().is_empty()
}

/// An identifier that may name a variable or a type.
struct Named {
    name: String,
    /// The identifier is the first segment of a path: `name::`.
    before_path: bool,
    /// The identifier is called: `name(`.
    before_call: bool,
}

/// The names in the tokens, without fields, methods, later segments of a path and macros.
fn named(tokens: TokenStream) -> Vec<Named> {
    let mut found = Vec::new();
    let mut before = ' ';
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let mut now = ' ';
        match token {
            // Code in `const { .. }` names no variable.
            TokenTree::Ident(ident) if ident == "const" => {
                tokens.next();
            }
            TokenTree::Ident(ident) => {
                let next = match tokens.peek() {
                    Some(TokenTree::Punct(punct)) => punct.as_char(),
                    Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Parenthesis => '(',
                    _ => ' ',
                };
                if !matches!(before, '.' | ':') && next != '!' {
                    found.push(Named {
                        name: ident.to_string(),
                        before_path: next == ':',
                        before_call: next == '(',
                    });
                }
            }
            // Two dots make a range, and the token after a range is a name of its own.
            TokenTree::Punct(punct) if (before, punct.as_char()) != ('.', '.') => {
                now = punct.as_char();
            }
            TokenTree::Group(group) => found.extend(named(group.stream())),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
        before = now;
    }
    found
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
            let scope = Scope::of(&function.sig);
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
