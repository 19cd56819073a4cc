//! What kind of function it is, and which part of its body is repeated.

mod async_trait;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Block, Expr, ExprAsync, ItemFn, ReturnType, Signature, Stmt, Type};

pub(crate) use async_trait::{moved_mut, renamed_self, without_moved_mut};

/// How the function runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    /// `async fn`
    Async,
    /// Any other function.
    Blocking,
    /// A function that returns a future, its own or a boxed one.
    Future,
}

impl Shape {
    pub(crate) fn of(function: &ItemFn) -> Self {
        let sig = &function.sig;
        if sig.asyncness.is_some() {
            Shape::Async
        } else if is_future(sig.output.to_token_stream())
            || returns_a_name(sig) && function.block.stmts.last().is_some_and(ends_boxed)
        {
            Shape::Future
        } else {
            Shape::Blocking
        }
    }
}

const BOXED: [&str; 2] = ["BoxFuture", "LocalBoxFuture"];

/// Whether `-> Type` is a future: `impl Future`, one that is pinned in a box, or an alias of that.
fn is_future(output: TokenStream) -> bool {
    let mut tokens = output.into_iter().skip_while(|token| {
        matches!(token, TokenTree::Punct(punct) if matches!(punct.as_char(), '-' | '>' | ':'))
    });
    let mut outer = String::new();
    let mut rest = TokenStream::new();
    for token in tokens.by_ref() {
        match &token {
            TokenTree::Ident(word) => {
                outer = word.to_string();
                if matches!(outer.as_str(), "impl" | "dyn") {
                    break;
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => {}
            _ => {
                rest.extend([token]);
                break;
            }
        }
    }
    rest.extend(tokens);
    match outer.as_str() {
        "impl" => bounds_name_future(rest),
        "Pin" | "Box" => {
            let mut rest = rest.into_iter();
            let is_dyn = rest.any(|token| matches!(&token, TokenTree::Ident(i) if i == "dyn"));
            is_dyn && bounds_name_future(rest.collect())
        }
        name => BOXED.contains(&name),
    }
}

/// Whether `Future<..>` is one of the bounds that come first.
fn bounds_name_future(bounds: TokenStream) -> bool {
    let mut depth = 0_usize;
    for token in bounds {
        match &token {
            TokenTree::Punct(punct) => match punct.as_char() {
                '<' => depth += 1,
                '>' if depth == 0 => return false,
                '>' => depth -= 1,
                _ => {}
            },
            TokenTree::Ident(word) if depth == 0 && word == "Future" => return true,
            _ => {}
        }
    }
    false
}

fn returns_a_name(sig: &Signature) -> bool {
    matches!(&sig.output, ReturnType::Type(_, ty) if matches!(**ty, Type::Path(_)))
}

/// Whether it gives back an `async` block in a box: then the type, whatever its name, is a boxed
/// future.
fn ends_boxed(last: &Stmt) -> bool {
    let block = |block: &Block| block.stmts.last().is_some_and(ends_boxed);
    match last {
        Stmt::Expr(Expr::If(either), None) => block(&either.then_branch),
        Stmt::Expr(Expr::Match(one_of), None) => one_of.arms.iter().any(|arm| {
            let body = Stmt::Expr((*arm.body).clone(), None);
            ends_boxed(&body)
        }),
        Stmt::Expr(Expr::Block(inner), None) => block(&inner.block),
        Stmt::Expr(expr @ (Expr::Call(_) | Expr::MethodCall(_)), None) => {
            inside(&mut expr.clone()).is_some()
        }
        _ => false,
    }
}

/// The `if` or the `match` that chooses among futures at the end of the function.
pub(crate) fn last_choice(function: &ItemFn) -> Option<Ident> {
    let (word, span) = match function.block.stmts.last()? {
        Stmt::Expr(Expr::If(either), None) => ("if", either.if_token.span),
        Stmt::Expr(Expr::Match(one_of), None) => ("match", one_of.match_token.span),
        _ => return None,
    };
    Some(Ident::new(word, span))
}

/// What the future gives, `None` if the type does not say: an alias, whatever its name, may put
/// anything around its arguments.
pub(crate) fn output(sig: &Signature) -> Option<TokenStream> {
    let tokens: Vec<TokenTree> = sig.output.to_token_stream().into_iter().collect();
    let is = |at: usize, word: &str| {
        tokens
            .get(at)
            .is_some_and(|token| token.to_string() == word)
    };
    let named = (0..tokens.len()).find(|&at| is(at, "Output") && is(at + 1, "="));
    let begin = named? + 2;
    let mut depth = 0_usize;
    let mut arrow = false;
    let mut ty = TokenStream::new();
    for token in &tokens[begin..] {
        if let TokenTree::Punct(punct) = token {
            match punct.as_char() {
                '<' => depth += 1,
                '>' if arrow => {}
                '>' | ',' if depth == 0 => break,
                '>' => depth -= 1,
                _ => {}
            }
            arrow = punct.as_char() == '-';
        } else {
            arrow = false;
        }
        ty.extend([token.clone()]);
    }
    (!ty.is_empty()).then_some(ty)
}

/// The `async` block that the function ends with, if it does: by itself, in `Box::pin(..)` or before
/// `.boxed()`.
pub(crate) fn last_async(function: &mut ItemFn) -> Option<&mut ExprAsync> {
    match function.block.stmts.last_mut()? {
        Stmt::Expr(expr, None) => inside(expr),
        _ => None,
    }
}

fn inside(expr: &mut Expr) -> Option<&mut ExprAsync> {
    match expr {
        Expr::Async(block) => Some(block),
        Expr::Paren(paren) => inside(&mut paren.expr),
        Expr::Group(group) => inside(&mut group.expr),
        Expr::Call(call) if call.args.len() == 1 => {
            let pins = matches!(&*call.func, Expr::Path(path)
                if path.path.segments.last().is_some_and(|last| last.ident == "pin"));
            if pins {
                inside(call.args.first_mut()?)
            } else {
                None
            }
        }
        Expr::MethodCall(call) => {
            let boxes = call.method == "boxed" || call.method == "boxed_local";
            if boxes {
                inside(&mut call.receiver)
            } else {
                None
            }
        }
        _ => None,
    }
}

/// A part of a body that another attribute has put deeper: its statements, and the type they give
/// where that is written beside them.
pub(crate) struct Part {
    pub(crate) body: TokenStream,
    pub(crate) returns: Option<TokenStream>,
    pub(crate) at: Span,
}

/// Writes the loop where the body is: in the place where `#[async_trait]` or `#[instrument]` have put
/// it, or around everything.
pub(crate) fn around_body(
    tokens: TokenStream,
    at: Span,
    write: &mut dyn FnMut(Part) -> TokenStream,
) -> TokenStream {
    for place in [async_trait::body, instrument] {
        let (written, found) = replace(tokens.clone(), place, write);
        if found {
            return written;
        }
    }
    write(Part {
        body: tokens,
        returns: None,
        at,
    })
}

/// Says whether a group after these tokens is the body, and of what type it then is.
type Place = fn(&[TokenTree], &Group) -> Option<Option<TokenStream>>;

fn replace(
    tokens: TokenStream,
    place: Place,
    write: &mut dyn FnMut(Part) -> TokenStream,
) -> (TokenStream, bool) {
    let mut written: Vec<TokenTree> = Vec::new();
    let mut found = false;
    for token in tokens {
        match token {
            TokenTree::Group(group) if !found => {
                let inside = if let Some(returns) = place(&written, &group) {
                    found = true;
                    write(Part {
                        body: group.stream(),
                        returns,
                        at: group.span(),
                    })
                } else {
                    let (inside, in_it) = replace(group.stream(), place, write);
                    found = in_it;
                    inside
                };
                let mut kept = Group::new(group.delimiter(), inside);
                kept.set_span(group.span());
                written.push(TokenTree::Group(kept));
            }
            other => written.push(other),
        }
    }
    (written.into_iter().collect(), found)
}

/// A `return` among the statements before the last: it would give back a future that is not
/// repeated.
pub(crate) fn early_return(function: &ItemFn) -> Option<Ident> {
    let (_, before) = function.block.stmts.split_last()?;
    let before = before.iter().filter(|stmt| !matches!(stmt, Stmt::Item(_)));
    before.map(ToTokens::to_token_stream).find_map(returned)
}

fn returned(tokens: TokenStream) -> Option<Ident> {
    let mut leaves_another = false;
    for token in tokens {
        match &token {
            TokenTree::Ident(word) if word == "return" => return Some(word.clone()),
            // Out of a closure or an async block it leaves only that.
            TokenTree::Group(group) if !leaves_another => {
                if let Some(found) = returned(group.stream()) {
                    return Some(found);
                }
            }
            _ => {}
        }
        leaves_another = match &token {
            TokenTree::Ident(word) => word == "async" || word == "move",
            TokenTree::Punct(punct) => punct.as_char() == '|',
            _ => false,
        };
    }
    None
}

/// `{ if false { let __tracing_attr_fake_return: T = ..; .. } { body } }`
fn instrument(_before: &[TokenTree], group: &Group) -> Option<Option<TokenStream>> {
    let names_it = |token: TokenTree| matches!(token, TokenTree::Ident(word) if word == "__tracing_attr_fake_return");
    let is_marked = group.stream().into_iter().any(|token| {
        matches!(token, TokenTree::Group(inner) if inner.stream().into_iter().any(names_it))
    });
    (group.delimiter() == Delimiter::Brace && is_marked).then_some(None)
}

/// Whether `#[tokio::test]` or `#[tokio::main]` has made this the body of a function that runs a
/// runtime of its own.
pub(crate) fn runs_a_runtime(body: &TokenStream) -> bool {
    let (mut says_so, mut blocks) = (false, false);
    fn look(tokens: TokenStream, says_so: &mut bool, blocks: &mut bool) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => look(group.stream(), says_so, blocks),
                TokenTree::Ident(word) => *blocks |= word == "block_on",
                TokenTree::Literal(literal) => {
                    *says_so |= literal.to_string() == "\"Failed building the Runtime\"";
                }
                TokenTree::Punct(_) => {}
            }
        }
    }
    look(body.clone(), &mut says_so, &mut blocks);
    says_so && blocks
}
