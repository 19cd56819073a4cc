//! A policy inside the clients of AWS' SDK for Rust.

mod failure;
mod operation;

use aws_smithy_runtime_1::client::retries::TokenBucket;
use aws_smithy_runtime_api_1::{
    box_error::BoxError,
    client::{
        interceptors::{
            Intercept,
            context::{self, InterceptorContext},
        },
        orchestrator::OrchestratorError,
        result::ConnectorError,
        retries::{
            RequestAttempts,
            classifiers::{ClassifyRetry, RetryAction, RetryClassifierPriority, RetryReason},
        },
        runtime_components::RuntimeComponents,
    },
};
use aws_smithy_types_1::{
    config_bag::{ConfigBag, Storable, StoreReplace},
    retry::{ErrorKind, RetryConfig},
    timeout::TimeoutConfig,
};
use backoff_core::{
    __private::{ForeignCall, GivenUp},
    Clock, Decision, Policy, Random, StopReason, Tokio,
};
use failure::{Failure, NAME};
use std::{
    fmt, mem,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// Makes a retry of an AWS client from a policy. Give it to the client twice: as interceptor and as retry classifier.
///
/// ```ignore
#[doc = include_str!("examples/inside.rs")]
/// ```
///
/// The clients accept no other retry strategy, so their own loop runs. In this loop the interceptor asks the same
/// state machine as in the rest of this library, [`RetryState`](crate::RetryState), after each attempt. So the
/// policy decides how often and how long, whatever `retry_config` says.
///
/// - **Retried**: the policy's codes, as with a retry around the client, and failures that the client's classifiers
///   call throttled, or retryable by the service's model. A classifier of your own counts too, also if it forbids
///   a retry.
/// - **Hints**: `Retry-After` and `x-amz-retry-after`, within the policy's limits.
/// - **The deadline** counts from the first attempt. It cuts the running attempt, unless the client's
///   `operation_attempt_timeout` is shorter. `operation_timeout` still ends the call. If `sleep_impl` wakes late,
///   the deadline is late by the same time.
/// - **The policy's [`Budget`](crate::Budget)** has the tokens of retries, not the client's token bucket. If a call is dropped while it
///   waits, the budget gets back the tokens for this wait.
/// - **A conflict is not retried**, whatever the policy says: the same write would conflict again. The read before
///   it must be repeated too, by [`Policy::update`] around the client.
/// - **Requests that must not be made twice**: the SDK repeats every operation. With `.idempotent(false)` a request
///   is repeated only if it surely was not applied.
/// - **Tokens**: all attempts of a call send the same idempotency token (`ClientRequestToken` and similar ones),
///   because the client makes the token before its loop begins.
///
/// # Log events and metrics
///
/// With the features `tracing` and `metrics` each call writes the log events and metrics of every call of this
/// library: see [`telemetry`](crate::telemetry). The name of the operation consists of the client's service and
/// operation, such as `DynamoDB.PutItem`. If the client gives no name, and for further names after the first 4,096
/// of a program, it is `aws_smithy_runtime`.
///
/// - The client may end a call although the policy has decided to wait. Then an event of the wait is followed by an
///   event that the call was given up. The reason is `unrepeatable` if the body cannot be sent again (a stream),
///   `deadline` if `operation_timeout` was over, and `permanent` if the classifier is missing and the client's own
///   classifiers refuse.
/// - A failure before the first attempt, such as a value that cannot be serialized, writes nothing.
/// - A request that is only signed (`presigned`) writes nothing, and a call that is dropped writes nothing more.
///
/// # How it waits
///
/// The client's `sleep_impl` does the waiting; the client's feature `rt-tokio` brings one. Without the classifier,
/// only failures that the client itself would retry are retried, and each wait is drawn between zero and the
/// policy's wait. Without the interceptor nothing changes.
///
/// If the policy inside gives up because of a limit, or because the request may have been applied, the error is
/// permanent for a policy around the client, as a [`RetryError`](crate::RetryError) is. The error still has its
/// status and its hint, and says whether the request was sent. In a box, without the key `faults(..)`, a policy
/// outside does not recognise a reply that was given up inside.
pub fn inside(policy: Policy) -> Inside {
    Inside::new(policy, Tokio)
}

/// A policy as interceptor and retry classifier of an AWS client. Made by [`inside`]. Use clones of one `Inside` for
/// the two.
pub struct Inside<R = Tokio> {
    shared: Arc<Shared<R>>,
}

struct Shared<R> {
    policy: Policy,
    runtime: R,
    /// Whether the interceptor has seen a call. A classifier alone would repeat everything.
    is_intercepting: AtomicBool,
}

impl<R> Inside<R> {
    fn new(policy: Policy, runtime: R) -> Self {
        let is_intercepting = AtomicBool::new(false);
        Inside {
            shared: Arc::new(Shared {
                policy,
                runtime,
                is_intercepting,
            }),
        }
    }

    /// Uses another clock than tokio's and other random numbers than this thread's. The client's own `sleep_impl`
    /// still does the waiting.
    ///
    /// Clones that were made before this call do not belong to the returned `Inside`. The interceptor and the
    /// classifier of a client must belong together, so clone after this call.
    ///
    /// ```
    /// use backoff_cloud::{Random, Tokio, aws};
    ///
    /// struct Greatest;
    /// impl Random for Greatest {
    ///     fn random(&self) -> u64 { u64::MAX }
    /// }
    ///
    /// let without_chance = aws::inside(aws::STANDARD).runtime((Tokio, Greatest));
    /// ```
    pub fn runtime<T: Clock + Random>(self, runtime: T) -> Inside<T> {
        Inside::new(self.shared.policy, runtime)
    }
}

impl<R> Clone for Inside<R> {
    fn clone(&self) -> Self {
        Inside {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<R> fmt::Debug for Inside<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inside")
            .field("policy", &self.shared.policy)
            .finish_non_exhaustive()
    }
}

/// One call, in the configuration that the client makes for it.
#[derive(Debug)]
struct Call {
    retry: ForeignCall,
    /// The address of its `Inside`: the `Inside` of a request replaces the client's.
    owner: usize,
    client: Configured,
    /// Whether the call ended because of a limit, or because it may have been applied.
    is_given_up: bool,
    /// Whether the call waits for its next attempt.
    waits: bool,
    /// Whether the body of the request can be sent again.
    is_repeatable: bool,
}

impl Storable for Call {
    type Storer = StoreReplace<Self>;
}

/// If a call is dropped while it waits, no attempt follows, so the budget gets its tokens back.
impl Drop for Call {
    fn drop(&mut self) {
        self.retry.cancelled();
    }
}

/// The configuration of the client.
#[derive(Clone, Debug)]
struct Configured {
    timeouts: TimeoutConfig,
    retries: RetryConfig,
}

impl Configured {
    /// If a request has an `Inside` of its own, that of the client has changed the configuration already.
    fn of(cfg: &ConfigBag) -> Self {
        if let Some(call) = cfg.load::<Call>() {
            return call.client.clone();
        }
        let timeouts = cfg.load::<TimeoutConfig>().cloned();
        let retries = cfg.load::<RetryConfig>().cloned();
        Configured {
            timeouts: timeouts.unwrap_or_else(TimeoutConfig::disabled),
            retries: retries.unwrap_or_else(RetryConfig::standard),
        }
    }

    /// Makes the client's loop end after so many attempts, wait so long after the first of them, and cut an attempt
    /// after the rest of the deadline. The loop waits for the longest wait of its configuration, because the
    /// classifier asks for an endless one; without the classifier it draws a wait between zero and the initial one.
    fn put(self, attempts: u32, wait: Duration, remaining: Duration, cfg: &mut ConfigBag) {
        let retries = plain(&self.retries)
            .with_initial_backoff(wait)
            .with_max_backoff(wait)
            .with_max_attempts(attempts);
        let limit = self.timeouts.operation_attempt_timeout();
        let limit = limit.map_or(remaining, |limit| limit.min(remaining));
        let timeouts = if limit == Duration::MAX {
            self.timeouts
        } else {
            let builder = self.timeouts.into_builder();
            builder.operation_attempt_timeout(limit).build()
        };
        let state = cfg.interceptor_state();
        state.store_put(retries).store_put(timeouts);
    }
}

impl<R: Clock + Random> Inside<R> {
    fn owner(&self) -> usize {
        Arc::as_ptr(&self.shared).addr()
    }

    /// The running call, unless it belongs to another `Inside`.
    fn call<'c>(&self, cfg: &'c mut ConfigBag) -> Option<&'c mut Call> {
        cfg.get_mut_from_interceptor_state::<Call>()
            .filter(|call| call.owner == self.owner())
    }
}

