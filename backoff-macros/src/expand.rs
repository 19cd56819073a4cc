//! The code that is written: a loop around the body, and the library's `step` in it.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, ExprAsync, ItemFn, ReturnType, Stmt};

use crate::args::{Args, Given, Jitter, Time};
use crate::check;
use crate::place::Place;

/// The function with its body in a loop; everything else about it stays as it was.
pub(crate) fn function(library: TokenStream, args: &Args, mut function: ItemFn) -> TokenStream {
    let body = std::mem::take(&mut function.block.stmts);
    let body_at = at(function.block.brace_token.span.join());
    let (returns, returns_at) = match &function.sig.output {
        ReturnType::Default => (quote!(()), at(function.sig.ident.span())),
        ReturnType::Type(_, ty) => (without_impl(ty.to_token_stream()), at(ty.span())),
    };
    let is_async = function.sig.asyncness.is_some();
    let attempt = if is_async {
        // The return that never happens gives the block its type, so that `?` and the tail convert
        // as they do in the function; an `Option` makes it one that no lint calls unreachable. The
        // body is not moved: each attempt borrows what it reads.
        quote_spanned! {body_at=>
            async {
                if let ::core::option::Option::Some(__returns) =
                    ::core::option::Option::<#returns>::None
                {
                    return __returns;
                }
                #(#body)*
            }
        }
    } else {
        quote_spanned! {body_at=> (|| -> #returns { #(#body)* })() }
    };
    let name = function.sig.ident.to_string();
    let name = format!("::{}", name.trim_start_matches("r#"));
    let here = Span::mixed_site();
    let written = Loop {
        library: Library::new(library, args),
        args,
        place: Place::of(args, &function.sig),
        is_async,
        attempt,
        returns,
        judged_at: returns_at,
        name: quote_spanned!(here=> ::core::concat!(::core::module_path!(), #name)),
    };
    function.block.stmts = vec![Stmt::Expr(Expr::Verbatim(written.statements()), None)];
    function.into_token_stream()
}

/// A future that runs the block in a loop. Like the function's, the body is borrowed by each attempt;
/// `move` says what the whole future owns.
pub(crate) fn block(library: TokenStream, args: &Args, block: ExprAsync) -> TokenStream {
    let here = Span::mixed_site();
    let block_at = at(block.async_token.span);
    let body_at = at(block.block.brace_token.span.join());
    let (attrs, capture, body) = (&block.attrs, &block.capture, &block.block.stmts);
    let written = Loop {
        library: Library::new(library, args),
        args,
        place: Place::of_block(args),
        is_async: true,
        attempt: quote_spanned!(body_at=> async { #(#body)* }),
        returns: quote_spanned!(here=> _),
        judged_at: block_at,
        name: quote_spanned!(here=> ::core::concat!(::core::module_path!(), ":", ::core::line!())),
    };
    let statements = written.statements();
    quote_spanned!(block_at=> #(#attrs)* async #capture { #statements })
}

/// A span where the macro's own names stay the macro's, and errors point at the user's code.
fn at(span: Span) -> Span {
    Span::mixed_site().located_at(span)
}

/// The path of the library, as the user reaches it.
struct Library(TokenStream);

impl Library {
    fn new(default: TokenStream, args: &Args) -> Self {
        Self(
            args.krate
                .as_ref()
                .map_or(default, ToTokens::to_token_stream),
        )
    }

    /// The same path, so that errors about it point at `span`.
    fn at(&self, span: Span) -> TokenStream {
        self.0
            .clone()
            .into_iter()
            .map(|mut token| {
                token.set_span(token.span().located_at(span));
                token
            })
            .collect()
    }
}

/// One retry loop.
struct Loop<'a> {
    library: Library,
    args: &'a Args,
    place: Place,
    is_async: bool,
    /// The body as a future, or as the outcome itself where nothing is awaited.
    attempt: TokenStream,
    /// The type of the outcome.
    returns: TokenStream,
    /// Where to say that the outcome cannot be judged.
    judged_at: Span,
    name: TokenStream,
}

impl Loop<'_> {
    fn statements(&self) -> TokenStream {
        let here = Span::mixed_site();
        let k = self.library.at(here);
        let (bind_policy, policy) = self.policy();
        let runtime = self.runtime();
        let returns = &self.returns;
        let outcome = self.outcome(&policy);
        let step = self.step(&policy);
        let wait = if self.is_async {
            // The outcome is taken apart before the sleep: held over it, it would make the future
            // larger and could make it lose `Send`.
            quote_spanned! {here=>
                let __wait = match #step {
                    #k::__private::Step::Done(__done) => break __done,
                    #k::__private::Step::Wait(__wait, _) => __wait,
                };
                #k::__private::sleep(#runtime, __wait).await;
            }
        } else {
            quote_spanned! {here=>
                let (__wait, __last) = match #step {
                    #k::__private::Step::Done(__done) => break __done,
                    #k::__private::Step::Wait(__wait, __last) => (__wait, __last),
                };
                #k::__private::pause(#runtime, __wait);
                if #k::__private::is_too_late(#policy, &__retry, #runtime) {
                    break __last;
                }
            }
        };
        quote_spanned! {here=>
            #bind_policy
            let mut __retry = #k::__private::start(#policy, #runtime);
            loop {
                let __outcome: #returns = #outcome;
                #wait
            }
        }
    }

    /// The statement that makes the policy, and the expression that refers to it.
    fn policy(&self) -> (TokenStream, TokenStream) {
        let here = Span::mixed_site();
        let k = self.library.at(here);
        let made = policy(&self.library, self.args, &self.place);
        match self.place {
            // Items are not hygienic: the name must be one that nobody else uses.
            Place::Item => (
                quote_spanned!(here=> const __BACKOFF_POLICY: #k::Policy = #made;),
                quote_spanned!(here=> &__BACKOFF_POLICY),
            ),
            Place::Inline => (
                quote_spanned!(here=> let __policy: &'static #k::Policy = const { &#made };),
                quote_spanned!(here=> __policy),
            ),
            Place::Call => (
                quote_spanned!(here=> let __policy: #k::Policy = #made;),
                quote_spanned!(here=> &__policy),
            ),
        }
    }

    fn runtime(&self) -> TokenStream {
        let here = Span::mixed_site();
        let k = self.library.at(here);
        let name = Ident::new(if self.is_async { "ASYNC" } else { "SYNC" }, here);
        quote_spanned!(here=> &#k::__private::#name)
    }

    fn outcome(&self, policy: &TokenStream) -> TokenStream {
        let attempt = &self.attempt;
        if !self.is_async {
            return attempt.clone();
        }
        let Some(limit) = &self.args.attempt_timeout else {
            return quote_spanned!(Span::mixed_site()=> #attempt.await);
        };
        // `E: From<TimedOut>` is asked for by the key.
        let key_at = at(limit.key.span());
        let k = self.library.at(key_at);
        let runtime = self.runtime();
        let limit = time(&self.library, &limit.value);
        quote_spanned! {key_at=>
            #k::__private::timed(#policy, &__retry, #runtime, #limit, #attempt).await
        }
    }

    fn step(&self, policy: &TokenStream) -> TokenStream {
        let judged_at = self.judged_at;
        let k = self.library.at(judged_at);
        let (name, runtime) = (&self.name, self.runtime());
        let common = quote_spanned!(judged_at=> #policy, &mut __retry, #name, #runtime, __outcome);
        // Whatever the error's type is: if it is a `Fault`, its hints are obeyed.
        let known = quote_spanned! {judged_at=>
            |__error| {
                use #k::__private::via::*;
                (&#k::__private::Facts(__error)).known()
            }
        };
        match self.args {
            Args {
                when: Some(when), ..
            } => {
                let judge = &when.value;
                quote_spanned!(judged_at=> #k::__private::step_when(#common, #judge, #known))
            }
            Args {
                policy: None,
                on: None,
                ..
            } => {
                quote_spanned!(judged_at=> #k::__private::step_any(#common, #known))
            }
            _ => quote_spanned!(judged_at=> #k::__private::step(#common)),
        }
    }
}

/// The policy as an expression: the user's or the default one, with a setter called for each key.
fn policy(library: &Library, args: &Args, place: &Place) -> TokenStream {
    let here = Span::mixed_site();
    let k = library.at(here);
    let mut made = match &args.policy {
        Some(Given { value, .. }) => value.to_token_stream(),
        None => quote_spanned!(here=> #k::Policy::exponential()),
    };
    let mut set = |key: &Ident, value: TokenStream| {
        let key_at = at(key.span());
        let k = library.at(key_at);
        let setter = Ident::new(&key.to_string(), key_at);
        // A path and not a method call, whose span would begin with the policy: what the setter
        // refuses is shown at the key.
        made = quote_spanned!(key_at=> #k::Policy::#setter(#made, #value));
    };
    if let Some(Given { key, value }) = &args.base {
        set(key, time(library, value));
    }
    if let Some(Given { key, value }) = &args.factor {
        set(key, factor(value));
    }
    if let Some(Given { key, value }) = &args.max_backoff {
        set(key, time(library, value));
    }
    if let Some(Given { key, value }) = &args.jitter {
        set(key, jitter(library, value));
    }
    if let Some(Given { key, value }) = &args.max_attempts {
        set(key, value.to_token_stream());
    }
    if let Some(Given { key, value }) = &args.deadline {
        set(key, time(library, value));
    }
    if let Some(Given { key, value }) = &args.on {
        let key_at = at(key.span());
        let k = library.at(key_at);
        // What is made at each call may hold codes that are no constants.
        let at_each_call =
            (*place == Place::Call).then(|| quote_spanned!(key_at=> @ #k::Codes::NONE;));
        set(
            key,
            quote_spanned!(key_at=> #k::codes![#at_each_call #(#value),*]),
        );
    }
    if let Some(Given { key, .. }) = &args.attempt_timeout {
        let key_at = at(key.span());
        let k = library.at(key_at);
        made = quote_spanned!(key_at=> #k::Policy::__bounded(#made));
    }
    made
}

fn time(library: &Library, time: &Time) -> TokenStream {
    let Some(duration) = time.literal else {
        return time.expr.to_token_stream();
    };
    let literal_at = at(time.expr.span());
    let k = library.at(literal_at);
    let (seconds, nanos) = (duration.as_secs(), duration.subsec_nanos());
    quote_spanned!(literal_at=> #k::__private::Duration::new(#seconds, #nanos))
}

/// A literal is written with a decimal point, since the setter takes an `f64`.
fn factor(value: &Expr) -> TokenStream {
    match check::number(value) {
        Some(number) => {
            let mut literal = proc_macro2::Literal::f64_suffixed(number);
            literal.set_span(at(value.span()));
            literal.into_token_stream()
        }
        None => value.to_token_stream(),
    }
}

fn jitter(library: &Library, jitter: &Jitter) -> TokenStream {
    match jitter {
        Jitter::Named(name, variant) => {
            let name_at = at(name.span());
            let k = library.at(name_at);
            let variant = Ident::new(variant, name_at);
            quote_spanned!(name_at=> #k::Jitter::#variant)
        }
        Jitter::Additive(up_to) => {
            let up_to_at = at(up_to.expr.span());
            let k = library.at(up_to_at);
            let up_to = time(library, up_to);
            quote_spanned!(up_to_at=> #k::Jitter::Additive(#up_to))
        }
        Jitter::Expr(expr) => expr.to_token_stream(),
    }
}

/// The type with `_` for each `impl Trait`, which no binding can be annotated with.
fn without_impl(ty: TokenStream) -> TokenStream {
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
