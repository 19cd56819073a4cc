//! Looks through the expressions of a body: which names are bound, and where the body returns. (syn's own `visit` is a feature
//! that costs compile time.)

use std::collections::HashSet;

use proc_macro2::{Ident, TokenTree};
use quote::ToTokens;
use syn::{
    Expr, ExprArray, ExprAssign, ExprAsync, ExprAwait, ExprBinary, ExprBlock, ExprBreak, ExprCast,
    ExprField, ExprGroup, ExprIndex, ExprLet, ExprLoop, ExprParen, ExprReference, ExprReturn,
    ExprTry, ExprTuple, ExprUnary, ExprUnsafe, ExprWhile, Local, Stmt, StmtMacro,
};

use crate::groups::any_deep;

/// The findings in a body, from its form. The input of a macro shows nothing.
#[derive(Default)]
pub(crate) struct Seen {
    /// Names in patterns and items, which may be other variables in the body.
    pub(crate) bound: HashSet<String>,
    /// The first `return` that leaves this body.
    pub(crate) returned: Option<Ident>,
    /// Whether a `return` leaves only a closure or an `async` block.
    in_another: bool,
}

impl Seen {
    pub(crate) fn of(stmts: &[Stmt]) -> Self {
        let mut seen = Seen::default();
        seen.stmts(stmts);
        seen
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            match stmt {
                Stmt::Local(Local { pat, init, .. }) => {
                    if let Some(init) = init {
                        self.look(&init.expr);
                        self.all(init.diverge.as_ref().map(|(_, it)| &**it));
                    }
                    self.bind(pat);
                }
                Stmt::Item(item) => self.bind(item),
                Stmt::Expr(expr, _) => self.look(expr),
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

    fn look(&mut self, expr: &Expr) {
        let in_another = self.in_another;
        match expr {
            Expr::Array(ExprArray { elems, .. }) | Expr::Tuple(ExprTuple { elems, .. }) => {
                self.all(elems);
            }
            Expr::Call(call) => {
                self.look(&call.func);
                self.all(&call.args);
            }
            Expr::MethodCall(call) => {
                self.look(&call.receiver);
                self.all(&call.args);
            }
            Expr::Struct(made) => {
                self.all(made.fields.iter().map(|field| &field.expr));
                self.all(made.rest.as_deref());
            }
            Expr::Return(ExprReturn {
                expr, return_token, ..
            }) => {
                if !self.in_another {
                    let found = || Ident::new("return", return_token.span);
                    self.returned.get_or_insert_with(found);
                }
                self.all(expr.as_deref());
            }
            Expr::Break(ExprBreak { expr, .. }) => self.all(expr.as_deref()),
            Expr::Assign(ExprAssign { left, right, .. })
            | Expr::Binary(ExprBinary { left, right, .. })
            | Expr::Index(ExprIndex {
                expr: left,
                index: right,
                ..
            }) => self.all([&**left, &**right]),
            Expr::Group(ExprGroup { expr, .. })
            | Expr::Paren(ExprParen { expr, .. })
            | Expr::Await(ExprAwait { base: expr, .. })
            | Expr::Cast(ExprCast { expr, .. })
            | Expr::Field(ExprField { base: expr, .. })
            | Expr::Reference(ExprReference { expr, .. })
            | Expr::Try(ExprTry { expr, .. })
            | Expr::Unary(ExprUnary { expr, .. }) => self.look(expr),
            Expr::Let(ExprLet { pat, expr, .. }) => {
                self.look(expr);
                self.bind(pat);
            }
            Expr::If(either) => {
                self.look(&either.cond);
                self.stmts(&either.then_branch.stmts);
                self.all(either.else_branch.as_ref().map(|(_, it)| &**it));
            }
            Expr::Match(one_of) => {
                self.look(&one_of.expr);
                for arm in &one_of.arms {
                    self.bind(&arm.pat);
                    self.look(&arm.body);
                }
            }
            Expr::While(ExprWhile { cond, body, .. }) => {
                self.look(cond);
                self.stmts(&body.stmts);
            }
            Expr::ForLoop(each) => {
                self.look(&each.expr);
                self.bind(&each.pat);
                self.stmts(&each.body.stmts);
            }
            Expr::Loop(ExprLoop { body: block, .. })
            | Expr::Block(ExprBlock { block, .. })
            | Expr::Unsafe(ExprUnsafe { block, .. }) => self.stmts(&block.stmts),
            Expr::Async(ExprAsync { block, .. }) => {
                self.in_another = true;
                self.stmts(&block.stmts);
            }
            Expr::Closure(closure) => {
                self.in_another = true;
                self.bind(&closure.inputs);
                self.look(&closure.body);
            }
            _ => {}
        }
        self.in_another = in_another;
    }

    fn all<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) {
        exprs.into_iter().for_each(|expr| self.look(expr));
    }

    /// Each name in the tokens may be another variable in the body.
    fn bind(&mut self, tokens: impl ToTokens) {
        self.bound.extend(words(tokens));
    }
}

/// All identifiers in the tokens.
pub(crate) fn words(tokens: impl ToTokens) -> HashSet<String> {
    let mut found = HashSet::new();
    any_deep(tokens.into_token_stream(), &mut |tokens| {
        if let [.., TokenTree::Ident(name)] = tokens {
            found.insert(name.to_string());
        }
        false
    });
    found
}
