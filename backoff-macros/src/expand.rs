//! The code that is written: a loop around the body, and the library's `step` in it.

mod consumed;
mod copies;
mod library;
mod looped;
mod policy;
mod refused;

use std::collections::HashSet;

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Block, Expr, ItemFn, ReturnType, Stmt, Type};

use crate::args::Args;
use crate::bindings;
use crate::check::Repeated;
use crate::place::Place;
use crate::shape::async_trait::without_moved_mut;
use crate::shape::body::{Part, around_body};
use crate::shape::ending::last_async;
use crate::shape::{self, Shape};
use copies::Copies;
use library::{Library, at};
use looped::Loop;

/// The function with its body in a loop; everything else about it stays as it was. With errors it
/// says those, and its body is not repeated.
pub(crate) fn function(
    library: TokenStream,
    args: &Args,
    mut function: ItemFn,
    errors: Option<TokenStream>,
) -> TokenStream {
    let shape = Shape::of(&function);
    let returns_at = match &function.sig.output {
        ReturnType::Default => at(function.sig.ident.span()),
        ReturnType::Type(_, ty) => at(ty.span()),
    };
    let returns = match (&function.sig.output, shape) {
        (ReturnType::Type(_, ty), Shape::Future) => {
            shape::output(&function.sig).unwrap_or_else(|| match **ty {
                // A name for a boxed future says what it gives when it is asked.
                Type::Path(_) => quote_spanned! {returns_at=>
                    <#ty as ::core::future::Future>::Output
                },
                _ => quote_spanned!(returns_at=> _),
            })
        }
        (ReturnType::Default, _) => quote!(()),
        (ReturnType::Type(_, ty), _) => ty.to_token_stream(),
    };
    let name = function.sig.ident.to_string();
    let name = format!("::{}", name.trim_start_matches("r#"));
    let place = Place::of(args, &function.sig);
    let written = Written {
        library: Library::new(library, args),
        args,
        place,
        is_async: shape != Shape::Blocking,
        judged_at: returns_at,
        name: quote_spanned!(Span::mixed_site()=> ::core::concat!(::core::module_path!(), #name)),
        copies: Copies::of(&function, args),
        consumable: consumed::candidates(&function, args),
        hides: hides(&function, args),
        errors,
    };
    let clone = args.clone.as_ref().filter(|_| written.errors.is_none());
    if let Some(clone) = clone {
        bindings::without_mut(&mut function.sig, &clone.value.names);
    }
    let mut write = |part: Part| {
        let returns = without_impl(part.returns.unwrap_or_else(|| returns.clone()));
        written.statements(part.body, returns, at(part.at))
    };
    let (stmts, body_at) = match shape {
        Shape::Future => match last_async(&mut function) {
            Some(block) => {
                let span = block.block.brace_token.span.join();
                (&mut block.block.stmts, span)
            }
            None => {
                let errors = written.errors;
                return quote!(#function #errors);
            }
        },
        Shape::Async | Shape::Blocking => {
            let span = function.block.brace_token.span.join();
            (&mut function.block.stmts, span)
        }
    };
    let body = std::mem::take(stmts);
    let mut body = quote!(#(#body)*);
    if let (Shape::Future, Some(clone)) = (shape, clone) {
        body = without_moved_mut(body, &clone.value.names);
    }
    let body = around_body(body, body_at, &mut write);
    *stmts = vec![Stmt::Expr(Expr::Verbatim(body), None)];
    // A test is left out where no tests are compiled, and with it what is said in its body.
    let is_test = |attr: &Attribute| {
        let last = attr.path().segments.last();
        last.is_some_and(|last| last.ident == "test")
    };
    let beside = written
        .errors
        .filter(|_| function.attrs.iter().any(is_test));
    quote!(#function #beside)
}

/// A block in a loop: a future, or, where the block is not async, the outcome itself. Like the
/// function's, the body is borrowed by each attempt; `move` says what the whole future owns.
pub(crate) fn block(library: TokenStream, args: &Args, block: Repeated) -> TokenStream {
    let here = Span::mixed_site();
    let written = |is_async, judged_at| Written {
        library: Library::new(library, args),
        args,
        place: Place::of_block(args),
        is_async,
        judged_at,
        name: quote_spanned!(here=> ::core::concat!(::core::module_path!(), ":", ::core::line!())),
        copies: Copies::of_block(args),
        consumable: HashSet::new(),
        hides: false,
        errors: None,
    };
    let returns = quote_spanned!(here=> _);
    match block {
        Repeated::Async(block) => {
            let block_at = at(block.async_token.span);
            let body_at = at(block.block.brace_token.span.join());
            let (attrs, capture, body) = (&block.attrs, &block.capture, &block.block.stmts);
            let written = written(true, block_at);
            let statements = written.statements(quote!(#(#body)*), returns, body_at);
            quote_spanned!(block_at=> #(#attrs)* async #capture { #statements })
        }
        Repeated::Blocking(block) => {
            let block_at = at(block.brace_token.span.join());
            let body = &block.stmts;
            let written = written(false, block_at);
            let statements = written.statements(quote!(#(#body)*), returns, block_at);
            quote_spanned!(block_at=> { #statements })
        }
    }
}

/// A block whose arguments are refused, as it was, or none if it cannot be read.
pub(crate) fn refused_block(
    library: TokenStream,
    args: &Args,
    block: Option<Repeated>,
    errors: &TokenStream,
) -> TokenStream {
    let library = Library::new(library, args);
    let is_async = matches!(block, Some(Repeated::Async(_)));
    let attempt = refused::attempt(&library, args);
    let before = refused::statements(&library, args, errors, None, is_async);
    let before = quote!(#attempt #before);
    match block {
        Some(Repeated::Async(block)) => quote!({ #before #block }),
        Some(Repeated::Blocking(Block { stmts, .. })) => quote!({ #before #(#stmts)* }),
        None => quote_spanned!(Span::mixed_site()=> { #before __refused }),
    }
}

/// Whether the attempt has the name of an argument.
fn hides(function: &ItemFn, args: &Args) -> bool {
    let bound = bindings::of(function);
    let attempt = args.attempt.as_ref();
    attempt.is_some_and(|attempt| bound.iter().any(|binding| binding.name == attempt.value))
}

/// All that is known before the body is.
struct Written<'a> {
    library: Library,
    args: &'a Args,
    place: Place,
    is_async: bool,
    judged_at: Span,
    /// The name in logs, if no key gives another.
    name: TokenStream,
    copies: Copies,
    /// The arguments of which each attempt needs the value.
    consumable: HashSet<String>,
    /// The name of the attempt is that of an argument too, which is refused.
    hides: bool,
    /// What is wrong with the arguments or the function.
    errors: Option<TokenStream>,
}

impl Written<'_> {
    fn statements(&self, body: TokenStream, returns: TokenStream, body_at: Span) -> TokenStream {
        let copies = self.copies.taken();
        let is_known = returns.to_string() != "_";
        if let Some(errors) = &self.errors {
            let returns = Some(&returns).filter(|returns| is_known && !shape::cannot_fail(returns));
            let attempt = (!self.hides).then(|| refused::attempt(&self.library, self.args));
            let before =
                refused::statements(&self.library, self.args, errors, returns, self.is_async);
            return quote!(#attempt #before #body);
        }
        let consumed = consumed::asked(&self.library, &body, &self.consumable);
        let attempt = if !self.is_async {
            let ty = is_known.then(|| quote_spanned!(body_at=> -> #returns));
            quote_spanned! {body_at=> (|| #ty { #copies #body })() }
        } else if is_known {
            // The return that never happens gives the block its type, so that `?` and the tail
            // convert as they do in the function; an `Option` makes it one that no lint calls
            // unreachable. The body is not moved: each attempt borrows what it reads.
            quote_spanned! {body_at=>
                async {
                    if let ::core::option::Option::Some(__returns) =
                        ::core::option::Option::<#returns>::None
                    {
                        return __returns;
                    }
                    #copies
                    #body
                }
            }
        } else {
            quote_spanned!(body_at=> async { #copies #body })
        };
        let looped = Loop {
            library: &self.library,
            args: self.args,
            copies: &self.copies,
            place: &self.place,
            is_async: self.is_async,
            attempt,
            returns,
            judged_at: self.judged_at,
            name: match &self.args.name {
                Some(name) => name.value.to_token_stream(),
                None => self.name.clone(),
            },
        };
        let looped = looped.statements();
        quote!(#consumed #looped)
    }
}

/// The type with `_` for each `impl Trait`, which no binding can be annotated with.
pub(crate) fn without_impl(ty: TokenStream) -> TokenStream {
    let mut written = TokenStream::new();
    let mut tokens = ty.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(ident) if ident == "impl" => {
                written.extend(quote_spanned!(ident.span()=> _));
                // The bounds end with the list or the brackets that the type stands in.
                let (mut depth, mut arrow) = (0_usize, false);
                while let Some(next) = tokens.peek() {
                    let char = match next {
                        TokenTree::Punct(punct) => punct.as_char(),
                        _ => ' ',
                    };
                    match char {
                        ',' if depth == 0 => break,
                        '>' if arrow => {}
                        '>' if depth == 0 => break,
                        '>' => depth -= 1,
                        '<' => depth += 1,
                        _ => {}
                    }
                    arrow = char == '-';
                    tokens.next();
                }
            }
            TokenTree::Group(group) => {
                let mut inside = Group::new(group.delimiter(), without_impl(group.stream()));
                inside.set_span(group.span());
                written.extend([TokenTree::Group(inside)]);
            }
            other => written.extend([other]),
        }
    }
    written
}

#[cfg(test)]
mod tests;
