//! Decides where the value of a key is made: as a constant, or at each call.

use syn::{Expr, ExprGroup, ExprParen, ExprPath, Ident, Signature, UnOp};

use crate::args::Args;
use crate::bindings::{Binding, is_small};

/// The place where a value is made: the later one for a value that has parts of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// A `const` item: `cargo check` finds invalid values, and nothing is kept during an await.
    Item,
    /// An inline `const`, because an item cannot see `Self` and generic parameters.
    Inline,
    /// Evaluated once for each call.
    Call,
}

/// The names that the user's expressions can see.
pub(crate) enum Scope {
    /// In a function: its arguments, and its constant parameters.
    Function {
        bound: Vec<Binding>,
        parameters: Vec<Ident>,
    },
    /// A block does not show its surroundings.
    Block,
}

impl Scope {
    pub(crate) fn of(sig: &Signature, bound: Vec<Binding>) -> Self {
        let parameters = sig.generics.const_params().map(|it| it.ident.clone());
        Scope::Function {
            bound,
            parameters: parameters.collect(),
        }
    }

    /// The place of the policy with all its rules.
    pub(crate) fn of_policy(&self, args: &Args) -> Place {
        let rules = args.rules().into_iter();
        let rules = rules.flat_map(|(_, rule)| rule.exprs());
        let policy = args.policy.as_ref().map(|policy| match &policy.value {
            Expr::Reference(_) => Place::Call,
            value => self.place(value),
        });
        let places = rules.map(|rule| self.place(rule)).chain(policy);
        places.max().unwrap_or(Place::Item)
    }

    /// The place of an expression, by the rule of `expansion.md`, "When values are evaluated".
    pub(crate) fn place(&self, value: &Expr) -> Place {
        match value {
            Expr::Lit(_) | Expr::Const(_) | Expr::Infer(_) => Place::Item,
            Expr::Path(path) => self.of_path(path),
            // The form of a literal after it is read: `__backoff::Duration::new(1, 0)`.
            Expr::Call(call) if is_own(&call.func) => Place::Item,
            Expr::Paren(ExprParen { expr, .. }) | Expr::Group(ExprGroup { expr, .. }) => {
                self.place(expr)
            }
            Expr::Reference(reference) => self.place(&reference.expr),
            Expr::Range(range) => {
                let ends = range.start.iter().chain(&range.end);
                let places = ends.map(|end| self.place(end));
                places.max().unwrap_or(Place::Item)
            }
            _ => Place::Call,
        }
    }

    /// An item sees neither `Self` nor a generic parameter. A method does not show those of the `impl` around, so a
    /// single capital and a type before the name count as such, unless the type is one of the library's.
    fn of_path(&self, path: &ExprPath) -> Place {
        const OWN: [&str; 5] = ["Codes", "Duration", "Jitter", "LogLevel", "Policy"];
        let mut names = path.path.segments.iter().rev().map(|it| &it.ident);
        let (Some(name), owner) = (names.next(), names.next()) else {
            return Place::Call;
        };
        let is_parameter = match (owner, self) {
            (Some(owner), _) => !is_small(owner) && OWN.iter().all(|own| owner != own),
            (None, Scope::Function { parameters, .. }) if parameters.contains(name) => true,
            (None, _) => name.to_string().len() == 1,
        };
        match is_parameter || path.qself.is_some() {
            _ if is_small(name) => Place::Call,
            true => Place::Inline,
            false => Place::Item,
        }
    }
}

/// Whether a literal has become this function: `__backoff::Duration::new`.
fn is_own(function: &Expr) -> bool {
    matches!(function, Expr::Path(path) if path.path.segments.first().is_some_and(|it| it.ident == "__backoff"))
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
    fn literals_and_paths_in_capitals_are_constants_and_all_else_is_evaluated() {
        let function: syn::ItemFn = syn::parse_quote!(
            fn f<T, const LIMIT: u32>(&self, iam: P) {}
        );
        let rows = [
            ("policy = other::POLICY, base = 1.5s", Item),
            ("policy = _ODD, jitter = \"1s\", factor = 2", Item),
            ("on = [500..=504, Codes::ABORTED], jitter = full", Item),
            ("jitter = Jitter::Full, log_waits = LogLevel::Debug", Item),
            ("base = const { seconds(1) }, budget = &BUDGET", Item),
            ("when = |e| e.x == limit, attempt_timeout = self.t", Item),
            ("policy = P, deadline = D", Inline),
            ("max_attempts = LIMIT", Inline),
            ("policy = Self::POLICY", Inline),
            ("policy = OfTheImpl::POLICY", Inline),
            ("policy = <Rule as Rules>::POLICY", Inline),
            ("policy = rules::Of::<T>::POLICY", Inline),
            ("on = [429, Self::CODES]", Inline),
            ("policy = iam", Call),
            ("policy = *LAZY", Call),
            ("policy = &POLICY", Call),
            ("policy = POLICY.max_backoff(\"1s\")", Call),
            ("policy = Policy::exponential()", Call),
            ("max_attempts = self.limit", Call),
            ("max_attempts = MOST - 1, policy = Self::POLICY", Call),
            ("on = [500..=last]", Call),
        ];
        for (keys, expected) in rows {
            let scope = Scope::of(&function.sig, Vec::new());
            assert_eq!(scope.of_policy(&args(keys)), expected, "{keys}");
        }
        assert_eq!(Scope::Block.of_policy(&args("max_attempts = LIMIT")), Item);
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
