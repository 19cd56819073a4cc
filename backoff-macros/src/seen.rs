//! Looks through the expressions of a body: what is passed on by value, which names are bound, and where
//! it returns. (syn's own `visit` is a feature that costs compile time.)

use std::collections::HashSet;

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{
    Expr, ExprArray, ExprAssign, ExprAsync, ExprAwait, ExprBinary, ExprBlock, ExprBreak, ExprCast,
    ExprField, ExprGroup, ExprIndex, ExprLet, ExprLoop, ExprParen, ExprReference, ExprReturn,
    ExprTry, ExprTuple, ExprUnary, ExprUnsafe, ExprWhile, Local, Pat, Stmt, StmtMacro,
};

/// The findings in a body, from its form. The input of a macro shows nothing.
pub(crate) struct Seen<'a> {
    /// The variables whose use is looked for.
    owned: &'a HashSet<String>,
    /// Places whose value is passed on, with the name of their variable.
    pub(crate) consumed: Vec<(Ident, TokenStream)>,
    /// Names in patterns and items, which may be other variables in the body.
    pub(crate) bound: HashSet<String>,
    /// The first `return` that leaves this body.
    pub(crate) returned: Option<Ident>,
    /// Whether this is in a closure or block with `move`, which takes each variable that it names.
    in_move: bool,
    /// Whether a `return` leaves only a closure or an `async` block.
    in_another: bool,
}

