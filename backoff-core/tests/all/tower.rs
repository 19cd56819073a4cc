//! Requests that the tower layer retries, in virtual time: exact schedules, and which requests are sent twice.

use crate::common::{at_once, error::TestError, time::Time};
use backoff_core::{
    Attempt, Budget, Event, Hedge, Jitter, Policy, StopReason, codes,
    testing::VirtualTime,
    tower::{Copies, Idempotent, Outgoing, RetryLayer},
};
use bytes::Bytes;
use http_1::{HeaderMap, HeaderValue, Request, Response};
use http_body_1::{Body, Frame};
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    convert::Infallible,
    future::{Ready, ready},
    pin::{Pin, pin},
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
    time::Duration,
};
use tower::{Layer as _, Service, ServiceExt, service_fn};

const SECOND: Duration = Duration::from_secs(1);
const POLICY: Policy = Policy::exponential().on(codes![429, 500..=504]);

/// What the server answers: a status, with these seconds of `Retry-After` unless they are 0; or nothing.
type Answer = Result<(u16, u64), TestError>;

const LOST: Answer = Err(TestError::LOST);
const REFUSED: Answer = Err(TestError::REFUSED);
const BUSY: Answer = Ok((503, 0));

#[derive(Default)]
struct Seen {
    answers: VecDeque<Answer>,
    /// When each request came, and its body.
    requests: Vec<(Duration, Bytes)>,
    /// How often a service was made ready, and then failed.
    readied: u32,
    unready: VecDeque<bool>,
}

/// A service that has to be made ready before each call; a clone of it is not ready.
struct Server {
    time: VirtualTime,
    seen: Arc<Mutex<Seen>>,
    is_ready: bool,
}

impl Clone for Server {
    fn clone(&self) -> Self {
        Server {
            time: self.time.clone(),
            seen: self.seen.clone(),
            is_ready: false,
        }
    }
}

impl Server {
    fn answering(answers: impl IntoIterator<Item = Answer>) -> Self {
        let server = Server {
            time: VirtualTime::new(),
            seen: Arc::default(),
            is_ready: false,
        };
        server.seen.lock().unwrap().answers = answers.into_iter().collect();
        server
    }

    /// After how many seconds the requests came.
    fn schedule(&self) -> Vec<u64> {
        let seen = self.seen.lock().unwrap();
        seen.requests.iter().map(|(at, _)| at.as_secs()).collect()
    }

    fn bodies(&self) -> Vec<Bytes> {
        let seen = self.seen.lock().unwrap();
        seen.requests.iter().map(|(_, body)| body.clone()).collect()
    }
}

impl<B> Service<Request<B>> for Server
where
    B: Body<Data = Bytes, Error: std::fmt::Debug>,
{
    type Response = Response<&'static str>;
    type Error = TestError;
    type Future = Ready<Result<Self::Response, TestError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), TestError>> {
        let mut seen = self.seen.lock().unwrap();
        seen.readied += 1;
        if seen.unready.pop_front() == Some(true) {
            return Poll::Ready(Err(TestError::REFUSED));
        }
        self.is_ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        assert!(std::mem::take(&mut self.is_ready), "called unready");
        let body = at_once(request.into_body().collect());
        let body = body.map_or(Bytes::from_static(b"failed"), |body| body.to_bytes());
        let mut seen = self.seen.lock().unwrap();
        seen.requests.push((self.time.elapsed(), body));
        let answer = seen.answers.pop_front().unwrap_or(Ok((200, 0)));
        ready(answer.map(|(status, seconds)| {
            let reply = Response::builder().status(status);
            let reply = match seconds {
                0 => reply,
                seconds => reply.header("retry-after", seconds),
            };
            reply.body("").unwrap()
        }))
    }
}

/// Sends a request through this layer: the status or the error, and why it was given up.
fn send<C, B>(
    layer: RetryLayer<C>,
    server: &Server,
    request: Request<B>,
) -> (Result<u16, TestError>, Option<StopReason>)
where
    C: Copies<Request<B>> + Clone,
    B: Body<Data = Bytes, Error: std::fmt::Debug>,
    Request<B>: Outgoing,
{
    let reason = Arc::new(Mutex::new(None));
    let told = reason.clone();
    let layer = layer.runtime(server.time.clone());
    let layer = layer.notify(move |event: &Event<'_, TestError>| {
        if let Event::GaveUp { reason, .. } = event {
            *told.lock().unwrap() = Some(*reason);
        }
    });
    let mut service = layer.layer(server.clone());
    let reply = at_once(async { service.ready().await?.call(request).await });
    let reason = *reason.lock().unwrap();
    (reply.map(|reply| reply.status().as_u16()), reason)
}

