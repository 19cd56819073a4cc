//! The values of the keys. Each expression is evaluated once for a call, before the first attempt, and
//! its temporaries are dropped there. A constant is pasted, and takes no room in the future.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, ExprBlock, ExprUnsafe};

use super::lent;
use super::written::Written;
use crate::args::Args;
use crate::args::key_value::{Given, Time};
use crate::hygiene::{at, mixed};
use crate::place::{Place, Scope};
use crate::shape::ending;

/// The values as the loop uses them.
pub(super) struct Values {
    /// The statements that evaluate the values.
    pub(super) binds: TokenStream,
    /// The runtime, for clock, timer and random numbers. Only a timer of the user is a value.
    pub(super) runtime: TokenStream,
    /// The time limit of the call, and that attempts are cut.
    pub(super) limits: TokenStream,
    /// The time limit of one attempt, if attempts are cut.
    pub(super) limit: Option<TokenStream>,
    /// The longest wait for a turn at the rate, if it has a limit.
    pub(super) max_queue_time: Option<TokenStream>,
    /// The name of the operation in logs and metrics.
    pub(super) operation: TokenStream,
    /// The place of a context with these limits and this name.
    pub(super) place: Place,
    /// The functions that the loop calls.
    pub(super) when: Option<TokenStream>,
    pub(super) until: Option<TokenStream>,
    pub(super) notify: Option<TokenStream>,
}

impl Values {
    pub(super) fn of(written: &Written<'_>) -> Self {
        let here = Span::mixed_site();
        let (args, scope, is_async) = (written.args, &written.scope, written.is_async);
        let mut binds = Vec::new();
        let mut bind = |name: TokenStream, value: &dyn ToTokens| {
            binds.push(mixed!(let #name = #value;));
        };
        let runtime = if let Some(timer) = timer(args, is_async) {
            bind(mixed!(__timer), &timer);
            mixed!(&__timer)
        } else {
            let name = Ident::new(if is_async { "ASYNC" } else { "BLOCKING" }, here);
            mixed!(&__backoff::#name)
        };
        // As a number, a time that is kept takes eight bytes less.
        let mut kept_time = |name: &str, value: &Time| match scope.place(&value.expr) {
            Place::Call => {
                let (name, value) = (Ident::new(name, here), &value.expr);
                bind(
                    name.to_token_stream(),
                    &quote_spanned!(at(value.span())=> __backoff::nanos(#value)),
                );
                mixed!(__backoff::Duration::from_nanos(#name))
            }
            Place::Item | Place::Inline => value.expr.to_token_stream(),
        };
        let mut place = Place::Item;
        let timeout = match &args.timeout {
            Some(Given { key, value }) => {
                let whole = kept_time("__timeout", value);
                place = scope.place(&value.expr);
                quote_spanned!(at(key.span())=> __backoff::Option::Some(#whole))
            }
            None => mixed!(__backoff::Option::None),
        };
        let limit = args.cuts().map(|(key, limit)| match limit {
            Some(limit) => kept_time("__attempt_timeout", limit),
            None => quote_spanned!(at(key.span())=> __backoff::Duration::MAX),
        });
        let max_queue_time = args.max_queue_time.as_ref();
        let max_queue_time =
            max_queue_time.map(|Given { value, .. }| kept_time("__max_queue_time", value));
        let limits = match limit {
            Some(_) => mixed!(__backoff::Option::Some(__backoff::Limits(#timeout))),
            None => timeout,
        };
        let operation = match &args.operation {
            Some(Given { value, .. }) => {
                let its_place = scope.place(value);
                place = place.max(its_place);
                if its_place == Place::Call {
                    let name = mixed!(__operation: &'static ::core::primitive::str);
                    bind(name, value);
                    mixed!(__operation)
                } else {
                    value.to_token_stream()
                }
            }
            None => written.operation.clone(),
        };
        let mut kept = |name: &str,
                        mutable: Option<TokenStream>,
                        given: &Option<Given<Expr>>,
                        lend: fn(&Scope, &Expr) -> TokenStream| {
            let value = &given.as_ref()?.value;
            if !is_made(value) {
                return Some(lend(scope, value));
            }
            let name = Ident::new(name, here);
            bind(mixed!(#mutable #name), value);
            Some(quote_spanned!(at(value.span())=> &#mutable #name))
        };
        let when = kept("__when", None, &args.when, lent::read);
        let until = kept("__until", Some(mixed!(mut)), &args.until, lent::read);
        let notify = kept("__notify", Some(mixed!(mut)), &args.notify, lent::changed);
        Values {
            binds: binds.into_iter().collect(),
            runtime,
            limits,
            limit,
            max_queue_time,
            operation,
            place,
            when,
            until,
            notify,
        }
    }
}

/// The user's own timer, or runtime.
fn timer(args: &Args, is_async: bool) -> Option<TokenStream> {
    if let Some(runtime) = &args.runtime {
        return Some(runtime.value.to_token_stream());
    }
    let sleep = args.sleep.as_ref()?;
    let key_at = at(sleep.key.span());
    let own = Ident::new(if is_async { "sleep_by" } else { "pause_by" }, key_at);
    let timer = &sleep.value;
    Some(mixed!(__backoff::#own(#timer)))
}

/// Whether an expression makes a function, which is kept. The types of a closure follow from its use, so a
/// closure is pasted, also one at the end of a block. A path and a field are the function itself.
fn is_made(value: &Expr) -> bool {
    match value {
        Expr::Closure(_) | Expr::Path(_) | Expr::Field(_) | Expr::Reference(_) | Expr::Macro(_) => {
            false
        }
        Expr::Paren(inside) => is_made(&inside.expr),
        Expr::Group(inside) => is_made(&inside.expr),
        Expr::Block(ExprBlock { block, .. }) | Expr::Unsafe(ExprUnsafe { block, .. }) => {
            ending::value(block).is_some_and(is_made)
        }
        _ => true,
    }
}
