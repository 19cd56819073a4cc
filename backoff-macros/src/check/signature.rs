//! Refuses functions that cannot be repeated, or not with these arguments.

use proc_macro2::TokenTree;
use quote::ToTokens;
use syn::{Expr, FnArg, ItemFn, Signature, Stmt};

use super::not_blocking;
use crate::args::Args;
use crate::args::key_value::{Given, Names};
use crate::bindings::{self, Binding, named};
use crate::errors::{Errors, did_you_mean};
use crate::groups::{dense, flat, is_word, last_name};
use crate::shape::ending::{early_return, last_async};
use crate::shape::{Function, Shape};

pub(crate) fn signature(function: &mut Function, args: &Args, errors: &mut Errors) {
    let bound = bindings::of(function);
    let ends_async = last_async(&mut function.item).is_some();
    let Function { item, shape, .. } = function;
    let (sig, shape) = (&item.sig, *shape);
    if let Some(constness) = &sig.constness {
        let message = "a `const fn` cannot wait between attempts: remove `const` or `#[retry]`";
        errors.at(constness, message);
    }
    let mut attrs = item.attrs.iter();
    if let Some(second) = attrs.find(|attr| last_name(attr.path()) == "retry") {
        let message = "a second `#[retry]` multiplies the attempts: remove one of the two, and put its keys into \
                       the other";
        errors.at(second.path(), message);
    }
    if let Some(call) = generated_call(item) {
        let message = "another attribute has copied `#[retry]` to generated code: put `#[retry]` above that attribute, \
                       or write `retry_block!` inside of the function";
        return errors.at(call, message);
    }
    if shape == Shape::Runtime {
        let message = "an attribute above `#[retry]` makes this function start a runtime, so each attempt would \
                       start one: put `#[retry]` above `#[tokio::test]` or `#[tokio::main]`";
        errors.at(&sig.ident, message);
    }
    if shape == Shape::Future && !ends_async {
        let message = "`#[retry]` cannot make this function's future again: end the function with one `async` block, \
                       such as `Box::pin(async move { request.await })`, an `if` or a `match` inside of the block, \
                       or make it an `async fn`";
        errors.at(&sig.output, message);
    }
    if shape == Shape::Future
        && let Some(early) = early_return(item)
    {
        let message = "`#[retry]` does not repeat the future that is returned here: move the condition into the \
                       last `async` block";
        errors.at(early, message);
    }
    if shape == Shape::Blocking {
        errors.take(not_blocking("function", args));
    }
    names(sig, &bound, args, errors);
    undecided(sig, &bound, args, errors);
    hidden(&bound, args, errors);
}

/// The only statement of a function that another attribute has generated: it calls `__server_name` for `name` (leptos).
fn generated_call(function: &ItemFn) -> Option<&Stmt> {
    let [call @ Stmt::Expr(Expr::Await(_), None)] = function.block.stmts.as_slice() else {
        return None;
    };
    let text = dense(call.to_token_stream());
    let (called, _) = text.split_once('(')?;
    let name = function.sig.ident.to_string();
    (called.starts_with("__") && called.ends_with(&name)).then_some(call)
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
                errors.at(name, format!("there is no argument `{word}`: {hint}"));
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
