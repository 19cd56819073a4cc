//! All forms of a call, each as a boxed future. A blocking call runs in the first poll of its future.

use crate::{
    account::{Account, Bank},
    service::{Failure, Members, RESOURCES, Service},
};
use backoff_core::{
    Budget, Event, Policy, Sleep as _, StopReason, Updated,
    combine::{Changing, CombineError, Combining, Group},
    retry, retry_block,
};
use http::{Method, Request, Response};
use std::{
    future::poll_fn,
    panic::resume_unwind,
    pin::{Pin, pin},
    sync::Arc,
    task::{Poll, ready},
    time::Duration,
};
use tower::{Layer as _, ServiceExt as _, service_fn};

static AWS: Budget = Budget::aws();
static SHARE: Budget = Budget::ratio(0.2, 100);

const SECOND: Duration = Duration::from_secs(1);
const POLICY: Policy = Policy::exponential()
    .max_backoff(SECOND.saturating_mul(32))
    .max_attempts(6)
    .deadline(SECOND.saturating_mul(300));
/// For requests that may be made twice.
const REPEATED: Policy = POLICY.budget(&AWS);
/// For requests that must not be made twice.
const CAREFUL: Policy = POLICY.budget(&SHARE).idempotent(false);

/// What must hold of the effect of a call.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Effect {
    /// May be applied many times.
    Repeated,
    /// Is applied at most once.
    Once,
    /// Adds a member to a resource at most once.
    Member,
}

/// How a call ended.
pub(crate) enum Ended {
    Succeeded,
    /// With the reason, and whether the call may have been applied, where the form tells them.
    Failed(Option<StopReason>, Option<bool>),
}

impl<T, E> From<Result<T, E>> for Ended {
    fn from(result: Result<T, E>) -> Self {
        match result {
            Ok(_) => Ended::Succeeded,
            Err(_) => Ended::Failed(None, None),
        }
    }
}

/// What the calls of a round share.
pub(crate) struct Shared {
    pub(crate) service: Service,
    pub(crate) aws: Arc<Bank>,
    pub(crate) share: Arc<Bank>,
    combined: Combining<u32, Members, u64, Failure>,
}

impl Shared {
    pub(crate) fn new(service: Service) -> Self {
        let (tasks, steps) = (service.clone(), service.clone());
        let combined = Combining::on(
            move |task| tasks.spawn(task),
            move |resource, group: Group<Members, u64, Failure>| {
                let service = steps.clone();
                async move {
                    POLICY
                        .update(
                            || group.read(service.read(resource)),
                            |_| group.has_changed(),
                            |members| group.write(service.write(resource, members)),
                        )
                        .attempt_timeout(SECOND * 5)
                        .runtime(service.clone())
                        .reported()
                        .await
                }
            },
        );
        Shared {
            service,
            aws: Bank::aws(&AWS),
            share: Bank::share(&SHARE, 100_000),
            combined,
        }
    }

    /// How many resources have waiting callers.
    pub(crate) fn busy(&self) -> usize {
        self.combined.busy()
    }
}

/// One call.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) id: u32,
    pub(crate) account: Account,
    service: Service,
    combined: Combining<u32, Members, u64, Failure>,
}

impl Call {
    pub(crate) fn new(id: u32, effect: Effect, shared: &Shared) -> Self {
        let bank = match effect {
            Effect::Once => &shared.share,
            Effect::Repeated | Effect::Member => &shared.aws,
        };
        Call {
            id,
            account: Account::new(bank),
            service: shared.service.clone(),
            combined: shared.combined.clone(),
        }
    }

    pub(crate) fn resource(&self) -> u32 {
        self.id % RESOURCES
    }

    async fn request(&self) -> Result<u32, Failure> {
        self.account.begins();
        self.service.call(self.id).await
    }

    fn request_blocking(&self) -> Result<u32, Failure> {
        self.service.blocking(self.request())
    }

    async fn read(&self) -> Result<Members, Failure> {
        self.account.begins();
        self.service.read(self.resource()).await
    }

    async fn write(&self, members: Members) -> Result<u64, Failure> {
        self.service.write(self.resource(), members).await
    }

    /// Adds the call's number if the resource does not have it yet.
    fn add(&self) -> impl FnMut(&mut Members) -> bool + Send + use<> {
        let id = self.id;
        move |members| {
            let is_new = !members.names.contains(&id);
            if is_new {
                members.names.push(id);
            }
            is_new
        }
    }

