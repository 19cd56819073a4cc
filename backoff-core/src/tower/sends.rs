//! The operation of the layer: a service sends a request.

use super::{copies::Copies, outgoing::Outgoing};
use crate::{
    call::{
        operation::{AnyOperation, CallOf, Failed, JudgedFailure, Memory, Operation, RunsTwice},
        write_outcome::Remembered,
    },
    policy::Policy,
    report::Report,
    runtime::Clock,
};
use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};
use pin_project_lite::pin_project;
use tower_service::Service;

/// A request and the service that sends it: the operation of a [`Retry`](super::Retry).
pub struct Sends<S, Request, C> {
    name: &'static str,
    /// The service that was made ready. It makes the first attempt. Clones of it make the other attempts,
    /// and are made ready first.
    service: S,
    /// The request of the next attempt, unless the request before could not be copied.
    next: Option<Request>,
    copies: C,
    is_read: bool,
    is_begun: bool,
}

impl<S, Request, C> Sends<S, Request, C> {
    pub(super) const fn new(
        name: &'static str,
        service: S,
        request: Request,
        copies: C,
        is_read: bool,
    ) -> Self {
        Sends {
            name,
            service,
            next: Some(request),
            copies,
            is_read,
            is_begun: false,
        }
    }
}

pin_project! {
    /// One attempt of a [`Sends`].
    pub struct Sending<S, Request>
    where
        S: Service<Request>,
    {
        #[pin]
        phase: Phase<S, S::Future, Request>,
    }
}

pin_project! {
    #[project = Projection]
    enum Phase<S, F, Request> {
        // The service is not ready yet.
        Readying { service: S, request: Option<Request> },
        Called { #[pin] reply: F },
    }
}

impl<S, Request, C> Memory<S::Error> for Sends<S, Request, C>
where
    S: Service<Request>,
    Request: Outgoing,
    C: Copies<Request>,
{
    /// A request that cannot be copied is gone.
    fn host(&self) -> Option<&str> {
        self.next.as_ref()?.host()
    }

    fn failed(
        &mut self,
        failure: &JudgedFailure<'_, S::Error>,
        policy: &Policy,
        clock: &dyn Clock,
    ) -> Remembered<'_> {
        if let Some(info) = self.copies.info() {
            info.failed(failure, policy, clock);
        }
        // The attempt has begun, so `None` means that the request has no copy.
        match self.next {
            Some(_) => Remembered::Nothing,
            None => Remembered::UsedUp,
        }
    }
}

impl<S, Request, C> Operation for Sends<S, Request, C>
where
    S: Service<Request> + Clone,
    Request: Outgoing,
    C: Copies<Request>,
{
    type Value = S::Response;
    type Error = S::Error;
    type Running = Sending<S, Request>;
    type Report = Report;
    const TIMED: bool = C::PREPARES;

    fn may_run_twice(&self) -> bool {
        self.is_read && self.next.is_some()
    }

    fn erased(&mut self) -> AnyOperation<'_, S::Error> {
        AnyOperation {
            name: self.name,
            memory: Some(self),
        }
    }

    fn begin(&mut self, call: &impl CallOf<S::Response, S::Error>) -> Sending<S, Request> {
        let request = self.next.take();
        let request = request.expect("no attempt follows on a request that cannot be copied");
        let (mut request, next) = self.copies.copy(request);
        self.next = next;
        if let Some(info) = self.copies.info() {
            let attempt = call.run().attempt(info);
            self.copies.prepare(attempt, &mut request);
        }
        let phase = if core::mem::replace(&mut self.is_begun, true) {
            Phase::Readying {
                service: self.service.clone(),
                request: Some(request),
            }
        } else {
            let reply = self.service.call(request);
            Phase::Called { reply }
        };
        Sending { phase }
    }

    fn poll(
        &mut self,
        running: Pin<&mut Sending<S, Request>>,
        _call: &impl CallOf<S::Response, S::Error>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<S::Response, Failed<S::Error>>> {
        let mut phase = running.project().phase;
        loop {
            let reply = match phase.as_mut().project() {
                Projection::Called { reply } => return reply.poll(cx).map_err(Failed::from),
                Projection::Readying { service, request } => {
                    ready!(service.poll_ready(cx))?;
                    let request = request.take();
                    service.call(request.expect("the service is called once"))
                }
            };
            phase.set(Phase::Called { reply });
        }
    }
}

impl<S, Request, C> RunsTwice for Sends<S, Request, C> where Self: Operation {}
