//! Refuses functions that cannot be repeated, or not with these arguments.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Expr, FnArg, Ident, ItemFn, ReturnType, Signature, Stmt};

use super::not_blocking;
use crate::args::Args;
use crate::args::key_value::{Given, Names};
use crate::bindings::{self, Binding, named};
use crate::errors::{Errors, did_you_mean, show_type};
use crate::groups::{dense, flat, is_punct, is_word, last_name};
use crate::shape::ending::{choice, early_return, last_async, value};
use crate::shape::runtime::is_started;
use crate::shape::{Shape, cannot_fail, output};

pub(crate) fn signature(function: &ItemFn, args: &Args, errors: &mut Errors) {
    let sig = &function.sig;
    if let Some(constness) = &sig.constness {
        let message = "a `const fn` cannot wait between attempts: remove `const` or `#[retry]`";
        errors.at(constness, message);
    }
    let mut attrs = function.attrs.iter();
    if let Some(second) = attrs.find(|attr| last_name(attr.path()) == "retry") {
        let message = "a second `#[retry]` multiplies the attempts: remove one of the two, and put its keys into \
                       the other";
        errors.at(second.path(), message);
    }
    if let Some(at) = copied_to(function) {
        return errors.at(at, COPIED);
    }
    let shape = Shape::of(function);
    if shape == Shape::Blocking && is_started(function.block.to_token_stream()) {
        let message = "an attribute above `#[retry]` makes this function start a runtime, so each attempt would \
                       start one: put `#[retry]` above `#[tokio::test]` or `#[tokio::main]`";
        errors.at(&sig.ident, message);
    }
    if shape == Shape::Future && last_async(&mut function.clone()).is_none() {
        match value(&function.block).and_then(choice) {
            Some(choice) => errors.at(
                &choice,
                format_args!(
                    "`#[retry]` cannot make the futures of this `{choice}` again: write the `{choice}` \
                     inside of one `async` block, such as `Box::pin(async move {{ \
                     {choice} .. }})`, or make it an `async fn`"
                ),
            ),
            None => errors.at(
                &sig.output,
                "`#[retry]` cannot make this function's future again: end the function with an `async` \
                 block, such as `async move { request.await }`, or make it an `async fn`",
            ),
        }
    }
    if shape == Shape::Future
        && let Some(early) = early_return(function)
    {
        let message = "`#[retry]` does not repeat the future that is returned here: move the condition into the \
                       last `async` block";
        errors.at(early, message);
    }
    if shape == Shape::Blocking {
        errors.take(not_blocking("function", args));
    }
    no_result(function, shape, errors);
    let bound = bindings::of(function);
    names(sig, &bound, args, errors);
    undecided(sig, &bound, args, errors);
    hidden(&bound, args, errors);
    borrowed_return(sig, errors);
}

/// An attempt that cannot fail is never repeated.
fn no_result(function: &ItemFn, shape: Shape, errors: &mut Errors) {
    let sig = &function.sig;
    let (at, returns) = match &sig.output {
        ReturnType::Default => (sig.ident.to_token_stream(), quote!(())),
        ReturnType::Type(_, ty) => {
            let returns = match shape {
                Shape::Future => output(ty),
                _ => Some(ty.to_token_stream()),
            };
            (ty.to_token_stream(), returns.unwrap_or_default())
        }
    };
    let starts_runtime = || is_started(function.block.to_token_stream());
    if !cannot_fail(&returns) || shape == Shape::Blocking && starts_runtime() {
        return;
    }
    let found = match &sig.output {
        ReturnType::Default => "this one returns nothing".to_owned(),
        ReturnType::Type(..) => {
            format!("`{}` cannot report a failure", show_type(&returns))
        }
    };
    let advice = match shape {
        Shape::Future => "write `Output = Result<T, E>`",
        _ if flat(returns.clone()).to_string().starts_with("Option") => {
            "write `-> Result<T, E>`, and `.ok_or(error)` after the value"
        }
        _ => "write `-> Result<T, E>`",
    };
    let message =
        format!("`#[retry]` needs a function that returns `Result`, and {found}: {advice}");
    errors.at(at, message);
}