impl<R: Clock + Random + Send + Sync> Intercept for Inside<R> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn modify_before_retry_loop(
        &self,
        _context: &mut context::BeforeTransmitInterceptorContextMut<'_>,
        _components: &RuntimeComponents,
        cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let Shared {
            policy, runtime, ..
        } = &*self.shared;
        self.shared.is_intercepting.store(true, Ordering::Relaxed);
        let operation = match ForeignCall::IS_HEARD {
            true => operation::name(cfg),
            false => operation::UNNAMED,
        };
        let retry = ForeignCall::request(*policy, operation, runtime.now(), 0, runtime);
        let remaining = retry.remaining(runtime);
        let client = Configured::of(cfg);
        cfg.interceptor_state().store_put(Call {
            retry,
            owner: self.owner(),
            client: client.clone(),
            is_given_up: false,
            waits: false,
            is_repeatable: true,
        });
        let attempts = client.retries.max_attempts();
        client.put(attempts, Duration::ZERO, remaining, cfg);
        Ok(())
    }

    fn read_before_attempt(
        &self,
        context: &context::BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let Some(call) = self.call(cfg) {
            call.waits = false;
            // The client has just tried to copy the request.
            call.is_repeatable = context.request().body().try_clone().is_some();
            call.retry.begins(&self.shared.runtime);
        }
        Ok(())
    }

    fn read_after_attempt(
        &self,
        context: &context::FinalizerInterceptorContextRef<'_>,
        components: &RuntimeComponents,
        cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let runtime = &self.shared.runtime;
        let made = cfg.load::<RequestAttempts>().map_or(1, |it| it.attempts());
        let Some(call) = self.call(cfg) else {
            return Ok(());
        };
        let Some(failure) = Failure::of(context, components) else {
            // A request that is only signed has no outcome.
            if let Some(Ok(_)) = context.output_or_error() {
                call.retry.succeeded::<Failure<'_>, _>(runtime);
            }
            return Ok(());
        };
        let client = call.client.clone();
        let (attempts, wait) = match call.retry.failed(runtime, &failure) {
            Decision::Wait(wait) => {
                call.waits = true;
                // The client also uses this number for the time limit of loading credentials.
                let attempts = client.retries.max_attempts().max(made.saturating_add(1));
                (attempts, wait.delay)
            }
            Decision::Stop(reason) => {
                call.is_given_up = !reason.is_final() || reason == StopReason::MaybeApplied;
                (1, Duration::ZERO)
            }
        };
        let remaining = match call.retry.remaining(runtime) {
            Duration::MAX => Duration::MAX,
            remaining => remaining.saturating_sub(wait),
        };
        client.put(attempts, wait, remaining, cfg);
        // Instead of the client's quota: retries take tokens of the policy's budget.
        let unlimited = TokenBucket::unlimited();
        cfg.interceptor_state().store_put(unlimited);
        Ok(())
    }

    fn modify_before_completion(
        &self,
        context: &mut context::FinalizerInterceptorContextMut<'_>,
        components: &RuntimeComponents,
        cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let Some(call) = self.call(cfg) else {
            return Ok(());
        };
        // The client has ended the call although the policy has decided to wait.
        if mem::take(&mut call.waits)
            && let Some(failure) = Failure::of(&context.inner().into(), components)
        {
            let reason = match call.is_repeatable {
                false => StopReason::Unrepeatable,
                // The client's `operation_timeout`.
                true if failure.is_timeout() => StopReason::Deadline,
                // The client's own classifiers, because ours is missing.
                true => StopReason::Permanent,
            };
            call.retry.given_up(&self.shared.runtime, &failure, reason);
        }
        if call.is_given_up {
            mark_given_up(context);
        }
        Ok(())
    }
}