fn get() -> Request<Full<Bytes>> {
    with("GET")
}

fn with(method: &str) -> Request<Full<Bytes>> {
    let request = Request::builder().method(method).uri("http://a.example/");
    request.body(Full::from("body")).unwrap()
}

#[test]
fn the_operation_is_tower_unless_the_layer_names_it() {
    let once = POLICY.max_attempts(1);
    let named = once.layer().operation("billing");
    // The name stays where a setting changes the type of the layer.
    for (layer, operation) in [(once.layer(), "tower"), (named, "billing")] {
        let (mut server, told) = (Server::answering([LOST]), Mutex::new(None));
        server.is_ready = true;
        let note = |event: &Event<'_, TestError>| *told.lock().unwrap() = Some(event.operation());
        let layer = layer.runtime(server.time.clone()).notify(note);
        at_once(layer.layer(server).oneshot(get())).unwrap_err();
        assert_eq!(told.into_inner().unwrap(), Some(operation));
    }
}

#[test]
fn what_may_be_sent_twice_follows_from_the_request() {
    let careful = POLICY.idempotent(false);
    let by_method = POLICY.idempotent_by_method();
    let check = |what: &str, policy: Policy, said: Option<bool>, answer, request, expected| {
        let server = Server::answering([answer]);
        let layer = policy.layer();
        let layer = said.map_or(layer, |said| layer.idempotent(said));
        let _ = send(layer, &server, request);
        assert_eq!(server.schedule().len(), expected, "{what}");
    };
    for (method, twice, carefully) in [
        ("GET", 2, 2),
        ("HEAD", 2, 2),
        ("OPTIONS", 2, 2),
        ("TRACE", 2, 2),
        ("QUERY", 2, 2),
        ("PUT", 2, 1),
        ("DELETE", 2, 1),
        ("POST", 1, 1),
        ("PATCH", 1, 1),
        ("CONNECT", 1, 1),
        ("get", 1, 1),
    ] {
        check(method, POLICY, None, LOST, with(method), twice);
        check(method, careful, None, LOST, with(method), carefully);
        check(method, by_method, None, LOST, with(method), twice);
        check(method, POLICY, None, BUSY, with(method), twice);
        // Surely not applied.
        check(method, POLICY, None, REFUSED, with(method), 2);
        check(method, POLICY, None, Ok((429, 0)), with(method), 2);
        // Somebody says so.
        check(method, POLICY, Some(true), LOST, with(method), 2);
        check(method, POLICY, Some(false), LOST, with(method), 1);
        // The word for one request counts before the word for all.
        for idempotent in [true, false] {
            let mut request = with(method);
            request.extensions_mut().insert(Idempotent(idempotent));
            let expected = 1 + usize::from(idempotent);
            check(method, careful, Some(!idempotent), LOST, request, expected);
        }
    }
    for (name, value, expected) in [
        ("idempotency-key", "k", 2),
        ("idempotency-key", "", 1),
        ("if-match", "\"e\"", 2),
        ("if-match", "*", 1),
        ("if-none-match", "*", 2),
    ] {
        let mut request = with("POST");
        request.headers_mut().insert(name, value.parse().unwrap());
        let what = format!("{name}: {value}");
        check(&what, POLICY, None, LOST, request, expected);
    }
}

/// What a service that is busy twice comes to see of a request: why it was given up, and the server.
fn busy_twice<C, B>(layer: RetryLayer<C>, request: Request<B>) -> (Option<StopReason>, Server)
where
    C: Copies<Request<B>> + Clone,
    B: Body<Data = Bytes, Error: std::fmt::Debug>,
    Request<B>: Outgoing,
{
    let server = Server::answering([BUSY, BUSY]);
    (send(layer, &server, request).1, server)
}

#[test]
fn what_cannot_be_copied_is_sent_once_and_the_reason_says_so() {
    static BUDGET: Budget = Budget::ratio(0.5, 10);
    let uncopied = |policy: Policy| busy_twice(policy.layer().cloned_by(|_| None), get());
    let (said, server) = uncopied(POLICY.budget(&BUDGET));
    assert_eq!(said, Some(StopReason::Unrepeatable));
    assert_eq!((server.schedule().len(), BUDGET.tokens()), (1, 10.0));
    let (said, _) = uncopied(POLICY.max_attempts(1));
    assert_eq!(said, Some(StopReason::Attempts));
}

