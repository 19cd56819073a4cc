//! The loop around the body.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};

use super::copies::Copies;
use super::policy::{policy, time};
use super::{Library, at};
use crate::args::{Args, Given, Pattern, Time};
use crate::place::Place;

/// One retry loop.
pub(super) struct Loop<'a> {
    pub(super) library: &'a Library,
    pub(super) args: &'a Args,
    pub(super) copies: &'a Copies,
    pub(super) place: &'a Place,
    pub(super) is_async: bool,
    /// The body as a future, or as the outcome itself where nothing is awaited.
    pub(super) attempt: TokenStream,
    /// The type of the outcome.
    pub(super) returns: TokenStream,
    /// Where to say that the outcome cannot be judged.
    pub(super) judged_at: Span,
    /// The name in logs.
    pub(super) name: TokenStream,
}

impl Loop<'_> {
    pub(super) fn statements(&self) -> TokenStream {
        let here = Span::mixed_site();
        let k = self.library.at(here);
        let (bind_policy, policy) = self.policy();
        let (bind_runtime, runtime) = self.runtime();
        let start = Ident::new(
            if self.args.attempt.is_some() {
                "start_timed"
            } else {
                "start"
            },
            here,
        );
        let next = quote_spanned!(here=> #k::__private::attempt(#policy, &__retry, #runtime));
        let cut = self.args.attempt_timeout.as_ref().filter(|_| self.is_async);
        // Read once, so that what is decided by it still holds when the attempt is begun.
        let (bind_next, next) = match cut {
            Some(_) => {
                let once = quote_spanned!(here=> __next);
                (Some(quote_spanned!(here=> let __next = #next;)), once)
            }
            None => (None, next),
        };
        let bind_attempt = self.args.attempt.as_ref().map(|attempt| {
            let name = &attempt.value;
            quote_spanned!(here=> let #name = #next;)
        });
        let (bind_outcome, count) = self.bind_outcome(cut, &runtime);
        let (await_value, count) = self.awaited(count);
        let judge = self.judge();
        let notify = self.notify();
        let wait = if self.is_async {
            let step = self.step(&judge, &policy, &count, &runtime, &notify);
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
            // The hook may be told twice of one error: that it is waited after, and that the wait
            // was too long.
            let (bind_notify, first, second) = if self.args.notify.is_some() {
                (
                    Some(quote_spanned!(here=> let mut __notify = #notify;)),
                    quote_spanned!(here=> &mut __notify),
                    quote_spanned!(here=> __notify),
                )
            } else {
                (None, notify.clone(), notify)
            };
            let step = self.step(&judge, &policy, &count, &runtime, &first);
            let (name, known) = (&self.name, &judge.known);
            // At the place of the step, so that what is wrong there is not said twice.
            let judged_at = self.judged_at;
            let k_at_step = self.library.at(judged_at);
            let is_too_late = quote_spanned! {judged_at=>
                #k_at_step::__private::is_too_late(
                    #policy, &__retry, #name, #runtime, #second, &__last, #known
                )
            };
            quote_spanned! {here=>
                #bind_notify
                let (__wait, __last) = match #step {
                    #k::__private::Step::Done(__done) => break __done,
                    #k::__private::Step::Wait(__wait, __last) => (__wait, __last),
                };
                #k::__private::pause(#runtime, __wait);
                if #is_too_late {
                    break __last;
                }
            }
        };
        quote_spanned! {here=>
            #bind_policy
            #bind_runtime
            let mut __retry = #k::__private::#start(#policy, #runtime);
            loop {
                #bind_next
                #bind_attempt
                #bind_outcome
                #await_value
                #wait
            }
        }
    }

    /// The statement that makes the policy, and the expression that refers to it.
    fn policy(&self) -> (TokenStream, TokenStream) {
        let here = Span::mixed_site();
        let k = self.library.at(here);
        let made = policy(self.library, self.args, self.place);
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

    /// The same for clock and timer; only a timer of the user's is a value.
    fn runtime(&self) -> (Option<TokenStream>, TokenStream) {
        let here = Span::mixed_site();
        let k = self.library.at(here);
        if let Some(sleep) = &self.args.sleep {
            let key_at = at(sleep.key.span());
            let k = self.library.at(key_at);
            let own = Ident::new(
                if self.is_async {
                    "sleep_by"
                } else {
                    "pause_by"
                },
                key_at,
            );
            let timer = &sleep.value;
            return (
                Some(quote_spanned!(here=> let __timer = #k::__private::#own(#timer);)),
                quote_spanned!(here=> &__timer),
            );
        }
        let name = Ident::new(if self.is_async { "ASYNC" } else { "SYNC" }, here);
        (None, quote_spanned!(here=> &#k::__private::#name))
    }

    /// The statement that runs an attempt, and how the step is told of the count.
    fn bind_outcome(
        &self,
        cut: Option<&Given<Time>>,
        runtime: &TokenStream,
    ) -> (TokenStream, TokenStream) {
        let here = Span::mixed_site();
        let k = self.library.at(here);
        let returns = &self.returns;
        let outcome = self.cloned(self.outcome(runtime));
        let Some(limit) = cut else {
            let bind = quote_spanned!(here=> let __outcome: #returns = #outcome;);
            return (bind, quote_spanned!(here=> &mut __retry));
        };
        // The error is made in one place, so that one message says where it cannot be made.
        let key_at = at(limit.key.span());
        let k_at_key = self.library.at(key_at);
        let settled = quote_spanned!(key_at=> #k_at_key::__private::settle(__done));
        let bind = quote_spanned! {here=>
            let (__done, __is_over) = if #k::__private::is_over(__next) {
                (#k::__private::expired(), true)
            } else {
                (#outcome, false)
            };
            let __outcome: #returns = #settled;
        };
        let count = quote_spanned!(here=> #k::__private::Bounded(&mut __retry, __is_over));
        (bind, count)
    }

    fn outcome(&self, runtime: &TokenStream) -> TokenStream {
        let attempt = &self.attempt;
        if !self.is_async {
            return attempt.clone();
        }
        let Some(limit) = &self.args.attempt_timeout else {
            return quote_spanned!(Span::mixed_site()=> #attempt.await);
        };
        let key_at = at(limit.key.span());
        let k = self.library.at(key_at);
        let limit = time(self.library, &limit.value);
        quote_spanned! {key_at=>
            #k::__private::timed(__next, #runtime, #limit, #attempt).await
        }
    }

    /// The copies are made before the attempt, which takes them with it: it then asks no more of
    /// their types than the plain function does.
    fn cloned(&self, outcome: TokenStream) -> TokenStream {
        let copies = self.copies.made();
        if copies.is_empty() {
            return outcome;
        }
        quote_spanned! {Span::mixed_site()=>
            { #copies let __attempted = #outcome; __attempted }
        }
    }

    /// What makes a failure of a value that is not yet what is awaited, and how the step is told.
    fn awaited(&self, count: TokenStream) -> (Option<TokenStream>, TokenStream) {
        let Some(Given { key, value }) = &self.args.until else {
            return (None, count);
        };
        let key_at = at(key.span());
        let k = self.library.at(key_at);
        let bind = quote_spanned! {key_at=>
            let (__outcome, __is_pending) = #k::__private::awaited(__outcome, #value);
        };
        let count = quote_spanned!(key_at=> #k::__private::Awaited(#count, __is_pending));
        (Some(bind), count)
    }

    /// The user's hook, typed by the outcome.
    fn notify(&self) -> TokenStream {
        match &self.args.notify {
            Some(notify) => {
                let key_at = at(notify.key.span());
                let (k, hook) = (self.library.at(key_at), &notify.value);
                quote_spanned!(key_at=> #k::__private::hook(&__outcome, #hook))
            }
            None => {
                let k = self.library.at(self.judged_at);
                quote_spanned!(self.judged_at=> #k::__private::Silent)
            }
        }
    }

    fn step(
        &self,
        judge: &Judge,
        policy: &TokenStream,
        count: &TokenStream,
        runtime: &TokenStream,
        notify: &TokenStream,
    ) -> TokenStream {
        let judged_at = self.judged_at;
        let k = self.library.at(judged_at);
        let (name, Judge { step, rest, .. }) = (&self.name, judge);
        quote_spanned! {judged_at=>
            #k::__private::#step(#policy, #count, #name, #runtime, #notify, __outcome #(, #rest)*)
        }
    }

    fn judge(&self) -> Judge {
        let judged_at = self.judged_at;
        let k = self.library.at(judged_at);
        let found = self.found();
        // Whatever the error's type is: if it is a `Fault`, its hints are obeyed.
        let known = match &found {
            Some(found) => quote_spanned! {judged_at=>
                |__error| #k::__private::known_of(#found)
            },
            None => quote_spanned! {judged_at=>
                |__error| {
                    use #k::__private::via::*;
                    (&#k::__private::Facts(__error)).known()
                }
            },
        };
        // Where the error must be a `Fault`, its type may be found out later than a method of it
        // could be.
        let of_fault = quote_spanned!(judged_at=> #k::__private::known_fault);
        let patterns = self.args.on.as_ref().map(|on| on.value.patterns.as_slice());
        let asks_codes = self.args.asks_codes();
        let judge = |step: &str, rest: Vec<TokenStream>, known: TokenStream| Judge {
            step: Ident::new(step, judged_at),
            rest,
            known,
        };
        if let Some(when) = &self.args.when {
            let when = when.value.to_token_stream();
            return judge("step_when", vec![when, known.clone()], known);
        }
        match (patterns, found) {
            (Some(patterns @ [_, ..]), _) if asks_codes => {
                judge("step_or", vec![matches(patterns)], of_fault)
            }
            (Some(patterns @ [_, ..]), _) => {
                judge("step_when", vec![matches(patterns), known.clone()], known)
            }
            (_, Some(found)) if asks_codes => {
                let found = quote_spanned!(judged_at=> |__error| #found);
                judge("step_found", vec![found], known)
            }
            _ if asks_codes => judge("step", Vec::new(), of_fault),
            _ => judge("step_any", vec![known.clone()], known),
        }
    }

    /// The block that looks along the sources of `__error` for the types of `faults(..)`.
    fn found(&self) -> Option<TokenStream> {
        let faults = self.args.faults.as_ref()?;
        let key_at = at(faults.key.span());
        let k = self.library.at(key_at);
        let types = faults.value.iter().map(|ty| {
            let ty_at = at(syn::spanned::Spanned::span(ty));
            let k = self.library.at(ty_at);
            quote_spanned! {ty_at=>
                .or_else(|| (&#k::__private::Named::<#ty>::new()).as_fault(__cause))
            }
        });
        Some(quote_spanned! {key_at=>
            {
                use #k::__private::via::*;
                let __facts = #k::__private::Facts(__error);
                #k::__private::among((&__facts).first(), |__cause| {
                    #k::__private::Option::None #(#types)*
                })
                .or_else(|| (&__facts).itself())
            }
        })
    }
}

/// Who decides.
struct Judge {
    /// The library's function.
    step: Ident,
    /// What it is given beside what all of them are.
    rest: Vec<TokenStream>,
    /// What the error tells, as a function of it.
    known: TokenStream,
}

/// Whether one of the user's patterns matches; later ones are tried where a guard says no.
fn matches(patterns: &[Pattern]) -> TokenStream {
    let here = Span::mixed_site();
    let arms = patterns.iter().map(|Pattern { pat, guard }| {
        let guard = guard.as_ref().map(|guard| quote_spanned!(here=> if #guard));
        quote_spanned!(here=> #pat #guard => true,)
    });
    quote_spanned!(here=> |__error| match __error { #(#arms)* _ => false })
}
