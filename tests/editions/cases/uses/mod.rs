//! Right uses of the macros, one in each file. Compiled in editions 2021 and 2024.

#![allow(clippy::all, reason = "the functions are odd on purpose")]

mod arg_cfg;
mod arg_handed_over;
mod arg_hidden_by_pattern;
mod arg_holds_mut;
mod arg_impl_trait;
mod arg_keep;
mod arg_owned_clone;
mod arg_owned_read;
mod arg_pattern;
mod async_trait_mut_owned;
mod async_trait_ref;
mod async_trait_self_in_keys;
mod attempt_not_begun;
mod attempt_number;
mod attempt_spans;
mod attempt_timeout;
mod bail_macro_is_retried;
mod block_macro;
mod block_sync;
mod boxed_future;
mod boxed_future_alias;
mod boxed_future_named;
mod cfg_attr;
mod clone_mut;
mod clone_not_sync;
mod cloud_only;
mod codes_decide;
mod const_generics;
mod crate_renamed;
mod derive_fault;
mod derive_fault_loose;
mod duration_literals;
mod early_return_and_question;
mod faults_behind_anyhow;
mod faults_named;
mod generics_where;
mod hygiene_shadowed_prelude;
mod hygiene_user_consts;
mod impl_future;
mod inner_attributes;
mod instrument_order;
mod instrument_spans;
mod keep_in_future;
mod lifetimes;
mod lints_forbidden;
mod log_waits;
mod may_have_been_applied;
mod nested_closure_and_label;
mod nonsend_error_send_future;
mod notify_hook;
mod on_own_constants;
mod on_patterns;
mod on_single_letter;
mod policy_at_run_time;
mod policy_of_generic;
mod policy_of_self;
mod policy_of_the_impl;
mod policy_owned;
mod recursion;
mod responses;
mod ret_alias;
mod ret_borrowed;
mod ret_dyn_error_coercion;
mod ret_impl_trait;
mod ret_infer_default;
mod rules_of_a_policy;
mod select_inside;
mod self_arc;
mod self_mut;
mod self_ref;
mod sleep_own;
mod spawn_send;
mod sync_fn;
mod sync_wakes_late;
mod timeout_key;
mod tokio_test_above;
mod tokio_test_order;
mod trait_async_fn;
mod unsafe_fn;
mod unsafe_shapes;
mod until_consecutive;
mod until_done;
mod when_decides;

use std::sync::OnceLock;
use tracing::{Dispatch, Subscriber, dispatcher, subscriber::NoSubscriber};

/// This thread has this subscriber until the guard is dropped.
fn subscribed(subscriber: impl Subscriber + Send + Sync + 'static) -> dispatcher::DefaultGuard {
    // When an event is first met, and there is one subscriber alone, tracing asks the subscriber of that
    // thread. A thread of another test has none, and the event would be off for all. So there are others.
    static OTHERS: OnceLock<[Dispatch; 2]> = OnceLock::new();
    OTHERS.get_or_init(|| [(); 2].map(|()| Dispatch::new(NoSubscriber::default())));
    dispatcher::set_default(&Dispatch::new(subscriber))
}
