//! The loop around the body.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::spanned::Spanned;

use super::policy::policy;
use super::values::Values;
use super::written::Written;
use crate::args::Args;
use crate::args::key_value::Given;
use crate::args::on::Pattern;
use crate::hygiene::{at, mixed};
use crate::place::{self, Place};
use crate::shape::is_hole;

/// The loop around `attempt`, which is the body as a future, or the outcome itself if nothing is awaited.
pub(super) fn looped(
    written: &Written<'_>,
    attempt: TokenStream,
    returns: TokenStream,
) -> TokenStream {
    let values = Values::of(written);
    let bound = Bound::of(written, &values);
    let (context, runtime) = (&bound.context, &values.runtime);
    let with = mixed!(#context, #runtime);
    let looped = Loop {
        written,
        args: written.args,
        values,
        bound,
        with,
        attempt,
        returns,
    };
    looped.statements()
}

struct Loop<'a> {
    written: &'a Written<'a>,
    args: &'a Args,
    /// The values of the keys.
    values: Values,
    bound: Bound,
    /// The context and the runtime, the first arguments of most functions.
    with: TokenStream,
    attempt: TokenStream,
    /// The type of the outcome.
    returns: TokenStream,
}

/// The context, which is the same for all attempts.
struct Bound {
    /// The statements that make the context and the guard, and begin the call.
    begin: TokenStream,
    /// The expression that refers to the context.
    context: TokenStream,
    /// Whether the context may name a budget, a rate or a breaker.
    may_have_budget_or_rate: bool,
}