    /// Adds the call's number and cannot tell whether it was there.
    fn append(&self) -> impl FnMut(&mut Members) + Send + use<> {
        let id = self.id;
        move |members| members.names.push(id)
    }

    /// The hook of the call. One event in a hundred makes it panic.
    fn hook(&self) -> impl FnMut(&Event<'_, Failure>) + Clone + use<> {
        let call = self.clone();
        move |event| call.heard(event)
    }

    fn heard(&self, event: &Event<'_, Failure>) {
        self.account.heard(event);
        if self.service.below(100) == 0 {
            resume_unwind(Box::new("the hook panics"));
        }
    }
}

/// A form: its name, what must hold of its effect, and how it makes a call.
pub(crate) struct Form {
    pub(crate) name: &'static str,
    pub(crate) effect: Effect,
    pub(crate) run: fn(Call) -> Running,
}

pub(crate) type Running = Pin<Box<dyn Future<Output = Ended>>>;

macro_rules! forms {
    ($($name:literal, $effect:ident, |$call:ident| $run:expr;)*) => {
        pub(crate) const FORMS: &[Form] = &[$(Form {
            name: $name,
            effect: Effect::$effect,
            run: |$call| Box::pin(async move { Ended::from($run) }),
        },)*];
    };
}

forms! {
    "function form", Repeated, |call| {
        REPEATED.retry(|| call.request()).notify(call.hook()).runtime(call.service.clone()).await
    };
    "function form, not idempotent", Once, |call| {
        CAREFUL.retry(|| call.request()).notify(call.hook()).runtime(call.service.clone()).await
    };
    "reported, not idempotent", Once, |call| {
        reported(CAREFUL.retry(|| call.request()).notify(call.hook()).runtime(call.service.clone()).reported().await)
    };
    "with the attempt", Repeated, |call| {
        REPEATED.retry_with(|attempt| { assert!(attempt.number() <= 6); call.request() })
            .notify(call.hook()).runtime(call.service.clone()).await
    };
    "owned, with both limits", Repeated, |call| {
        REPEATED.retry(|| call.request()).attempt_timeout(SECOND * 5).timeout(SECOND * 60).owned()
            .notify(call.hook()).runtime(call.service.clone()).await
    };
    "limits, not idempotent, reported", Once, |call| {
        reported(CAREFUL.retry(|| call.request()).attempt_timeout(SECOND * 5).timeout(SECOND * 60)
            .notify(call.hook()).runtime(call.service.clone()).reported().await)
    };
    "stopped by a signal", Repeated, |call| {
        REPEATED.retry(|| call.request()).stop_on(call.service.signal())
            .notify(call.hook()).runtime(call.service.clone()).await
    };
    "cut by a signal, not idempotent", Once, |call| {
        CAREFUL.retry(|| call.request()).cut_on(call.service.signal())
            .notify(call.hook()).runtime(call.service.clone()).await
    };
    "by the caller's judge", Repeated, |call| {
        REPEATED.when(|failure: &Failure| *failure != Failure::Forbidden).retry(|| call.request())
            .notify(call.hook()).runtime(call.service.clone()).await
    };
    "blocking", Repeated, |call| {
        REPEATED.blocking(|| call.request_blocking()).notify(call.hook()).runtime(call.service.clone()).call()
    };
    "blocking, not idempotent, reported", Once, |call| {
        reported(CAREFUL.blocking(|| call.request_blocking())
            .notify(call.hook()).runtime(call.service.clone()).reported().call())
    };
    "update", Member, |call| {
        REPEATED.update(|| call.read(), call.add(), |members| call.write(members))
            .notify(call.hook()).runtime(call.service.clone()).await
    };
    "update that cannot see its effect", Member, |call| {
        REPEATED.idempotent(false).update(|| call.read(), call.append(), |members| call.write(members))
            .attempt_timeout(SECOND * 5)
            .notify(call.hook()).runtime(call.service.clone()).await
    };
    "update with a limit and a signal", Member, |call| {
        REPEATED.update(|| call.read(), call.add(), |members| call.write(members))
            .attempt_timeout(SECOND * 5).stop_on(call.service.signal())
            .notify(call.hook()).runtime(call.service.clone()).await
    };
    "blocking update", Member, |call| {
        REPEATED.blocking_update(
            || call.service.blocking(call.read()), call.add(), |members| call.service.blocking(call.write(members)))
            .notify(call.hook()).runtime(call.service.clone()).call()
    };
    "attribute", Repeated, |call| annotated(&call).await;
    "attribute, not idempotent", Once, |call| annotated_carefully(&call).await;
    "attribute, blocking", Repeated, |call| annotated_blocking(&call);
    "attribute around a read-modify-write", Member, |call| granted(&call).await;
    "block, not idempotent", Once, |call| {
        retry_block!(policy = CAREFUL, notify = |event| call.heard(event), runtime = call.service.clone(),
            async { call.request().await }).await
    };
    "tower layer", Repeated, |call| tower(&call, REPEATED, Method::GET).await;
    "tower layer, not idempotent", Once, |call| tower(&call, CAREFUL, Method::POST).await;
    "resumed", Repeated, |call| resumed(&call).await;
    "combined", Member, |call| combined(call.combined.update(call.resource(), call.add())).await;
    "combined, cannot see its effect", Member, |call| {
        combined(call.combined.update(call.resource(), call.append())).await
    };
    "combined, with limits and a signal", Member, |call| {
        combined(limited(&call)).await
    };
}