/// The message if another attribute has put `#[retry]` on generated code.
pub(super) const COPIED: &str = "another attribute has copied `#[retry]` to generated code: put `#[retry]` above that attribute, or \
     write `retry_block!` inside of the function";

/// The tokens that show that another attribute has generated this function and has copied `#[retry]` to it: the
/// function only calls `__server_name` for its `name` (leptos), is for another language (wasm-bindgen), or
/// returns a generated type (mockall).
fn copied_to(function: &ItemFn) -> Option<TokenStream> {
    let ItemFn { sig, block, .. } = function;
    let is_hidden = |name: &Ident| name.to_string().starts_with("__");
    if let [call @ Stmt::Expr(Expr::Await(_), None)] = block.stmts.as_slice()
        && let text = dense(call.to_token_stream())
        && let Some((called, _)) = text.split_once('(')
        && called.starts_with("__")
        && called.ends_with(&sig.ident.to_string())
    {
        return Some(call.to_token_stream());
    }
    let mut output = flat(sig.output.to_token_stream()).into_iter();
    let is_result =
        !matches!(&sig.output, ReturnType::Type(_, ty) if cannot_fail(&ty.to_token_stream()));
    if !is_result && output.any(|token| matches!(token, TokenTree::Ident(word) if is_hidden(&word)))
    {
        return Some(sig.output.to_token_stream());
    }
    let abi = sig.abi.as_ref().filter(|_| is_hidden(&sig.ident));
    abi.map(ToTokens::to_token_stream)
}

fn is_named(given: &Option<Given<Names>>, name: &str) -> bool {
    let mut names = given.iter().flat_map(|given| &given.value.names);
    names.any(|it| it == name)
}

/// `clone(..)` and `keep(..)` must name arguments that own their values.
fn names(sig: &Signature, bound: &[Binding], args: &Args, errors: &mut Errors) {
    for given in [&args.clone, &args.keep].into_iter().flatten() {
        for (at, name) in given.value.names.iter().enumerate() {
            let key = &given.key;
            if given.value.names[..at].contains(name) {
                let message = format!("`{name}` is named twice: remove one of them");
                errors.at(name, message);
                continue;
            }
            if name == "self" {
                if key == "clone" || mutable_self(sig).is_none() {
                    let message = "each attempt borrows `self`: remove `self` here; if an attempt consumes \
                                   `self`, begin the body with `let this = self.clone();`";
                    errors.at(name, message);
                }
                continue;
            }
            let Some(binding) = named(bound, name) else {
                let names: Vec<String> = bound.iter().map(|b| b.name.to_string()).collect();
                let word = name.to_string();
                let hint = match did_you_mean(&word, names.iter().map(String::as_str)) {
                    Some(meant) => format!("write `{meant}`"),
                    None => "name an argument of the function".to_owned(),
                };
                errors.at(name, format_args!("there is no argument `{word}`: {hint}"));
                continue;
            };
            if key == "clone" && binding.is_reference {
                let message = format!(
                    "`{name}` is a reference, which every attempt can read: remove it from `clone(..)`"
                );
                errors.at(name, message);
            }
            if key == "keep" && binding.mutable.is_none() {
                let message = format!(
                    "`keep` is for an argument that attempts change: write `mut {name}` in the arguments, or \
                     remove it from `keep(..)`"
                );
                errors.at(name, message);
            }
        }
    }
    for name in args.keep.iter().flat_map(|keep| &keep.value.names) {
        if is_named(&args.clone, &name.to_string()) {
            let message = format!(
                "`clone({name})` gives each attempt a fresh copy, and `keep({name})` keeps the changes: remove \
                 one of them"
            );
            errors.at(name, message);
        }
    }
}

/// The name of the attempt must not hide an argument from the body.
fn hidden(bound: &[Binding], args: &Args, errors: &mut Errors) {
    let Some(Given { value, .. }) = &args.attempt else {
        return;
    };
    if named(bound, value).is_some() {
        let mut free = ["attempt", "n", "this_attempt"].into_iter();
        let free = free.find(|name| bound.iter().all(|binding| binding.name != name));
        let message = format!(
            "the name of the attempt would hide the argument `{value}` from the body: write another name, such as \
             `attempt = {}`",
            free.unwrap_or("current_attempt")
        );
        errors.at(value, message);
    }
}

