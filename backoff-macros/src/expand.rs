//! The written code: a loop around the body, which calls the library's `step`.

mod bound_names;
mod copies;
mod lent;
mod library;
mod looped;
mod policy;
mod unique;
mod values;
mod written;

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::Parser;
use syn::spanned::Spanned;
use syn::{Block, Expr, ExprAsync, ItemFn, ReturnType, Stmt, Type};

use crate::args::Args;
use crate::args::key_value::Given;
use crate::bindings::{self, named};
use crate::check::Repeated;
use crate::groups::{inside, is_comma, is_word, last_name, length_of_type, with};
use crate::hygiene::{at, mixed};
use crate::place::Scope;
use crate::shape::body::{Part, around_body};
use crate::shape::ending::last_async;
use crate::shape::{self, Function, Shape, is_hole};
use copies::Copies;
use library::import;
use looped::looped;
use unique::Unique;
use written::Written;

/// The function with its body in a loop; the rest of the function stays unchanged. If there are errors,
/// the function reports them and its body is not repeated.
pub(crate) fn function(
    library: TokenStream,
    args: &Args,
    given: &TokenStream,
    mut function: Function,
    errors: Option<TokenStream>,
) -> TokenStream {
    let (shape, sig) = (function.shape, &function.item.sig);
    let returns_at = match &sig.output {
        ReturnType::Default => at(sig.ident.span()),
        ReturnType::Type(_, ty) => at(ty.span()),
    };
    let returns = match (&sig.output, shape) {
        (ReturnType::Type(_, ty), Shape::Future) => {
            shape::output(ty).unwrap_or_else(|| match inside(ty) {
                // An alias of a boxed future does not show its output type, so the compiler is asked for it.
                Type::Path(_) => quote_spanned! {returns_at=>
                    <#ty as ::core::future::Future>::Output
                },
                _ => quote_spanned!(returns_at=> _),
            })
        }
        (ReturnType::Default, _) => quote!(()),
        (ReturnType::Type(_, ty), _) => ty.to_token_stream(),
    };
    let name = sig.ident.to_string();
    let name = format!("::{}", name.trim_start_matches("r#"));
    let bound = bindings::of(&mut function);
    let copies = Copies::of(&bound, args);
    let attempt = args.attempt.as_ref();
    let hides = attempt.is_some_and(|attempt| named(&bound, &attempt.value).is_some());
    let scope = Scope::of(&function.item.sig, lent::without_mut_of_copies(bound, args));
    let is_repeated = errors.is_none();
    let is_known = !is_hole(&without_impl(returns.clone()));
    let unique = match shape {
        Shape::Async | Shape::Future if is_repeated && is_known => Unique::of(&mut function, given),
        _ => Unique::default(),
    };
    let operation = mixed!(::core::concat!(::core::module_path!(), #name));
    if let Some(clone) = args.clone.as_ref().filter(|_| is_repeated) {
        bindings::without_mut(&mut function, &clone.value.names);
    }
    let Function {
        mut item, words, ..
    } = function;
    let Some((stmts, body_at)) = repeated(shape, &mut item) else {
        return quote!(#item #errors);
    };
    let body = std::mem::take(stmts);
    let body = quote!(#(#body)*);
    let written = Written {
        import: import(library.clone(), args),
        args,
        scope,
        is_async: shape != Shape::Blocking,
        judged_at: returns_at,
        operation,
        copies,
        unique,
        hides,
        errors,
    };
    let mut write = |part: Part| {
        let returns = without_impl(part.returns.unwrap_or_else(|| returns.clone()));
        written.statements(part.body, returns, part.at)
    };
    let body = around_body(shape, &words, body, body_at, &mut write);
    if let Some((stmts, _)) = repeated(shape, &mut item) {
        *stmts = vec![Stmt::Expr(Expr::Verbatim(body), None)];
    }
    // Without tests the compiler leaves out a `#[test]` and the errors in its body.
    let mut attrs = item.attrs.iter();
    let is_test = attrs.any(|attr| last_name(attr.path()) == "test");
    let beside = written.errors.filter(|_| is_test);
    quote!(#item #beside)
}

/// The statements that are repeated, and the place of their braces.
fn repeated(shape: Shape, function: &mut ItemFn) -> Option<(&mut Vec<Stmt>, Span)> {
    let block = match shape {
        Shape::Future => &mut last_async(function)?.block,
        _ => &mut function.block,
    };
    let span = block.brace_token.span.join();
    Some((&mut block.stmts, span))
}

/// A block in a loop: a future, or, if the block is not async, the outcome itself. As in a function,
/// each attempt borrows the body; `move` says that the whole future owns its variables.
pub(crate) fn block(library: TokenStream, args: &Args, block: Repeated) -> TokenStream {
    let (block_at, braces, stmts) = match &block {
        Repeated::Async(it) => (it.async_token.span, it.block.brace_token, &it.block.stmts),
        Repeated::Blocking(it) => (it.brace_token.span.join(), it.brace_token, &it.stmts),
    };
    let block_at = at(block_at);
    let body = quote!(#(#stmts)*);
    let written = Written {
        import: import(library, args),
        args,
        scope: Scope::Block,
        is_async: matches!(block, Repeated::Async(_)),
        judged_at: block_at,
        operation: mixed! { ::core::concat!(::core::module_path!(), ":", ::core::line!()) },
        copies: Copies::of(&[], args),
        unique: Unique::default(),
        hides: false,
        errors: None,
    };
    let returns = mixed!(_);
    let statements = written.statements(body, returns, braces.span.join());
    let before = match block {
        Repeated::Async(ExprAsync { attrs, capture, .. }) => {
            Some(quote_spanned!(block_at=> #(#attrs)* async #capture))
        }
        Repeated::Blocking(_) => None,
    };
    quote_spanned!(block_at=> #before { #statements })
}

/// A block whose arguments are refused, unchanged. A block that cannot be read, because it is being
/// written, keeps its names for an editor.
pub(crate) fn refused_block(
    library: TokenStream,
    args: &Args,
    block: Option<Repeated>,
    tokens: TokenStream,
    errors: &TokenStream,
) -> TokenStream {
    let before = refused(&import(library, args), args, errors, true);
    match block {
        Some(Repeated::Async(block)) => quote!({ #before #block }),
        Some(Repeated::Blocking(Block { stmts, .. })) => quote!({ #before #(#stmts)* }),
        None => {
            let mut block = tokens.into_iter().take_while(|it| !is_comma(it)).peekable();
            let is_block =
                is_word(block.peek(), "async") || matches!(block.peek(), Some(TokenTree::Group(_)));
            let unread = is_block.then(|| quote!(let _ = #(#block)*;));
            mixed!({ #before #unread __refused })
        }
    }
}

/// The statements before a body that is not repeated: the name of the attempt, which the body needs, and the errors
/// as a value without a type. Then the compiler does not check borrows, which the refused keys may have changed.
fn refused(import: &TokenStream, args: &Args, errors: &TokenStream, is_named: bool) -> TokenStream {
    let name = args.attempt.as_ref().filter(|_| is_named);
    let name = name.map(|Given { value, .. }| {
        mixed! {
            #import
            let #value: __backoff::Attempt = __backoff::placeholder();
        }
    });
    mixed!(#name let __refused = { #errors };)
}

impl Written<'_> {
    /// The body is the tokens between the braces at `braces_at`.
    fn statements(&self, body: TokenStream, returns: TokenStream, braces_at: Span) -> TokenStream {
        let copies = self.copies.taken();
        let import = &self.import;
        let is_known = !is_hole(&returns);
        if let Some(errors) = &self.errors {
            let before = refused(import, self.args, errors, !self.hides);
            return quote!(#before #body);
        }
        let unique = self.unique.borrowed();
        let body = in_braces(body, braces_at);
        let body_at = at(braces_at);
        let attempt = if !self.is_async {
            let ty = is_known.then(|| quote_spanned!(body_at=> -> #returns));
            quote_spanned! {body_at=> (|| #ty { #copies #body })() }
        } else if is_known {
            // The `return` that never happens gives the block its type, so that `?` and the tail convert as
            // they do in the function. An `Option` keeps lints from calling the block unreachable. The body
            // is not moved: each attempt borrows the values that it reads.
            quote_spanned! {body_at=>
                async {
                    if let ::core::option::Option::Some(__returns) =
                        ::core::option::Option::<#returns>::None
                    {
                        #unique
                        return __returns;
                    }
                    #copies
                    #body
                }
            }
        } else {
            quote_spanned!(body_at=> async { #copies #body })
        };
        let is_function = matches!(self.scope, Scope::Function { .. });
        let consumed = self
            .copies
            .consumed()
            .filter(|_| is_function && !self.is_async);
        let looped = looped(self, attempt, returns);
        quote!(#import #consumed #looped)
    }
}

/// Several statements in the user's own braces: the edition of their span says whether the temporaries
/// of the last expression are dropped before the local variables. One statement alone has no such
/// order, and braces around it would trigger `unused_braces`.
fn in_braces(body: TokenStream, braces_at: Span) -> TokenStream {
    let is_one = || {
        let stmts = Block::parse_within.parse2(body.clone());
        stmts.is_ok_and(|stmts| stmts.len() < 2)
    };
    if !continues_after_a_semicolon(&body) && is_one() {
        return body;
    }
    let mut braces = Group::new(Delimiter::Brace, body);
    braces.set_span(braces_at);
    TokenTree::Group(braces).into()
}

/// Whether there surely are two statements, without parsing them.
fn continues_after_a_semicolon(body: &TokenStream) -> bool {
    let mut tokens = body.clone().into_iter();
    tokens.any(|token| matches!(token, TokenTree::Punct(sign) if sign.as_char() == ';'))
        && tokens.next().is_some()
}

/// The type with `_` for each `impl Trait`, because a binding cannot have such a type.
pub(crate) fn without_impl(ty: TokenStream) -> TokenStream {
    let mut written = TokenStream::new();
    let mut tokens = ty.into_iter();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(ident) if ident == "impl" => {
                written.extend(quote_spanned!(ident.span()=> _));
                for _ in 0..length_of_type(tokens.clone()) {
                    tokens.next();
                }
            }
            TokenTree::Group(group) => {
                written.extend([with(&group, without_impl(group.stream()))]);
            }
            other => written.extend([other]),
        }
    }
    written
}

#[cfg(test)]
mod pages;
#[cfg(test)]
mod tests;
