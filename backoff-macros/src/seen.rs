//! Looks through the expressions of a body: what is passed on by value, which names are bound, and where
//! it returns. (syn's own `visit` is a feature that costs compile time.)

use std::collections::HashSet;

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{
    Expr, ExprArray, ExprAssign, ExprAsync, ExprAwait, ExprBinary, ExprBlock, ExprBreak, ExprCast,
    ExprField, ExprGroup, ExprIndex, ExprLet, ExprLoop, ExprMethodCall, ExprParen, ExprReference,
    ExprReturn, ExprTry, ExprTuple, ExprUnary, ExprUnsafe, ExprWhile, Item, Local, Pat, Stmt,
    StmtMacro,
};

use crate::groups::{any_deep, is_punct, is_word};
use crate::patterns::{each_name, is_constant};

/// The variables whose value an attempt may consume.
#[derive(Default)]
pub(crate) struct Owned {
    /// All of them.
    pub(crate) names: HashSet<String>,
    /// The variables that `keep(..)` names.
    pub(crate) kept: HashSet<String>,
    /// The functions that can be called only once.
    pub(crate) once: HashSet<String>,
    /// Whether they are names in a block, which may be functions.
    pub(crate) in_block: bool,
}

/// A place whose value the body passes on: a variable, or a field of one.
pub(crate) struct Consumed {
    /// The variable.
    pub(crate) name: Ident,
    pub(crate) place: TokenStream,
    /// The pattern whose names take parts of the value; without a pattern the whole value is passed on.
    pub(crate) pat: Option<Pat>,
    /// The call of a method that may consume the value.
    pub(crate) call: Option<ExprMethodCall>,
    /// The `#[cfg(..)]` that may remove this use.
    pub(crate) cfgs: TokenStream,
}

/// The findings in a body, from its form. The input of a macro shows nothing.
pub(crate) struct Seen<'a> {
    /// The variables whose use is looked for.
    owned: &'a Owned,
    pub(crate) consumed: Vec<Consumed>,
    /// Names in patterns and items, which may be other variables in the body.
    pub(crate) bound: HashSet<String>,
    /// Whether the body has a `use`.
    imports: bool,
    /// The first `return` that leaves this body.
    pub(crate) returned: Option<Ident>,
    /// The `#[cfg(..)]` around this place.
    cfgs: TokenStream,
    /// Whether this is in a closure or block with `move`, which takes each variable that it names.
    in_move: bool,
    /// Whether a `return` leaves only a closure or an `async` block.
    in_another: bool,
}

