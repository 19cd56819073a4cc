//! A policy inside the clients of AWS' SDK for Rust.

mod failure;
mod operation;

use aws_smithy_runtime_1::client::retries::TokenBucket;
use aws_smithy_runtime_api_1::{
    box_error::BoxError,
    client::{
        interceptors::{
            Intercept,
            context::{
                BeforeTransmitInterceptorContextMut, BeforeTransmitInterceptorContextRef, Error,
                FinalizerInterceptorContextMut, FinalizerInterceptorContextRef, InterceptorContext,
            },
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

/// A policy as the retry of an AWS client: hand it over twice, as interceptor and as retry classifier.
///
#[doc = "```ignore"]
#[doc = include_str!("examples/inside.rs")]
#[doc = "```"]
///
/// The clients take no retry strategy of others. So the loop is the client's own, and in it the
/// interceptor asks the state machine that decides everywhere else, [`RetryState`](crate::RetryState),
/// after each attempt:
/// how often and how long is the policy's affair, whatever `retry_config` says.
///
/// - **What is repeated**: what the policy's codes name, as with a retry around the client, and what the
///   client's classifiers take for throttling or for retryable by the service's model. A classifier of
///   your own counts too, also one that forbids.
/// - **Hints**: `Retry-After` and `x-amz-retry-after`, within the policy's limits.
/// - **The deadline** counts from the first attempt. It cuts the attempt that is under way, if the
///   client's `operation_attempt_timeout` does not do so before. `operation_timeout` still ends the call.
///   A `sleep_impl` that wakes late delays the deadline by as much.
/// - **The policy's [`Budget`](crate::Budget)** pays, and not the client's token bucket. A call that is
///   dropped while it waits gives back what the wait has paid.
/// - **A conflict is not repeated**, whatever the policy says: the same write would conflict again. What
///   is to be repeated is the read before it, by [`Policy::update`] around the client.
/// - **What must not be made twice**: the SDK repeats every operation. `.idempotent(false)` repeats only
///   what surely was not applied.
/// - **Tokens**: all attempts of a call send the same idempotency token (`ClientRequestToken` and its
///   relatives), because the client makes the token before its loop begins.
///
/// # What is told
///
/// With the features `tracing` and `metrics` each call writes the log events and metrics of every call of this
/// library: see [`telemetry`](crate::telemetry). The operation is named by the client's service and operation,
/// as `DynamoDB.PutItem`. It is `aws_smithy_runtime` where the client does not name it, and for what comes
/// after the first 4,096 names of a program.
///
/// - The client may end a call although the policy has decided to wait. Then an event of the wait is followed by
///   one that the call was given up: with the reason `unrepeatable` where the body cannot be sent again
///   (a stream), `deadline` where `operation_timeout` was over, and `permanent` where the classifier
///   is missing and the client's own classifiers refuse.
/// - What fails before the first attempt, such as a value that cannot be serialized, writes nothing.
/// - A request that is only signed (`presigned`) writes nothing, and a call that is dropped writes nothing more.
///
/// # How it waits
///
/// The waits are slept by the client's `sleep_impl`, which its feature `rt-tokio` brings. Without the
/// classifier, what the client itself would not repeat is not repeated, and the waits are drawn from
/// zero up to the policy's. Without the interceptor nothing changes.
///
/// What the policy has given up inside, by a limit or because it may have been applied, is permanent to
/// a policy around the client, as a [`RetryError`](crate::RetryError) is: it does not begin anew. The status, the hint, and whether the
/// request was sent are told as ever. In a box, without the key `faults(..)`, a reply that was given up
/// inside is not told from another.
pub fn inside(policy: Policy) -> Inside {
    Inside {
        shared: Arc::new(Shared {
            policy,
            runtime: Tokio,
            unlimited: TokenBucket::unlimited(),
            is_intercepting: AtomicBool::new(false),
        }),
    }
}

/// A policy as interceptor and retry classifier of an AWS client. Made by [`inside`]; a clone is the
/// same one.
pub struct Inside<R = Tokio> {
    shared: Arc<Shared<R>>,
}

struct Shared<R> {
    policy: Policy,
    runtime: R,
    /// Takes the place of the client's quota: what a retry costs, the policy's budget was asked.
    unlimited: TokenBucket,
    /// Whether the interceptor has seen a call. A classifier alone would repeat everything.
    is_intercepting: AtomicBool,
}

impl<R> Inside<R> {
    /// With another clock and other random numbers than tokio's and this thread's. The waits are slept
    /// by the client's own `sleep_impl`.
    ///
    /// What this returns is another `Inside` than the clones that were made before. The interceptor
    /// and the classifier of a client have to be the same one, so clone after this call.
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
        Inside {
            shared: Arc::new(Shared {
                policy: self.shared.policy,
                runtime,
                unlimited: self.shared.unlimited.clone(),
                is_intercepting: AtomicBool::new(false),
            }),
        }
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
    policy: Policy,
    /// What events and metrics call it.
    operation: &'static str,
    /// Whose it is: an `Inside` of one request takes the place of the client's.
    owner: usize,
    /// What the client was configured with.
    timeouts: TimeoutConfig,
    retries: RetryConfig,
    /// Whether a limit has ended it, or that it may have been applied, and not what failed.
    is_given_up: bool,
    /// Whether it waits for its next attempt.
    waits: bool,
    /// Whether its body can be sent again.
    is_repeatable: bool,
}

impl Storable for Call {
    type Storer = StoreReplace<Self>;
}

/// A call that is dropped while it waits makes no attempt for what the wait has paid.
impl Drop for Call {
    fn drop(&mut self) {
        self.retry.cancelled(&self.policy);
    }
}

impl<R: Clock + Random> Inside<R> {
    fn owner(&self) -> usize {
        Arc::as_ptr(&self.shared).addr()
    }

    /// The call that is under way, unless another `Inside` has it.
    fn call<'c>(&self, cfg: &'c mut ConfigBag) -> Option<&'c mut Call> {
        cfg.get_mut_from_interceptor_state::<Call>()
            .filter(|call| call.owner == self.owner())
    }

    /// What the state machine says of the failure. The client cuts an attempt when the deadline is over,
    /// as `give_time` has it.
    fn decide(&self, call: &mut Call, failure: &Failure<'_>) -> Decision {
        let (policy, runtime) = (&call.policy, &self.shared.runtime);
        call.retry.failed(policy, runtime, call.operation, failure)
    }

    /// The client makes no attempt after the wait that was decided.
    fn ended_by_the_client(&self, call: &mut Call, failure: &Failure<'_>) {
        let reason = if !call.is_repeatable {
            StopReason::Unrepeatable
        } else if failure.is_timeout() {
            // Its `operation_timeout`.
            StopReason::Deadline
        } else {
            // Its own classifiers, where ours is missing.
            StopReason::Permanent
        };
        let (policy, runtime) = (&call.policy, &self.shared.runtime);
        call.retry
            .given_up(policy, runtime, call.operation, failure, reason);
    }

    /// Has the client's loop do what was decided. It stops where the number of attempts is reached, and
    /// waits as long as the longest wait is, because the classifier asks for an endless one.
    fn obey(&self, wait: Option<Duration>, configured: &RetryConfig, cfg: &mut ConfigBag) {
        let made = cfg.load::<RequestAttempts>().map_or(1, |it| it.attempts());
        let attempts = match wait {
            // The client also derives from it how long credentials may take to load.
            Some(_) => configured.max_attempts().max(made.saturating_add(1)),
            None => 1,
        };
        let wait = wait.unwrap_or_default();
        // Without the classifier a wait is drawn, from zero to the initial one.
        let config = plain(configured)
            .with_initial_backoff(wait)
            .with_max_backoff(wait)
            .with_max_attempts(attempts);
        cfg.interceptor_state()
            .store_put(config)
            .store_put(self.shared.unlimited.clone());
    }

    /// Limits the next attempt to what remains until the deadline.
    fn give_time(remaining: Duration, timeouts: TimeoutConfig, cfg: &mut ConfigBag) {
        let limit = timeouts.operation_attempt_timeout();
        let limit = limit.map_or(remaining, |limit| limit.min(remaining));
        let timeouts = if limit == Duration::MAX {
            timeouts
        } else {
            let builder = timeouts.into_builder();
            builder.operation_attempt_timeout(limit).build()
        };
        cfg.interceptor_state().store_put(timeouts);
    }
}

impl<R: Clock + Random + Send + Sync> Intercept for Inside<R> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn modify_before_retry_loop(
        &self,
        _context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _components: &RuntimeComponents,
        cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        self.shared.is_intercepting.store(true, Ordering::Relaxed);
        let policy = self.shared.policy;
        let operation = if ForeignCall::IS_HEARD {
            operation::name(cfg)
        } else {
            operation::UNNAMED
        };
        let runtime = &self.shared.runtime;
        let retry = ForeignCall::resumed(runtime.now(), 0);
        let remaining = retry.remaining(&policy, runtime);
        // What an `Inside` of the client has changed before one of the request is taken back.
        let (timeouts, retries) = match cfg.load::<Call>() {
            Some(call) => (call.timeouts.clone(), call.retries.clone()),
            None => (
                cfg.load::<TimeoutConfig>()
                    .cloned()
                    .unwrap_or_else(TimeoutConfig::disabled),
                cfg.load::<RetryConfig>()
                    .cloned()
                    .unwrap_or_else(RetryConfig::standard),
            ),
        };
        let config = plain(&retries).with_max_attempts(retries.max_attempts());
        cfg.interceptor_state().store_put(config).store_put(Call {
            retry,
            policy,
            operation,
            owner: self.owner(),
            timeouts: timeouts.clone(),
            retries,
            is_given_up: false,
            waits: false,
            is_repeatable: true,
        });
        Self::give_time(remaining, timeouts, cfg);
        Ok(())
    }

    fn read_before_attempt(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let Some(call) = self.call(cfg) {
            call.waits = false;
            // The client has copied the request just now, or could not.
            call.is_repeatable = context.request().body().try_clone().is_some();
            call.retry.begins(&self.shared.runtime);
        }
        Ok(())
    }

    fn read_after_attempt(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        components: &RuntimeComponents,
        cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let Some(call) = self.call(cfg) else {
            return Ok(());
        };
        let Some(failure) = Failure::of(context, components) else {
            // A request that is only signed has no outcome.
            if let Some(Ok(_)) = context.output_or_error() {
                let (policy, runtime) = (&call.policy, &self.shared.runtime);
                call.retry
                    .succeeded::<Failure<'_>, _>(policy, runtime, call.operation);
            }
            return Ok(());
        };
        let wait = match self.decide(call, &failure) {
            Decision::Wait(wait) => {
                call.waits = true;
                Some(wait.delay)
            }
            Decision::Stop(reason) => {
                call.is_given_up = !reason.is_final() || reason == StopReason::MaybeApplied;
                None
            }
        };
        let remaining = call.retry.remaining(&call.policy, &self.shared.runtime);
        let remaining = match remaining {
            Duration::MAX => remaining,
            _ => remaining.saturating_sub(wait.unwrap_or_default()),
        };
        let (timeouts, retries) = (call.timeouts.clone(), call.retries.clone());
        self.obey(wait, &retries, cfg);
        Self::give_time(remaining, timeouts, cfg);
        Ok(())
    }

    fn modify_before_completion(
        &self,
        context: &mut FinalizerInterceptorContextMut<'_>,
        components: &RuntimeComponents,
        cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let Some(call) = self.call(cfg) else {
            return Ok(());
        };
        if mem::take(&mut call.waits)
            && let Some(failure) = Failure::of(&context.inner().into(), components)
        {
            self.ended_by_the_client(call, &failure);
        }
        if !call.is_given_up {
            return Ok(());
        }
        let Some(Err(error)) = context.output_or_error_mut() else {
            return Ok(());
        };
        let made_anew: fn(BoxError) -> OrchestratorError<Error> = match error.as_connector_error() {
            _ if error.is_timeout_error() => OrchestratorError::timeout,
            Some(connector) if connector.is_timeout() => {
                |it| OrchestratorError::connector(ConnectorError::timeout(it))
            }
            Some(_) => |it| OrchestratorError::connector(ConnectorError::io(it)),
            None => {
                if let Some(reply) = context.response_mut() {
                    GivenUp::mark(reply);
                }
                return Ok(());
            }
        };
        let last = mem::replace(error, OrchestratorError::other("given up"));
        *error = made_anew(GivenUp::around(last));
        Ok(())
    }
}

/// A configuration without a rate limit of the client's, and of the first revision: a later one limits
/// the wait that a classifier asks for.
fn plain(configured: &RetryConfig) -> RetryConfig {
    RetryConfig::standard().with_reconnect_mode(configured.reconnect_mode())
}

/// Lets the loop ask how long to wait, whatever failed. The answer is what `Inside::obey` has left.
impl<R: Clock + Random + Send + Sync> ClassifyRetry for Inside<R> {
    fn classify_retry(&self, context: &InterceptorContext) -> RetryAction {
        self.classify_retry_v2(context, &RetryAction::NoActionIndicated)
    }

    fn classify_retry_v2(&self, context: &InterceptorContext, said: &RetryAction) -> RetryAction {
        let is_intercepting = self.shared.is_intercepting.load(Ordering::Relaxed);
        if !is_intercepting || !context.is_failed() {
            return RetryAction::NoActionIndicated;
        }
        let kind = match said {
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