#[test]
fn a_function_copies_what_is_not_clone() {
    let copy = |request: &Request<BoxBody<Bytes, Infallible>>| {
        Some(Request::new(Full::from(request.uri().to_string()).boxed()))
    };
    let request = with("PUT").map(|body| body.boxed());
    let (said, server) = busy_twice(POLICY.layer().cloned_by(copy), request);
    assert_eq!((said, server.schedule()), (None, vec![0, 1, 3]));
    assert_eq!(server.bodies(), ["body", "http://a.example/", "/"]);
}

/// A body of these frames; a number waits so often.
struct Frames(VecDeque<Result<Frame<Bytes>, u32>>);

impl Body for Frames {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        match self.0.pop_front() {
            Some(Err(0)) => Poll::Ready(Some(Err("failed"))),
            Some(Err(_)) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            frame => Poll::Ready(frame.and_then(Result::ok).map(Ok)),
        }
    }
}

type Hidden = http_body_util::combinators::UnsyncBoxBody<Bytes, &'static str>;

fn hidden(frames: impl IntoIterator<Item = Result<Frame<Bytes>, u32>>) -> Request<Hidden> {
    Request::put("http://a.example/")
        .body(Hidden::new(Frames(frames.into_iter().collect())))
        .unwrap()
}

fn data(text: &'static str) -> Result<Frame<Bytes>, u32> {
    Ok(Frame::data(text.into()))
}

#[test]
fn a_hidden_body_is_replayed_and_one_that_is_too_long_or_fails_is_sent_once_and_whole() {
    let trailers = Ok(Frame::trailers(HeaderMap::new()));
    for (frames, expected, times) in [
        (vec![], "", 3),
        (vec![data("whole")], "whole", 3),
        (
            vec![data("in"), data(""), data("part"), trailers],
            "inpart",
            3,
        ),
        (
            vec![data("too"), data(" long,"), data(" so")],
            "too long, so",
            1,
        ),
        (vec![data("a"), Err(0)], "failed", 1),
    ] {
        let (said, server) = busy_twice(POLICY.layer().replaying(8, Hidden::new), hidden(frames));
        assert_eq!(server.bodies(), vec![expected; times]);
        assert_eq!(server.schedule(), [0, 1, 3][..times], "{expected}");
        let unrepeatable = (times == 1).then_some(StopReason::Unrepeatable);
        assert_eq!(said, unrepeatable, "{expected}");
    }
}

/// What was read comes first, and then what the body gives to whoever sends it.
#[test]
fn a_body_that_waits_is_handed_on() {
    let copies = Mutex::new(Vec::new());
    let rebuild = |body| {
        copies.lock().unwrap().push(());
        Hidden::new(body)
    };
    let sent = Arc::new(Mutex::new(None));
    let keeps = sent.clone();
    let service = tower::service_fn(move |request: Request<Hidden>| {
        *keeps.lock().unwrap() = Some(request.into_body());
        ready(Err::<Response<()>, _>(TestError::LOST))
    });
    let waiting = hidden([data("a"), Err(1), Err(1), data("b")]);
    let layer = POLICY.layer().runtime(VirtualTime::new());
    let mut service = layer.replaying(8, rebuild).layer(service);
    let reply = at_once(service.call(waiting));
    assert_eq!(reply.unwrap_err(), TestError::LOST);
    assert_eq!(copies.lock().unwrap().len(), 1);
    let body = sent.lock().unwrap().take().unwrap();
    let mut body = pin!(body.collect());
    let mut context = Context::from_waker(Waker::noop());
    assert!(body.as_mut().poll(&mut context).is_pending());
    assert_eq!(at_once(body).unwrap().to_bytes(), "ab");
}

/// Writes the number of the attempt behind the numbers that are there.
fn number<B>(attempt: Attempt, request: &mut Request<B>) {
    let number = attempt.number().into();
    request.headers_mut().append("attempt", number);
}