/// The `mut` of `mut self`.
fn mutable_self(sig: &Signature) -> Option<TokenTree> {
    let FnArg::Receiver(receiver) = sig.inputs.first()? else {
        return None;
    };
    let mut tokens = flat(receiver.to_token_stream()).into_iter();
    tokens.next().filter(|first| is_word(first, "mut"))
}

/// If one attempt changes an argument that the function owns, the next attempt sees the change. This
/// asks the user whether it should.
fn undecided(sig: &Signature, bound: &[Binding], args: &Args, errors: &mut Errors) {
    for binding in bound {
        let name = &binding.name;
        let Some(mutable) = &binding.mutable else {
            continue;
        };
        let word = name.to_string();
        if binding.is_reference || is_named(&args.clone, &word) || is_named(&args.keep, &word) {
            continue;
        }
        let message = format!(
            "the next attempt would see the changes of `{name}`: write `clone({name})` in the attribute for a \
             fresh copy at each attempt, or `keep({name})` to keep the changes"
        );
        errors.at(mutable, message);
    }
    if let Some(mutable) = mutable_self(sig)
        && !is_named(&args.keep, "self")
    {
        let message = "the next attempt would see the changes of `self`: write `keep(self)` in the attribute to \
                       keep the changes, or begin the body with `let mut this = self.clone();`";
        errors.at(mutable, message);
    }
}

/// A reference, with its lifetime if the lifetime is written.
struct Borrow {
    lifetime: Option<String>,
    is_mut: bool,
}

fn borrows(tokens: TokenStream) -> Vec<Borrow> {
    let mut found = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    let mut after_word = false;
    while let Some(token) = tokens.next() {
        let is_name = matches!(token, TokenTree::Ident(_));
        match token {
            // The argument of `Fn(&T)` is borrowed by its caller.
            TokenTree::Group(_) if after_word => {}
            TokenTree::Group(group) => found.extend(borrows(group.stream())),
            TokenTree::Punct(punct) if punct.as_char() == '&' => {
                let mut lifetime = None;
                if is_punct(tokens.peek(), '\'') {
                    tokens.next();
                    lifetime = tokens.next().map(|name| name.to_string());
                }
                found.push(Borrow {
                    lifetime: lifetime.filter(|name| name != "_"),
                    is_mut: is_word(tokens.peek(), "mut"),
                });
            }
            _ => {}
        }
        after_word = is_name;
    }
    found
}

/// A borrow from a mutable borrow, shared or not, would have to end before the next attempt.
fn borrowed_return(sig: &Signature, errors: &mut Errors) {
    let ReturnType::Type(_, returns) = &sig.output else {
        return;
    };
    let mut given = Vec::new();
    for input in &sig.inputs {
        given.extend(borrows(flat(match input {
            FnArg::Receiver(receiver) => receiver.to_token_stream(),
            FnArg::Typed(typed) => typed.ty.to_token_stream(),
        })));
        // Without a lifetime, the return borrows from `self`.
        if matches!(input, FnArg::Receiver(_)) && !given.is_empty() {
            break;
        }
    }
    let is_from_mut = |back: &Borrow| {
        let is_any = back.lifetime.is_none();
        let mut named = given
            .iter()
            .filter(|it| is_any || it.lifetime == back.lifetime);
        let only = named.next().filter(|_| named.next().is_none());
        only.is_some_and(|it| it.is_mut && it.lifetime == back.lifetime)
    };
    let back = borrows(flat(returns.to_token_stream()));
    let mut back = back.iter().filter(|back| is_from_mut(back)).peekable();
    if back.peek().is_some() {
        let otherwise = if back.any(|back| back.is_mut) {
            ""
        } else {
            ", take the argument by `&` if no attempt changes it"
        };
        let message = format!(
            "a borrow from a `&mut` argument cannot be returned, because the next attempt would need that \
             argument: return an owned value{otherwise}, or repeat a part of the body with `retry_block!`"
        );
        errors.at(returns, message);
    }
}