/// Makes the error permanent for a policy around the client. The error still says what is known about the failure.
fn mark_given_up(context: &mut context::FinalizerInterceptorContextMut<'_>) {
    let Some(Err(error)) = context.output_or_error_mut() else {
        return;
    };
    let made_anew: fn(BoxError) -> OrchestratorError<context::Error> =
        match error.as_connector_error() {
            _ if error.is_timeout_error() => OrchestratorError::timeout,
            Some(connector) if connector.is_timeout() => {
                |it| OrchestratorError::connector(ConnectorError::timeout(it))
            }
            Some(_) => |it| OrchestratorError::connector(ConnectorError::io(it)),
            None => {
                if let Some(reply) = context.response_mut() {
                    GivenUp::mark(reply);
                }
                return;
            }
        };
    let last = mem::replace(error, OrchestratorError::other("given up"));
    *error = made_anew(GivenUp::around(last));
}

/// A configuration without the client's rate limit, and of the first revision: a later revision limits the wait that a
/// classifier asks for.
fn plain(configured: &RetryConfig) -> RetryConfig {
    RetryConfig::standard().with_reconnect_mode(configured.reconnect_mode())
}

/// Declares every failure retryable, so that the loop follows the configuration of `Configured::put`.
impl<R: Clock + Random + Send + Sync> ClassifyRetry for Inside<R> {
    fn classify_retry(&self, context: &InterceptorContext) -> RetryAction {
        self.classify_retry_v2(context, &RetryAction::NoActionIndicated)
    }

    fn classify_retry_v2(
        &self,
        context: &InterceptorContext,
        earlier: &RetryAction,
    ) -> RetryAction {
        let is_intercepting = self.shared.is_intercepting.load(Ordering::Relaxed);
        if !is_intercepting || !context.is_failed() {
            return RetryAction::NoActionIndicated;
        }
        let kind = match earlier {
            RetryAction::RetryIndicated(RetryReason::RetryableError { kind, .. }) => *kind,
            _ => ErrorKind::ClientError,
        };
        RetryAction::retryable_error_with_explicit_delay(kind, Duration::MAX)
    }

    fn name(&self) -> &'static str {
        NAME
    }

    fn priority(&self) -> RetryClassifierPriority {
        RetryClassifierPriority::run_after(RetryClassifierPriority::transient_error_classifier())
    }
}