impl<'a> Seen<'a> {
    pub(crate) fn of(owned: &'a Owned, stmts: &[Stmt]) -> Self {
        let mut seen = Seen {
            owned,
            consumed: Vec::new(),
            bound: HashSet::new(),
            imports: false,
            cfgs: TokenStream::new(),
            in_move: false,
            returned: None,
            in_another: false,
        };
        seen.stmts(stmts);
        seen
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            if let Stmt::Item(item) = stmt {
                self.bind(item);
                self.imports |= matches!(item, Item::Use(_) | Item::Trait(_));
            }
        }
        for stmt in stmts {
            self.under(stmt, |seen| seen.stmt(stmt));
        }
    }

    /// Looks at a part whose attributes may remove the part.
    fn under(&mut self, part: impl ToTokens, look: impl FnOnce(&mut Self)) {
        let (outside, found) = (self.cfgs.clone(), self.consumed.len());
        let (cfgs, has_others) = attributes(part);
        self.cfgs.extend(cfgs);
        look(self);
        self.cfgs = outside;
        // The question has no `allow` and no `expect`.
        if has_others {
            let mut of_this = self.consumed.split_off(found);
            of_this.retain(|it| it.call.is_none() && it.pat.is_none());
            self.consumed.extend(of_this);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Local(Local { pat, init, .. }) => {
                if let Some(init) = init {
                    let named = match pat {
                        Pat::Type(typed) => &typed.pat,
                        pat => pat,
                    };
                    let is_name = matches!(named, Pat::Ident(it) if it.by_ref.is_none());
                    self.taken_apart(&init.expr, named);
                    self.look(&init.expr, is_name);
                    self.all(init.diverge.as_ref().map(|(_, it)| &**it), false);
                }
                self.bind(pat);
            }
            Stmt::Item(_) => {}
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

    /// The owned variable, if the expression is one or a field of one.
    fn owned(&self, expr: &Expr) -> Option<Ident> {
        let name = variable(expr)?;
        let word = name.to_string();
        (self.owned.names.contains(&word) && !self.bound.contains(&word)).then(|| name.clone())
    }

    fn consumes(&mut self, expr: &Expr, pat: Option<&Pat>, call: Option<&ExprMethodCall>) {
        if let Some(name) = self.owned(expr) {
            self.consumed.push(Consumed {
                name,
                place: expr.to_token_stream(),
                pat: pat.cloned(),
                call: call.cloned(),
                cfgs: self.cfgs.clone(),
            });
        }
    }

    /// A value that a pattern takes apart, in a `match`, a `let` or an `if let`.
    fn taken_apart(&mut self, expr: &Expr, pat: &Pat) {
        let is_asked = !matches!(pat, Pat::Ident(_))
            && !taken(pat).is_empty()
            // An item or an import in the body may be what the pattern names.
            && !self.imports
            && words(pat).is_disjoint(&self.bound);
        if is_asked {
            self.consumes(expr, Some(pat), None);
        }
    }

    fn look(&mut self, expr: &Expr, is_moved: bool) {
        if variable(expr).is_some() {
            let is_captured = self.in_move && !matches!(expr, Expr::Field(_));
            if is_moved || is_captured {
                self.consumes(expr, None, None);
            }
            return;
        }
        let outside = (self.in_move, self.in_another);
        match expr {
            Expr::Array(ExprArray { elems, .. }) | Expr::Tuple(ExprTuple { elems, .. }) => {
                self.all(elems, true);
            }
            Expr::Call(call) => {
                match variable(&call.func) {
                    Some(name) if self.owned.once.contains(&name.to_string()) => {
                        self.consumes(&call.func, None, None);
                    }
                    Some(_) => {}
                    None => self.look(&call.func, false),
                }
                self.all(&call.args, true);
            }
            Expr::MethodCall(call) => {
                let method = call.method.to_string();
                // `into_iter` also exists for references.
                let into = method == "into" || method.starts_with("into_") && method != "into_iter";
                // The question calls the method, so the arguments must mean the same outside of the body.
                let is_literal = |arg: &Expr| matches!(arg, Expr::Lit(_));
                if CONSUMING.contains(&&*method)
                    && call.args.iter().all(is_literal)
                    && !self.imports
                    && words(&call.turbofish).is_disjoint(&self.bound)
                {
                    self.consumes(&call.receiver, None, Some(call));
                }
                self.look(&call.receiver, into);
                let may_be = self.owned.in_block && takes_function(&method);
                let is_asked = |arg: &&Expr| !(may_be && variable(arg).is_some());
                self.all(call.args.iter().filter(is_asked), true);
            }
            Expr::Struct(made) => {
                for field in &made.fields {
                    self.under(field, |seen| seen.look(&field.expr, true));
                }
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
                self.taken_apart(expr, pat);
                self.look(expr, false);
                self.bind(pat);
            }
            Expr::If(either) => {
                self.look(&either.cond, false);
                self.stmts(&either.then_branch.stmts);
                self.all(either.else_branch.as_ref().map(|(_, it)| &**it), true);
            }
            Expr::Match(one_of) => {
                for arm in &one_of.arms {
                    self.under(arm, |seen| seen.taken_apart(&one_of.expr, &arm.pat));
                }
                self.look(&one_of.expr, false);
                for arm in &one_of.arms {
                    self.bind(&arm.pat);
                    self.under(arm, |seen| seen.look(&arm.body, true));
                }
            }
            Expr::While(ExprWhile { cond, body, .. }) => {
                self.look(cond, false);
                self.stmts(&body.stmts);
            }
            Expr::ForLoop(each) => {
                self.look(&each.expr, true);
                self.bind(&each.pat);
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
        self.bound.extend(words(tokens));
    }
}

/// The `#[cfg(..)]` before the tokens, and whether there are other attributes.
fn attributes(tokens: impl ToTokens) -> (TokenStream, bool) {
    let mut tokens = tokens.into_token_stream().into_iter();
    let (mut cfgs, mut has_others) = (TokenStream::new(), false);
    while let Some(hash) = tokens.next().filter(|hash| is_punct(hash, '#'))
        && let Some(TokenTree::Group(attr)) = tokens.next()
    {
        match is_word(attr.stream().into_iter().next().as_ref(), "cfg") {
            true => cfgs.extend([hash, attr.into()]),
            false => has_others = true,
        }
    }
    (cfgs, has_others)
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

/// Methods that may consume their receiver, as they do in the standard library, in clients and in databases. The
/// compiler is asked whether they do.
const CONSUMING: [&str; 15] = [
    "abort",
    "bytes",
    "close",
    "commit",
    "expect",
    "finish",
    "get_mut",
    "join",
    "rollback",
    "send",
    "shutdown",
    "text",
    "unwrap",
    "unwrap_or",
    "unwrap_or_default",
];

/// The names to which a pattern moves parts of a value. None for a pattern with `mut`, because the compiler would
/// call the `mut` of the question unused.
pub(crate) fn taken(pat: &Pat) -> Vec<Ident> {
    // An attribute may remove a name, and a macro may bind others.
    let mut is_unclear = any_deep(pat.to_token_stream(), &mut |tokens| {
        is_punct(tokens.last(), '#') || is_punct(tokens.last(), '!')
    });
    let mut names = Vec::new();
    each_name(&mut pat.clone(), &mut |it| {
        is_unclear |= it.subpat.is_some() || it.by_ref.is_none() && it.mutability.is_some();
        // Each case of `A(a) | B(a)` has the same names.
        if it.by_ref.is_none() && !is_constant(it) && !names.contains(&it.ident) {
            names.push(it.ident.clone());
        }
    });
    if is_unclear {
        names.clear();
    }
    names
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