impl Bound {
    /// Makes the context, which is the same for all attempts.
    fn of(written: &Written<'_>, values: &Values) -> Self {
        let args = written.args;
        let (policy, timed) = (policy(args), args.attempt.is_some());
        let Values {
            runtime,
            limits,
            operation,
            ..
        } = values;
        let of = |policy: TokenStream| {
            mixed! {
                &__backoff::Context { policy: #policy, limits: #limits, operation: #operation }
            }
        };
        // Items are not hygienic, so the name must be one that no other code uses.
        let named = mixed!(__BACKOFF);
        let item = |ty: TokenStream, made: TokenStream| mixed!(const #named: &#ty = #made;);
        let context = || {
            let ty = mixed!(__backoff::Context<'static>);
            item(ty, of(mixed!(&#policy)))
        };
        // Only a constant policy is known to name no budget, no rate and no breaker.
        let may_have_budget_or_rate = args.may_have_rate() || args.budget.is_some();
        let known = |bind: Option<TokenStream>, made: &TokenStream| Bound {
            begin: mixed! {
                #bind
                let mut __guard = __backoff::begin_known(|| #made, #runtime, #timed);
            },
            context: mixed!(__backoff::known(&__guard)),
            may_have_budget_or_rate,
        };
        let policy_place = written.scope.of_policy(args);
        match policy_place.max(values.place) {
            Place::Item if may_have_budget_or_rate => known(Some(context()), &named),
            Place::Item => {
                let item = context();
                Bound {
                    begin: mixed! {
                        #item
                        let mut __guard = __backoff::begin(#named, #runtime, #timed);
                    },
                    context: named,
                    may_have_budget_or_rate,
                }
            }
            // For places where an item is not allowed.
            Place::Inline => {
                let made = of(mixed!(&#policy));
                known(None, &mixed!(const { #made }))
            }
            // A constant, and a value behind a reference, stays there. Any other value is copied out, so that
            // no guard and no borrow of `self` lives as long as the call.
            Place::Call => {
                let reference = match policy_place {
                    Place::Item => {
                        let item = item(mixed!(__backoff::Policy), mixed!(&#policy));
                        Some(mixed!({ #item #named }))
                    }
                    Place::Inline => Some(mixed!(const { &#policy })),
                    Place::Call => place::is_behind_a_reference(args).then(|| mixed!(&#policy)),
                };
                let (ty, made, plan, of_guard) = match reference {
                    Some(reference) => (
                        mixed!(&__backoff::Policy),
                        reference,
                        mixed!(__backoff::Borrowed(__policy)),
                        mixed!(__guard.plan.0),
                    ),
                    None => (
                        mixed!(__backoff::Policy),
                        policy,
                        mixed!(__policy),
                        mixed!(&__guard.plan),
                    ),
                };
                let context = of(of_guard);
                Bound {
                    begin: mixed! {
                        let __policy: #ty = #made;
                        let mut __guard = __backoff::Guard::new(#plan);
                        __backoff::start(#context, #runtime, &mut __guard.state, #timed);
                    },
                    context,
                    may_have_budget_or_rate: true,
                }
            }
        }
    }
}

impl Loop<'_> {
    fn statements(&self) -> TokenStream {
        let timed = self.args.attempt.is_some();
        let (binds, runtime) = (&self.values.binds, &self.values.runtime);
        let (Bound { begin, context, .. }, with) = (&self.bound, &self.with);
        let bind_attempt = self.args.attempt.as_ref().map(|attempt| {
            let name = &attempt.value;
            mixed! {
                let #name = __backoff::attempt(#with, &__guard.state, &__info);
            }
        });
        let bind_info = timed.then(|| mixed!(let mut __info = __backoff::call_info(#runtime);));
        // An attempt with a limit is not begun if the timer woke too late.
        let begins = (self.limited().is_none() && self.bound.may_have_budget_or_rate)
            .then(|| mixed!(__backoff::begins(&mut __guard);));
        let span = self.span();
        let bind_span = span.as_ref().map(|(key_at, span)| {
            quote_spanned!(*key_at=> let mut #span = __backoff::attempt_span(#context);)
        });
        let bind_turn = self.turn();
        let (bind_outcome, ending) = self.bind_outcome();
        let (await_value, ending) = self.awaited(ending);
        let (bind_row, in_row) = self.row();
        let judged_at = self.written.judged_at;
        let value = self.value();
        let judged = quote_spanned!(judged_at=> #ending, &__outcome, #value, &mut __judge);
        let step = quote_spanned! {judged_at=>
            __backoff::step(#with, &mut __guard.state, #judged)
        };
        let mut judge = self.notified(self.judge());
        if let Some(row) = in_row {
            // The awaited value decides about the next wait.
            judge = mixed!((#judge, &#row));
        }
        if let Some((_, span)) = span {
            judge = mixed!(__backoff::spanned(&mut #span, #judge));
        }
        if timed {
            judge = mixed!((#judge, &mut __info));
        }
        let (bind_cut, break_if_cut) = self.broken();
        let attempt = mixed! {
            #bind_turn
            #bind_attempt
            #bind_span
            #bind_cut
            #bind_outcome
            #await_value
            let mut __judge = #judge;
            #break_if_cut
        };
        let (bind_stop, wait_or_stop) = self.stop();
        let body = if let Some(wait_or_stop) = wait_or_stop {
            // The outcome lives during the wait: it is returned if the wait is ended.
            mixed! {
                #attempt
                let __wait = match #step {
                    __backoff::Option::None => break __outcome,
                    __backoff::Option::Some(__wait) => __wait,
                };
                #wait_or_stop
                #begins
            }
        } else if self.written.is_async {
            // The outcome is dropped before the sleep: kept during the sleep, it would make the future larger
            // and could remove its `Send`.
            let pause = match self.args.may_have_rate() {
                true => mixed!(wait),
                false => mixed!(sleep),
            };
            mixed! {
                let __wait = {
                    #attempt
                    match #step {
                        __backoff::Option::None => break __outcome,
                        __backoff::Option::Some(__wait) => __wait,
                    }
                };
                __backoff::#pause(#runtime, __wait).await;
                #begins
            }
        } else {
            // The place of the step, so that a mistake there is reported only once.
            let max_queue_time = self.max_queue_time();
            let pause = quote_spanned! {judged_at=>
                __backoff::pause(
                    #with, &mut __guard.state, __wait, #max_queue_time, &__outcome, #value, &mut __judge
                )
            };
            // The judge may be used twice for one error: before the wait, and when the timer woke too late.
            mixed! {
                #attempt
                match #step {
                    __backoff::Option::None => break __outcome,
                    __backoff::Option::Some(__wait) => if #pause { break __outcome; },
                }
                #begins
            }
        };
        let late_by = self
            .is_asked()
            .then(|| mixed!(let __late_by = __backoff::LateBy::new();));
        mixed! {
            #binds
            #late_by
            #bind_stop
            #begin
            #bind_info
            #bind_row
            loop {
                #body
            }
        }
    }

    /// The statement that makes the signal, and the statements that wait until the wait is over or the
    /// signal comes.
    fn stop(&self) -> (Option<TokenStream>, Option<TokenStream>) {
        let Some(Given { value, .. }) = self.args.signal() else {
            return (None, None);
        };
        let with = &self.with;
        let value_at = at(syn::spanned::Spanned::span(value));

        let made = quote_spanned! {value_at=>
            __backoff::SignalOf::of(#value).__backoff_signal()
        };
        let bind = mixed!(let mut __stop = __backoff::pin!(#made););
        let (fault, max_queue_time) = (self.value(), self.max_queue_time());
        let wait = mixed! {
            let __end = __backoff::pause_or_stop(
                #with, &mut __guard.state, __wait, #max_queue_time, __stop.as_mut()
            ).await;
            if let __backoff::Option::Some(__end) = __end {
                __backoff::ended(
                    #with, &mut __guard.state, &__outcome, #fault, &mut __judge, __end
                );
                break __outcome;
            }
        };
        (Some(bind), Some(wait))
    }

    /// The key whose time limit may end the call before the attempt.
    fn limited(&self) -> Option<&Ident> {
        let cut = self.args.cuts().map(|(key, _)| key);
        cut.or(self.args.queue_key())
    }

    /// The longest wait for a turn; `None` if no error can be made when this time is over.
    fn max_queue_time(&self) -> TokenStream {
        match &self.values.max_queue_time {
            Some(wait) => mixed!(__backoff::Option::Some(#wait)),
            None if self.limited().is_some() => {
                mixed!(__backoff::Option::Some(__backoff::Duration::MAX))
            }
            None if self.is_asked() => mixed!(__late_by.max_queue_time()),
            None => mixed!(__backoff::Option::None),
        }
    }

    /// Whether the error is asked how it is made of a call that ends before the attempt, as no key says that it can be.
    fn is_asked(&self) -> bool {
        self.args.may_have_rate() && self.limited().is_none()
    }

    /// The statements that wait for the turn of the attempt. With a limit, `__late` says that it came too late.
    fn turn(&self) -> Option<TokenStream> {
        if !self.args.may_have_rate() {
            return None;
        }
        let max_queue_time = self.max_queue_time();
        let (with, context) = (&self.with, &self.bound.context);
        if !self.written.is_async {
            let turn = mixed! {
                __backoff::admit_blocking(#with, &mut __guard.state, #max_queue_time)
            };
            return Some(mixed!(let __late = #turn;));
        }
        let (is_asked, turn) = match self.args.signal() {
            Some(_) => (
                mixed!(has_first_turn(#context, &__guard.state)),
                mixed! {
                    __backoff::first_turn(__admission, __stop.as_mut())
                },
            ),
            None => (
                mixed!(has_rate(#context)),
                mixed!(__backoff::turn(__admission)),
            ),
        };
        // Two statements, so that the future need not keep the context; in a block, so that it need not keep the
        // place in the queue during the attempt.
        Some(mixed! {
            let __late = if __backoff::#is_asked {
                let __admission =
                    __backoff::admission(#with, &mut __guard.state, #max_queue_time);
                #turn.await
            } else {
                __backoff::Option::None
            };
        })
    }

    /// The statement before an attempt that the signal may cut, and the statement that ends the call then.
    fn broken(&self) -> (Option<TokenStream>, Option<TokenStream>) {
        if self.args.cut_on.is_none() {
            return (None, None);
        }
        let with = &self.with;
        let bind = mixed!(let mut __cut = __backoff::Option::None;);
        let end = mixed! {
            if __backoff::is_cut(
                #with, &mut __guard.state, __cut, &__outcome, &mut __judge
            ) {
                break __outcome;
            }
        };
        (Some(bind), Some(end))
    }

    /// The statement that runs an attempt, and the expression for the ending of its outcome.
    fn bind_outcome(&self) -> (TokenStream, TokenStream) {
        let (returns, with, judged_at) = (&self.returns, &self.with, self.written.judged_at);
        let outcome = self.cloned(self.outcome());
        let ending = mixed!(__backoff::Ending);
        // The type may be known from where a block stands. This statement tells it before the judge is made.
        let known = (!self.written.is_async && is_hole(returns))
            .then(|| mixed! { if false { break __outcome; } });
        // The error is made in one place, so that only one message says that it cannot be made.
        let (late, begins) = match self.limited() {
            Some(key) => (
                quote_spanned!(at(key.span())=> __backoff::by_key()),
                Some(mixed!(__backoff::begins(&mut __guard);)),
            ),
            None => (quote_spanned!(judged_at=> __late_by.late()), None),
        };
        if self.args.cuts().is_some() {
            let is_queued = self.args.may_have_rate().then(|| {
                mixed! {
                    if let __backoff::Option::Some(__late) = __late {
                        (__backoff::Result::Err(__late), #ending::Queued)
                    } else
                }
            });
            let settled = quote_spanned! {judged_at=>
                __backoff::settle(#late, __done, __unless_done)
            };
            let bind = mixed! {
                let (__done, __unless_done) = #is_queued if __backoff::is_late(#with, &__guard.state) {
                    (__backoff::expired(), #ending::Late)
                } else {
                    #begins
                    (#outcome, #ending::Clock)
                };
                let (__outcome, __ending): (#returns, _) = #settled;
            };
            return (bind, mixed!(__ending));
        }
        if !self.args.may_have_rate() {
            let bind = mixed!(let __outcome: #returns = #outcome; #known);
            return (bind, mixed!(#ending::Returned));
        }
        let asked = self.is_asked().then(|| {
            let asked = quote_spanned! {judged_at=>
                __backoff::Outcomes::of(&__outcome).__backoff_asked()
            };
            mixed!(__late_by.is(#asked);)
        });
        let refused =
            quote_spanned!(judged_at=> __backoff::refused(#late, __late, #ending::Queued));
        let bind = mixed! {
            let (__outcome, __ending): (#returns, _) = match __late {
                __backoff::Option::None => {
                    #begins
                    (#outcome, #ending::Returned)
                }
                __backoff::Option::Some(__late) => #refused,
            };
            #known
            #asked
        };
        (bind, mixed!(__ending))
    }

    fn outcome(&self) -> TokenStream {
        let attempt = self.in_span(self.inside());
        if !self.written.is_async {
            return attempt;
        }
        let attempt = match &self.args.cut_on {
            Some(Given { key, .. }) => {
                let key_at = at(key.span());
                quote_spanned! {key_at=>
                    __backoff::cut_on(__stop.as_mut(), &__guard.state, &mut __cut, #attempt)
                }
            }
            None => attempt,
        };
        let (Some((key, _)), Some(limit)) = (self.args.cuts(), &self.values.limit) else {
            return mixed!(#attempt.await);
        };
        let (key_at, with) = (at(key.span()), &self.with);
        // One reference takes less room than one to each part of the guard.
        quote_spanned! {key_at=>
            __backoff::cut(
                #limit,
                |__limit| {
                    let __guard = &__guard;
                    __backoff::timer(#with, &__guard.state, __limit)
                },
                #attempt
            ).await
        }
    }

    /// The name of the span of an attempt, if attempts have spans, and the place for messages about spans.
    fn span(&self) -> Option<(Span, TokenStream)> {
        let asked = self.args.attempt_spans.as_ref();
        let Given { key, .. } = asked.filter(|asked| asked.is_true())?;
        Some((at(key.span()), mixed!(__span)))
    }

    /// The attempt, of which its thread knows that it runs.
    fn inside(&self) -> TokenStream {
        let attempt = &self.attempt;
        match self.written.is_async {
            true => mixed!(__backoff::inside(&__guard, #attempt)),
            false => mixed!({ let __runs = __backoff::Guard::runs(&__guard); #attempt }),
        }
    }

    /// The attempt, in its span.
    fn in_span(&self, attempt: TokenStream) -> TokenStream {
        let context = &self.bound.context;
        let Some((_, span)) = self.span() else {
            return attempt;
        };
        let begins = mixed!(&mut #span, #context, &__guard.state);
        if self.written.is_async {
            mixed!(__backoff::in_span(#begins, #attempt))
        } else {
            mixed! {
                { let __entered = __backoff::enter_span(#begins); #attempt }
            }
        }
    }

    /// The copies are made before the attempt, which takes them with it. So the attempt requires no more of
    /// their types than the plain function does.
    fn cloned(&self, outcome: TokenStream) -> TokenStream {
        let copies = self.written.copies.made();
        if copies.is_empty() {
            return outcome;
        }
        mixed! {
            { #copies let __attempted = #outcome; __attempted }
        }
    }

    /// The code that turns a value that is not the awaited one into a failure, and the ending of this
    /// failure.
    fn awaited(&self, ending: TokenStream) -> (Option<TokenStream>, TokenStream) {
        let (Some(Given { key, .. }), Some(is_done)) = (&self.args.until, &self.values.until)
        else {
            return (None, ending);
        };
        let key_at = at(key.span());
        let (row, is_retried) = match self.row() {
            (_, Some(row)) => {
                let (value, context) = (self.value(), &self.bound.context);
                (
                    row,
                    quote_spanned!(key_at=> __backoff::is_retried(#context, #value)),
                )
            }
            (_, None) => (
                quote_spanned!(key_at=> __backoff::ConsecutiveCount::new(1)),
                quote_spanned!(key_at=> false),
            ),
        };
        let bind = quote_spanned! {key_at=>
            let __is_retried = #is_retried;
            let (__outcome, __ending) = __backoff::awaited(
                &mut #row, __outcome, #ending, __is_retried, #is_done
            );
        };
        (Some(bind), quote_spanned!(key_at=> __ending))
    }

    /// The statement that begins to count values in a row, and the name of the counter.
    fn row(&self) -> (Option<TokenStream>, Option<TokenStream>) {
        let Some(Given { key, value }) = &self.args.consecutive else {
            return (None, None);
        };
        let key_at = at(key.span());
        let row = mixed!(__row);
        let bind =
            quote_spanned!(key_at=> let mut #row = __backoff::ConsecutiveCount::new(#value););
        (Some(bind), Some(row))
    }

    /// The same judge, and the user's hook, typed by the outcome.
    fn notified(&self, judge: TokenStream) -> TokenStream {
        let (Some(Given { key, .. }), Some(hook)) = (&self.args.notify, &self.values.notify) else {
            return judge;
        };
        let key_at = at(key.span());
        quote_spanned!(key_at=> __backoff::notified(&__outcome, #judge, #hook))
    }

    /// The judge of an error.
    fn judge(&self) -> TokenStream {
        let judged_at = self.written.judged_at;
        let found = self.found();
        // For any type of error: if the error is a `Fault`, its hints are obeyed.
        let find = match &found {
            Some(found) => quote_spanned!(judged_at=> |__error| #found),
            None => quote_spanned! {judged_at=>
                __backoff::Outcomes::of(&__outcome).__backoff_find()
            },
        };
        let patterns = self.args.on.as_ref().map(|on| on.value.patterns.as_slice());
        let asks_codes = self.args.asks_codes();
        let judge = |name: &str, given: &[TokenStream]| {
            let name = Ident::new(name, judged_at);
            quote_spanned!(judged_at=> __backoff::#name(&__outcome #(, #given)*))
        };
        // The facts are looked for after the function or the patterns have told the type of the error.
        let by_function = |when_at: Span, when: &TokenStream| {
            let error = quote_spanned!(judged_at=> __backoff::error_of(&__outcome));
            quote_spanned!(when_at=> __backoff::when(#error, #when, || #find))
        };
        if let (Some(Given { value, .. }), Some(when)) = (&self.args.when, &self.values.when) {
            // A message about the function points at it.
            return by_function(at(value.span()), when);
        }
        match patterns {
            Some(patterns @ [_, ..]) if asks_codes => judge("or", &[matches(patterns)]),
            Some(patterns @ [_, ..]) => by_function(judged_at, &matches(patterns)),
            _ if asks_codes && found.is_some() => judge("found", &[find]),
            _ if asks_codes => quote_spanned!(judged_at=> __backoff::BY_CODES),
            _ => judge("every", &[find]),
        }
    }

    /// The facts of a value that the codes judge like an error: by default if the return type is written,
    /// and by the key if the type may be inferred from outside.
    fn value(&self) -> TokenStream {
        let judged_at = self.written.judged_at;
        let is_written = !is_hole(&self.returns);
        let is_asked = self.args.responses.as_ref();
        let is_asked = is_asked.map_or(is_written, Given::is_true);
        if !is_asked || !self.args.asks_codes() {
            return quote_spanned!(judged_at=> __backoff::Option::None);
        }
        quote_spanned! {judged_at=>
            __backoff::Outcomes::of(&__outcome).__backoff_value()
        }
    }

    /// The block that searches the sources of `__error` for the types of `faults(..)`.
    fn found(&self) -> Option<TokenStream> {
        let faults = self.args.faults.as_ref()?;
        let key_at = at(faults.key.span());
        let types = faults.value.iter().map(|ty| {
            let ty_at = at(syn::spanned::Spanned::span(ty));
            quote_spanned! {ty_at=>
                .or_else(|| (&__backoff::Named::<#ty>::of()).__backoff_as_fault(__cause))
            }
        });
        Some(quote_spanned! {key_at=>
            {
                use __backoff::via::*;
                let __facts = __backoff::Facts(__error);
                __backoff::among((&__facts).__backoff_first(), |__cause| {
                    __backoff::Option::None #(#types)*
                })
                .or_else(|| (&__facts).__backoff_itself())
            }
        })
    }
}

/// Whether one of the user's patterns matches. If a guard says no, later patterns are tried.
fn matches(patterns: &[Pattern]) -> TokenStream {
    let arms = patterns.iter().map(|Pattern { pat, guard }| {
        let guard = guard.as_ref().map(|guard| mixed!(if #guard));
        mixed!(#pat #guard => true,)
    });
    mixed!(|__error| match __error { #(#arms)* _ => false })
}