#[retry(policy = REPEATED, notify = |event| call.heard(event), runtime = call.service.clone())]
async fn annotated(call: &Call) -> Result<u32, Failure> {
    call.request().await
}

#[retry(
    policy = CAREFUL, attempt_timeout = "5s", cut_on = call.service.signal(),
    notify = |event| call.heard(event), runtime = call.service.clone()
)]
async fn annotated_carefully(call: &Call) -> Result<u32, Failure> {
    call.request().await
}

#[retry(policy = REPEATED, notify = |event| call.heard(event), runtime = call.service.clone())]
fn annotated_blocking(call: &Call) -> Result<u32, Failure> {
    call.request_blocking()
}

#[retry(
    policy = REPEATED, retry_conflicts = true, notify = |event| call.heard(event),
    runtime = call.service.clone()
)]
async fn granted(call: &Call) -> Result<u64, Failure> {
    let mut members = call.read().await?;
    call.add()(&mut members);
    call.write(members).await
}

/// Sends a request through a layer. The method says whether the request may be made twice.
async fn tower(call: &Call, policy: Policy, method: Method) -> Result<(), Failure> {
    let service = service_fn(|_: Request<()>| async { call.request().await.map(Response::new) });
    let layer = policy
        .layer()
        .notify(call.hook())
        .runtime(call.service.clone());
    let mut request = Request::new(());
    *request.method_mut() = method;
    layer.layer(service).oneshot(request).await.map(drop)
}

/// A loop of the caller.
async fn resumed(call: &Call) -> Result<u32, Failure> {
    let mut retries = REPEATED
        .resuming()
        .notify(call.hook())
        .runtime(call.service.clone());
    loop {
        match call.request().await {
            Ok(id) => {
                retries.progress();
                return Ok(id);
            }
            Err(failure) => retries.failed(failure).await?,
        }
    }
}

fn reported<T, R>(result: Result<(T, R), backoff_core::RetryError<Failure, R>>) -> Ended {
    match result {
        Ok(_) => Ended::Succeeded,
        Err(error) => Ended::Failed(Some(error.reason), None),
    }
}

/// A caller of combined changes who leaves at a signal, and withdraws after 20 s.
async fn limited(call: &Call) -> Result<Updated<Members, u64>, CombineError<Failure>> {
    let mut change = Some(call.combined.update(call.resource(), call.add()));
    let mut signal = Some(call.service.signal());
    let mut timer = pin!(call.service.sleep(SECOND * 20));
    poll_fn(|context| {
        let waiting = change.as_mut().expect("it has not ended");
        if let Some(comes) = &mut signal
            && Pin::new(comes).poll(context).is_ready()
        {
            signal = None;
            waiting.leave();
        }
        if let Poll::Ready(ended) = Pin::new(waiting).poll(context) {
            return Poll::Ready(ended);
        }
        ready!(timer.as_mut().poll(context));
        let may_be_applied = change.take().is_some_and(Changing::withdraw);
        Poll::Ready(Err(CombineError::Left { may_be_applied }))
    })
    .await
}

async fn combined(
    update: impl Future<Output = Result<Updated<Members, u64>, CombineError<Failure>>>,
) -> Ended {
    match update.await {
        Ok(_) => Ended::Succeeded,
        Err(error) => Ended::Failed(Some(error.reason()), Some(error.may_be_applied())),
    }
}