impl<'a> Seen<'a> {
    pub(crate) fn of(owned: &'a HashSet<String>, stmts: &[Stmt]) -> Self {
        let mut seen = Seen {
            owned,
            consumed: Vec::new(),
            bound: HashSet::new(),
            in_move: false,
            returned: None,
            in_another: false,
        };
        seen.stmts(stmts);
        seen
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            match stmt {
                Stmt::Local(Local { pat, init, .. }) => {
                    self.bind(pat);
                    let Some(init) = init else { continue };
                    let named = match pat {
                        Pat::Type(typed) => &typed.pat,
                        pat => pat,
                    };
                    self.look(
                        &init.expr,
                        matches!(named, Pat::Ident(it) if it.by_ref.is_none()),
                    );
                    self.all(init.diverge.as_ref().map(|(_, it)| &**it), false);
                }
                Stmt::Item(item) => self.bind(item),
                Stmt::Expr(expr, end) => self.look(expr, end.is_none()),
                // A macro may bind the names in its input (`pin!(a);`). With a literal in its input, it only
                // prints or logs.
                Stmt::Macro(StmtMacro { mac, .. }) => {
                    let mut input = mac.tokens.clone().into_iter();
                    if !input.any(|token| matches!(token, TokenTree::Literal(_))) {
                        self.bind(&mac.tokens);
                    }
                }
            }
        }
    }

    fn look(&mut self, expr: &Expr, is_moved: bool) {
        if let Some(name) = variable(expr) {
            let is_captured = self.in_move && !matches!(expr, Expr::Field(_));
            if (is_moved || is_captured) && self.owned.contains(&name.to_string()) {
                self.consumed.push((name.clone(), expr.to_token_stream()));
            }
            return;
        }
        let outside = (self.in_move, self.in_another);
        match expr {
            Expr::Array(ExprArray { elems, .. }) | Expr::Tuple(ExprTuple { elems, .. }) => {
                self.all(elems, true);
            }
            Expr::Call(call) => {
                if variable(&call.func).is_none() {
                    self.look(&call.func, false);
                }
                self.all(&call.args, true);
            }
            Expr::MethodCall(call) => {
                let method = call.method.to_string();
                // `into_iter` also exists for references.
                let into = method == "into" || method.starts_with("into_") && method != "into_iter";
                self.look(&call.receiver, into);
                let is_function = |arg: &&Expr| variable(arg).is_some() && takes_function(&method);
                self.all(call.args.iter().filter(|arg| !is_function(arg)), true);
            }
            Expr::Struct(made) => {
                self.all(made.fields.iter().map(|field| &field.expr), true);
                self.all(made.rest.as_deref(), false);
            }
            Expr::Return(ExprReturn {
                expr, return_token, ..
            }) => {
                if !self.in_another {
                    let found = || Ident::new("return", return_token.span);
                    self.returned.get_or_insert_with(found);
                }
                self.all(expr.as_deref(), true);
            }
            Expr::Break(ExprBreak { expr, .. }) => self.all(expr.as_deref(), true),
            Expr::Assign(ExprAssign { left, right, .. })
            | Expr::Binary(ExprBinary { left, right, .. })
            | Expr::Index(ExprIndex {
                expr: left,
                index: right,
                ..
            }) => {
                self.all([&**left, &**right], false);
            }
            Expr::Group(ExprGroup { expr, .. }) | Expr::Paren(ExprParen { expr, .. }) => {
                self.look(expr, is_moved);
            }
            Expr::Await(ExprAwait { base: expr, .. })
            | Expr::Cast(ExprCast { expr, .. })
            | Expr::Field(ExprField { base: expr, .. })
            | Expr::Reference(ExprReference { expr, .. })
            | Expr::Try(ExprTry { expr, .. })
            | Expr::Unary(ExprUnary { expr, .. }) => self.look(expr, false),
            Expr::Let(ExprLet { pat, expr, .. }) => {
                self.bind(pat);
                self.look(expr, false);
            }
            Expr::If(either) => {
                self.look(&either.cond, false);
                self.stmts(&either.then_branch.stmts);
                self.all(either.else_branch.as_ref().map(|(_, it)| &**it), true);
            }
            Expr::Match(one_of) => {
                self.look(&one_of.expr, false);
                for arm in &one_of.arms {
                    self.bind(&arm.pat);
                    self.look(&arm.body, true);
                }
            }
            Expr::While(ExprWhile { cond, body, .. }) => {
                self.look(cond, false);
                self.stmts(&body.stmts);
            }
            Expr::ForLoop(each) => {
                self.bind(&each.pat);
                self.look(&each.expr, true);
                self.stmts(&each.body.stmts);
            }
            Expr::Loop(ExprLoop { body: block, .. }) | Expr::Block(ExprBlock { block, .. }) => {
                self.stmts(&block.stmts)
            }
            // A question stands outside of the block, where the same expression may not be allowed.
            Expr::Unsafe(ExprUnsafe { block, .. }) => {
                let found = self.consumed.len();
                self.stmts(&block.stmts);
                self.consumed.truncate(found);
            }
            Expr::Async(ExprAsync { capture, block, .. }) => {
                (self.in_move, self.in_another) = (self.in_move | capture.is_some(), true);
                self.stmts(&block.stmts);
            }
            Expr::Closure(closure) => {
                let is_moved = closure.capture.is_some();
                (self.in_move, self.in_another) = (self.in_move | is_moved, true);
                self.bind(&closure.inputs);
                self.look(&closure.body, false);
            }
            _ => {}
        }
        (self.in_move, self.in_another) = outside;
    }

    fn all<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>, is_moved: bool) {
        for expr in exprs {
            self.look(expr, is_moved);
        }
    }

    /// Each name in the tokens may be another variable in the body.
    fn bind(&mut self, tokens: impl ToTokens) {
        words(tokens, &mut self.bound);
    }
}

/// The variable, if the expression is one or a field of one.
fn variable(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Path(path) => path.path.get_ident(),
        Expr::Field(field) => variable(&field.base),
        Expr::Group(group) => variable(&group.expr),
        _ => None,
    }
}

/// Whether a method of this name takes a function, as `map_err` does: a name in its argument may be a
/// generic function, about whose type the compiler cannot be asked.
fn takes_function(method: &str) -> bool {
    const WORDS: [&str; 16] = [
        "map", "then", "else", "and", "or", "with", "by", "while", "filter", "find", "fold",
        "each", "inspect", "any", "all", "position",
    ];
    method.split('_').any(|word| WORDS.contains(&word))
}

/// All identifiers in the tokens.
pub(crate) fn words(tokens: impl ToTokens, found: &mut HashSet<String>) {
    for token in tokens.into_token_stream() {
        match token {
            TokenTree::Ident(name) => {
                found.insert(name.to_string());
            }
            TokenTree::Group(group) => words(group.stream(), found),
            _ => {}
        }
    }
}
