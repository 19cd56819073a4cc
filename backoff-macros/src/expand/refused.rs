//! The code for refused arguments: the unchanged body, after the names that the body needs.
//!
//! The values of the keys are mentioned with their types and never evaluated, so that imports do not
//! count as unused and an editor knows the types of closures. The errors are in the body, as a value
//! without a type: then the compiler does not check borrows, which the refused keys may have changed.

use proc_macro2::{Ident, TokenStream};
use quote::quote_spanned;
use syn::Expr;

use super::library::Library;
use super::looped::matches;
use crate::args::Args;
use crate::args::given::{Given, Jitter, Level, Rule, Time};
use crate::check::numbers::signed;

/// The name of the attempt, with its type.
pub(super) fn attempt(library: &Library, args: &Args) -> Option<TokenStream> {
    let (here, k) = library.here();
    let name = &args.attempt.as_ref()?.value;
    Some(quote_spanned!(here=> let #name: #k::Attempt = #k::__private::placeholder();))
}

/// The statements before the body. `returns` is the type of the outcome, if the type is known.
pub(super) fn statements(
    library: &Library,
    args: &Args,
    errors: &TokenStream,
    returns: Option<&TokenStream>,
    is_async: bool,
) -> TokenStream {
    let (here, k) = library.here();
    let of_type = |ty: &str, value: &Expr| {
        let ty = Ident::new(ty, here);
        is_told(value).then(|| quote_spanned!(here=> let _: #k::#ty = #value;))
    };
    let policy = args.policy.iter().map(|policy| match &policy.value {
        Expr::Reference(reference) => of_type("Policy", &reference.expr),
        policy => of_type("Policy", policy),
    });
    let time = |time: &Time| {
        let value = &time.expr;
        let is_told = time.literal.is_none() && is_told(value);
        is_told.then(|| quote_spanned!(here=> let _: #k::__private::Duration = #value;))
    };
    let primitive = |ty: &str, value: &Expr| {
        let ty = Ident::new(ty, here);
        is_told(value).then(|| quote_spanned!(here=> let _: #ty = #value;))
    };
    let rules = args.rules().into_iter().flat_map(|(_, rule)| match rule {
        Rule::Time(value) | Rule::Jitter(Jitter::Additive(value)) => vec![time(value)],
        Rule::Jitter(Jitter::Expr(value)) => vec![of_type("Jitter", value)],
        Rule::Level(Level::Expr(value)) => vec![of_type("LogLevel", value)],
        Rule::Jitter(Jitter::Named(..)) | Rule::Level(Level::Named(..)) | Rule::Flag(None) => {
            Vec::new()
        }
        Rule::Codes(on) => on.codes.iter().map(|code| of_type("Codes", code)).collect(),
        Rule::Flag(Some(value)) => vec![primitive("bool", value)],
        Rule::Count(value) => vec![primitive("u32", value)],
        Rule::Factor(value) => vec![primitive("f64", value)],
        Rule::Static(Expr::Reference(value)) => vec![of_type("Budget", &value.expr)],
        Rule::Static(value) => {
            vec![is_told(value).then(|| quote_spanned!(here=> let _: &#k::Budget = &#value;))]
        }
    });
    let limits = [&args.timeout, &args.attempt_timeout].into_iter().flatten();
    let limits = limits.map(|limit| time(&limit.value));
    let judges = judges(library, args, is_async);
    let values = [
        &args.consecutive,
        &args.runtime,
        &args.stop_on,
        &args.cut_on,
        &args.operation,
    ];
    let values = values.into_iter().flatten().map(|given| &given.value);
    let values = values
        .filter(|value| is_told(value))
        .chain(&args.unused_names);
    let mentioned: Vec<TokenStream> = (policy.chain(rules).chain(limits).flatten())
        .chain(judges)
        .chain(values.map(|value| quote_spanned!(here=> let _ = &#value;)))
        .collect();
    let outcome = match returns {
        Some(returns) => quote_spanned!(here=> #k::__private::placeholder::<#returns>()),
        None => quote_spanned!(here=> __refused),
    };
    let mentioned = (!mentioned.is_empty()).then(|| {
        quote_spanned! {here=>
            if false {
                let __outcome = #outcome;
                #(#mentioned)*
            }
        }
    });
    quote_spanned! {here=>
        let __refused = { #errors };
        #mentioned
    }
}

/// The functions that take the error or the value, typed by the outcome, and the timer.
fn judges(library: &Library, args: &Args, is_async: bool) -> Vec<TokenStream> {
    let (here, k) = library.here();
    let own = Ident::new(if is_async { "sleep_by" } else { "pause_by" }, here);
    let patterns = args.on.as_ref().map(|on| on.value.patterns.as_slice());
    let matched = patterns
        .filter(|patterns| !patterns.is_empty())
        .map(matches);
    let judge = |judge: TokenStream| {
        quote_spanned! {here=>
            let _ = #k::__private::when(
                #k::__private::error_of(&__outcome), #judge, || |_| #k::__private::Option::None
            );
        }
    };
    let told = |given: &Option<Given<Expr>>| {
        given
            .as_ref()
            .map(|given| given.value.clone())
            .filter(is_told)
    };
    let when = told(&args.when).map(|when| judge(quote_spanned!(here=> #when)));
    let until = told(&args.until)
        .map(|until| quote_spanned!(here=> #k::__private::is_awaited(&__outcome, #until);));
    let notify = told(&args.notify).map(
        |notify| quote_spanned!(here=> let _ = #k::__private::notified(&__outcome, #k::__private::BY_CODES, #notify);),
    );
    let sleep =
        told(&args.sleep).map(|sleep| quote_spanned!(here=> let _ = #k::__private::#own(#sleep);));
    let types = args.faults.iter().flat_map(|faults| &faults.value);
    let types = types.map(|ty| quote_spanned!(here=> let _ = #k::__private::Named::<#ty>::new();));
    let typed = [matched.map(judge), when, until, notify, sleep];
    typed.into_iter().flatten().chain(types).collect()
}

/// Whether a value contains a name. A literal contains none.
fn is_told(value: &Expr) -> bool {
    signed(value).is_none() && !matches!(value, Expr::Range(_) | Expr::Infer(_))
}