#[test]
fn a_function_changes_the_request_of_each_attempt_and_not_the_next_one() {
    fn numbers<C, B>(layer: RetryLayer<C>, request: Request<B>) -> Vec<Vec<HeaderValue>>
    where
        C: Copies<Request<B>> + Clone,
    {
        let seen = RefCell::new(Vec::new());
        let service = service_fn(|request: Request<B>| {
            let numbers = request.headers().get_all("attempt").iter().cloned();
            seen.borrow_mut().push(numbers.collect());
            ready(Err::<Response<()>, _>(TestError::REFUSED))
        });
        let layer = layer.runtime(VirtualTime::new()).layer(service);
        at_once(layer.oneshot(request)).unwrap_err();
        seen.into_inner()
    }
    let layer = POLICY.max_attempts(3).layer();
    let once = layer.cloned_by(|_: &Request<Full<Bytes>>| None);
    let copied = layer.cloned_by(|_: &Request<Full<Bytes>>| Some(get()));
    let replayed = layer.replaying(8, Hidden::new);
    assert_eq!(numbers(layer.prepare(number), get()), [["1"], ["2"], ["3"]]);
    assert_eq!(
        numbers(copied.prepare(number), get()),
        [["1"], ["2"], ["3"]]
    );
    assert_eq!(
        numbers(replayed.prepare(number), hidden([])),
        [["1"], ["2"], ["3"]]
    );
    assert_eq!(numbers(once.prepare(number), get()), [["1"]]);
    assert_eq!(
        numbers(layer.prepare(number).prepare(number), get()),
        [["1", "1"], ["2", "2"], ["3", "3"]]
    );
}

#[test]
fn the_function_is_told_of_the_attempt() {
    let (time, told) = (Time::default(), RefCell::new(Vec::new()));
    let layer = POLICY
        .jitter(Jitter::None)
        .layer()
        .prepare(|attempt: Attempt, _: &mut Request<Full<Bytes>>| told.borrow_mut().push(attempt));
    let service = service_fn(|_| async {
        time.after(9 * SECOND).await;
        match told.borrow().len() {
            4.. => Ok(Response::new("")),
            _ => Err(TestError::LOST),
        }
    });
    let hedge = Box::leak(Box::new(Hedge::after(SECOND)));
    let layer = layer.runtime(time.clone()).hedge(hedge);
    time.run(layer.layer(service).oneshot(get())).unwrap();
    let told = told.into_inner();
    let facts = |it: &Attempt| {
        (
            it.number(),
            it.elapsed().as_secs(),
            it.is_hedge(),
            it.maybe_applied(),
        )
    };
    assert_eq!(
        told.iter().map(facts).collect::<Vec<_>>(),
        [
            (1, 0, false, false),
            (1, 1, true, false),
            (2, 11, false, true),
            (2, 12, true, true),
        ]
    );
    assert!(told.iter().all(|attempt| attempt.id() == told[0].id()));
}

#[test]
fn each_attempt_readies_a_service_and_a_failure_of_that_is_judged() {
    let server = Server::answering([BUSY, BUSY]);
    // Ready for the caller; the retry finds it unready once.
    server.seen.lock().unwrap().unready = [false, true, false].into();
    assert_eq!(send(POLICY.layer(), &server, get()), (Ok(200), None));
    assert_eq!(server.schedule(), [0, 3, 7]);
    assert_eq!(server.seen.lock().unwrap().readied, 4);
}

/// A future can be spawned where the service's can.
#[test]
fn a_reply_is_send() {
    fn is_send<T: Send>(_: &T) {}
    let mut service = POLICY.layer().layer(Server::answering([]));
    let ready = at_once(ServiceExt::<Request<Full<Bytes>>>::ready(&mut service));
    is_send(&ready.unwrap().call(get()));
}

#[test]
fn only_a_read_gets_a_second_request() {
    fn requests<C>(layer: RetryLayer<C>, request: Request<Full<Bytes>>) -> u32
    where
        C: Copies<Request<Full<Bytes>>> + Clone,
    {
        let hedge = Box::leak(Box::new(Hedge::after(SECOND)));
        let (time, begun) = (Time::default(), Cell::new(0));
        let service = service_fn(|_| async {
            begun.set(begun.get() + 1);
            time.after(9 * SECOND).await;
            Ok::<_, TestError>(Response::new(""))
        });
        let layer = layer.runtime(time.clone()).hedge(hedge);
        time.run(layer.layer(service).oneshot(request)).unwrap();
        begun.get()
    }
    for (method, expected) in [("GET", 2), ("QUERY", 2), ("PUT", 1), ("POST", 1)] {
        let by_method = POLICY.idempotent_by_method().layer();
        assert_eq!(requests(by_method, with(method)), expected, "{method}");
        assert_eq!(requests(POLICY.layer(), with(method)), expected, "{method}");
        let said = POLICY.layer().idempotent(expected == 1);
        assert_eq!(requests(said, with(method)), 3 - expected, "{method}");
    }
    let mut search = with("POST");
    search.extensions_mut().insert(Idempotent(true));
    assert_eq!(requests(POLICY.layer(), search), 2);
    let no_copy = POLICY.layer().cloned_by(|_: &Request<Full<Bytes>>| None);
    assert_eq!(requests(no_copy, get()), 1);
}
