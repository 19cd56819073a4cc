//! Bodies that are too long, never end, or end too early. What is measured is the heap of the
//! client's thread; the servers have threads of their own.

use crate::server::{AMPLE as MINUTE, Act, End, client, head, nobody, reply, serve as served};
use allocation_counter::measure;
use backoff_cloud::{Delivery, Fault, FaultKind, GrpcCode, Policy, StopReason, Verdict, http, iam};
use backoff_core::testing::VirtualTime;
use flate2::{Compression, write::GzEncoder};
use http::{ApiError, Limits};
use hyper_1::body::{Body, Bytes, Frame};
use serde_json::Value;
use std::{
    convert::Infallible,
    fmt::Display,
    future::Future as _,
    io::Write as _,
    pin::Pin,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};
use tokio::{
    runtime::{Builder, Runtime},
    time::{Sleep, sleep},
};

const MB: u64 = 1_000_000;

/// A limit that a body is to reach that stalls.
const QUICK: Limits = Limits::new().error_body_time(Duration::from_millis(200));

/// A limit that no body reaches that does not stall, on a slow machine either.
const AMPLE: Limits = Limits::new().error_body_time(MINUTE);

fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

/// The URL of a server that answers so.
fn serve(act: Act) -> String {
    format!("http://{}", served(act))
}

/// A head that announces a body of so many bytes, of which these come.
fn told(status: &str, length: impl Display, body: &str) -> Act {
    head(format!("{status}\r\ncontent-length: {length}"), body)
}

async fn get(url: &str, limits: Limits) -> Result<Value, ApiError> {
    limits.json(client().get(url).send().await?).await
}

async fn failure(url: &str, limits: Limits) -> ApiError {
    get(url, limits).await.expect_err("a failure")
}

/// What a read fails of, the most heap that it had at a time, and how long it took.
fn measured(name: &str, url: &str, limits: Limits) -> (ApiError, u64, Duration) {
    let (begin, mut error) = (Instant::now(), None);
    let heap = measure(|| error = Some(runtime().block_on(failure(url, limits)))).bytes_max;
    let (error, time) = (error.expect("it was read"), begin.elapsed());
    println!("{name}: {heap} bytes, {time:?}");
    (error, heap, time)
}

/// An error that was left before its end: little memory, not all of its time, and the status counts.
fn assert_left(name: &str, url: &str) {
    let (error, heap, time) = measured(name, url, AMPLE);
    assert!(heap < 2 * MB, "{name}: {heap} bytes");
    assert!(time < Duration::from_secs(60), "{name}: {time:?}");
    assert_eq!(error.status(), Some(503), "{name}");
    assert_ne!(iam::REQUEST.judge(&error), Verdict::Permanent, "{name}");
    let shown = error.to_string();
    let cut = "but its body was cut: it is longer than 65536 bytes";
    assert!(shown.contains(cut), "{name}: {shown}");
}

#[test]
fn an_error_is_left_at_the_limit() {
    let begun = r#"{"error": {"status": "UNAVAILABLE", "details": ["#;
    let more = |act: Act, bytes, text| act.then(End::More(bytes, text));
    let told = |body| told("503 Busy", 100 * MB, body);
    for (name, act) in [
        ("100 MB of text", more(told(""), 100 * MB, "x")),
        // As a tree, this would take 32 bytes for every two.
        ("100 MB of JSON", more(told(begun), 100 * MB, "0,")),
        ("no end", more(head("503 Busy", ""), u64::MAX, "x")),
    ] {
        assert_left(name, &serve(act));
    }
}

fn bomb(megabytes: u64) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    let piece = vec![b' '; MB as usize];
    (0..megabytes).for_each(|_| packed.write_all(&piece).expect("it is written to memory"));
    packed.finish().expect("it is written to memory")
}

fn packed(status: &str, body: Vec<u8>) -> String {
    let length = body.len();
    let first = format!("{status}\r\ncontent-encoding: gzip\r\ncontent-length: {length}");
    serve(head(first, body))
}

#[test]
fn the_limits_count_what_is_unpacked() {
    let body = bomb(50);
    assert!(body.len() < 50_000, "{} bytes", body.len());
    assert_left("a bomb of an error", &packed("503 Busy", body.clone()));
    let url = packed("200 OK", body);
    let limits = Limits::new().body(MB as usize);
    let (error, heap, _) = measured("a bomb of a success", &url, limits);
    assert!(heap < 3 * MB, "{heap} bytes");
    assert_eq!(error.kind(), Some(FaultKind::Permanent));
}

#[test]
fn a_success_has_as_many_bytes_as_are_allowed() {
    let limits = Limits::new().body(8 * MB as usize);
    let unknown = serve(head("200 OK", "").then(End::More(u64::MAX, "x")));
    let (error, heap, _) = measured("a success without end", &unknown, limits);
    assert!(heap < 13 * MB, "{heap} bytes");
    let expected = "the body of the reply is longer than 8000000 bytes, the limit of `http::Limits`; to \
                    read a longer body, pass `http::Limits::new().body(bytes)` to `.limits(..)` of the \
                    request, or call its `json` or `success`";
    assert_eq!(error.to_string(), expected);
    let said = (error.kind(), error.delivery());
    assert_eq!(said, (Some(FaultKind::Permanent), None));
    // Where the length is told, nothing is read.
    let told = serve(told("200 OK", 8_000_001, "").then(End::Stall));
    let (error, heap, _) = measured("a success that tells its length", &told, limits);
    assert!(heap < MB, "{heap} bytes");
    assert_eq!(error.to_string(), expected);
    // Exactly so many are read.
    let full = |length: usize| {
        let body = format!("\"{}\"", "x".repeat(length - 2));
        let url = serve(reply(200, "", body));
        runtime().block_on(get(&url, Limits::new().body(100_000)))
    };
    let value = full(100_000).expect("it is allowed");
    assert_eq!(value.as_str().map(str::len), Some(99_998));
    let error = full(100_001).expect_err("too long");
    assert_eq!(error.kind(), Some(FaultKind::Permanent));
}

#[test]
fn a_length_that_is_told_costs_nothing() {
    let url = serve(told("200 OK", 67_108_864, "{"));
    let (error, heap, _) = measured("a length that is told", &url, Limits::new());
    assert!(heap < MB, "{heap} bytes");
    assert_eq!(error.delivery(), Some(Delivery::MaybeSent));
}

#[tokio::test]
async fn the_default_of_a_success_is_64_mib() {
    let told = |length: u64| serve(told("200 OK", length, "{"));
    let error = failure(&told((64 << 20) + 1), Limits::new()).await;
    let shown = error.to_string();
    assert!(shown.contains("longer than 67108864 bytes"), "{shown}");
    let error = failure(&told(64 << 20), Limits::new()).await;
    assert_eq!(error.delivery(), Some(Delivery::MaybeSent), "{error}");
}

#[tokio::test]
async fn a_stalled_429_keeps_its_retry_after_and_ends_before_the_deadline() {
    let slow = told("429 Slow\r\nretry-after: 3600", 100, r#"{"error": {"#);
    let url = serve(slow.then(End::Stall));
    let policy = Policy::exponential().deadline(Duration::from_secs(600));
    let begin = Instant::now();
    let given_up = policy
        .retry(async || get(&url, QUICK).await)
        .reported()
        .await;
    let given_up = given_up.expect_err("the server asks for more time than there is");
    let time = begin.elapsed();
    assert!(time < Duration::from_secs(60), "{time:?}");
    assert_eq!(given_up.reason, StopReason::RetryAfter);
    let error = given_up.error;
    let said = (error.status(), error.retry_after(), error.delivery());
    assert_eq!(said, (Some(429), Some(Duration::from_secs(3600)), None));
    let expected = r#"HTTP 429, but its body was cut: it did not end within 200ms: {"error": {"#;
    assert_eq!(error.to_string(), expected);
}

/// The time is virtual: it jumps to the end of the wait when nothing else is to be done.
#[tokio::test(start_paused = true)]
async fn a_body_that_stalls_is_left_after_its_time() {
    for (head, milliseconds, status, delivery) in [
        ("503 Busy", 5_000, Some(503), None),
        ("200 OK", 30_000, None, Some(Delivery::MaybeSent)),
    ] {
        let url = serve(told(head, 100, "{").then(End::Stall));
        let begin = tokio::time::Instant::now();
        let response = client().get(&url).send().await.expect("a head");
        let error = http::success(response).await.expect_err("it stalls");
        assert_eq!((error.status(), error.delivery()), (status, delivery));
        let time = begin.elapsed().as_millis();
        assert!((milliseconds..milliseconds + 10).contains(&time), "{time}");
    }
}

/// Without a limit, the call would not end: the deadline is only asked between attempts.
#[tokio::test]
async fn a_success_that_stops_is_a_lost_reply() {
    let url = serve(told("200 OK", 100, "{").then(End::Stall));
    let time = Duration::from_millis(200);
    let limits = Limits::new().read_timeout(time);
    // In virtual time, which the first wait takes, but no attempt: the second wait would be too long.
    let policy = Policy::exponential().deadline(Duration::from_secs(2));
    let begin = Instant::now();
    let read = async || get(&url, limits).await;
    let retried = policy.retry(read).runtime(VirtualTime::new());
    let given_up = retried.reported().await.expect_err("every body stops");
    assert_eq!(given_up.reason, StopReason::Deadline);
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(60), "{took:?}");
    assert_eq!(given_up.report.attempts, 2, "{given_up}");
    let error = given_up.error;
    let said = (error.status(), error.kind(), error.delivery());
    assert_eq!(said, (None, None, Some(Delivery::MaybeSent)));
    let expected = "the body of the reply stopped: no byte arrived within 200ms";
    assert!(error.to_string().starts_with(expected), "{error}");
    let judged = policy.idempotent(false).judge(&error);
    assert_eq!(judged, Verdict::MaybeApplied);
}

/// A body of the digit 1, again and again, each after a pause.
struct Slow {
    left: u32,
    pause: Pin<Box<Sleep>>,
}

impl Body for Slow {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        ready!(self.pause.as_mut().poll(cx));
        self.left -= 1;
        self.pause = Box::pin(sleep(Duration::from_millis(100)));
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"1")))))
    }
}

/// Twice as long as one may wait, in pieces. The time is virtual, so the body comes from memory.
#[tokio::test(start_paused = true)]
async fn a_success_that_keeps_coming_is_read_to_its_end() {
    let begin = tokio::time::Instant::now();
    let body = reqwest::Body::wrap(Slow {
        left: 10,
        pause: Box::pin(sleep(Duration::from_millis(100))),
    });
    let reply = http_1::Response::builder().header("content-length", 10);
    let reply = reply.body(body).expect("a reply");
    let limits = Limits::new().read_timeout(Duration::from_millis(500));
    let value: Value = limits.json(reply.into()).await.expect("it comes");
    assert_eq!(value, serde_json::json!(1_111_111_111));
    assert!(begin.elapsed() >= Duration::from_secs(1));
}

/// A decoder takes away the header that says where the body ends. Then an empty body may have been cut,
/// too; half a JSON text was cut in any case.
#[tokio::test]
async fn half_a_json_text_counts_as_cut_and_so_does_an_empty_body_without_an_end() {
    let pack = |text: &[u8]| {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(text).expect("it is written to memory");
        packed.finish().expect("it is written to memory")
    };
    let cut = (Some(Delivery::MaybeSent), None);
    for (half, of_plain) in [
        ("{\"etag\": ", cut),
        ("", (None, Some(FaultKind::Permanent))),
    ] {
        let plain = (serve(reply(200, "", half)), of_plain);
        for (url, said) in [plain, (packed("200 OK", pack(half.as_bytes())), cut)] {
            let error = failure(&url, AMPLE).await;
            assert_eq!((error.delivery(), error.kind()), said, "{error}");
        }
    }
}

/// The missing part may say `ABORTED` or `ALREADY_EXISTS`, and only another attempt shows which.
#[tokio::test]
async fn a_conflict_that_is_cut_counts_as_aborted() {
    let half = r#"{"error": {"status": "ALREADY_EXISTS", "details": ["#;
    let lost = told("409 No", 1000, half);
    let long = format!("{half}\"{}\"]}}}}", "x".repeat(100_000));
    for (act, limits) in [
        (lost.clone(), AMPLE),
        (lost.then(End::Stall), QUICK),
        (reply(409, "", long), AMPLE),
    ] {
        let error = failure(&serve(act), limits).await;
        let said = (error.status(), error.grpc_code());
        assert_eq!(said, (Some(409), Some(GrpcCode::Aborted)), "{error}");
        assert_ne!(
            iam::READ_MODIFY_WRITE.judge(&error),
            Verdict::Permanent,
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_long_error_in_a_success_is_no_value() {
    let long = format!(
        r#"{{"error": {{"message": "{}", "code": 503}}}}"#,
        "x".repeat(70_000)
    );
    let short = r#"{"error": {"code": 503}}"#.to_owned();
    let little = AMPLE.error_body(8);
    for (body, limits, cut) in [(long, AMPLE, "65536"), (short, little, "8")] {
        let url = serve(reply(200, "retry-after: 3\r\n", body));
        let error = failure(&url, limits).await;
        let said = (error.status(), error.retry_after(), error.delivery());
        assert_eq!(said, (Some(503), Some(Duration::from_secs(3)), None));
        let shown = error.to_string();
        let cut =
            format!("HTTP 503, but its body was cut: it is longer than {cut} bytes: {{\"error");
        assert!(shown.starts_with(&cut), "{shown}");
    }
}

#[tokio::test]
async fn a_mark_before_a_success_is_no_mistake() {
    let url = serve(reply(200, "", "\u{feff}[1]"));
    let value = get(&url, AMPLE).await.expect("JSON");
    assert_eq!(value, serde_json::json!([1]));
}

#[tokio::test]
async fn no_text_of_an_error_shows_a_password_or_a_query() {
    for server in [
        served(told("200 OK", 100, "{")),
        served(told("503 Busy", 100, "{")),
        nobody(),
    ] {
        let secret = format!("http://ann:PASSWORD@{server}/a?key=QUERY#FRAGMENT");
        let error = failure(&secret, AMPLE).await;
        let mut texts = vec![error.to_string(), format!("{error:?}")];
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            texts.push(cause.to_string());
            source = cause.source();
        }
        assert!(texts.len() > 3, "{texts:?}");
        assert!(texts[0].contains("127.0.0.1"), "{texts:?}");
        for secret in ["PASSWORD", "QUERY", "FRAGMENT"] {
            assert!(texts.iter().all(|text| !text.contains(secret)), "{texts:?}");
        }
    }
}

#[tokio::test]
async fn a_date_is_read_by_the_clock_of_the_server() {
    let dates = "date: Sun, 06 Nov 1994 08:49:07 GMT\r\n\
                 retry-after: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
    let error = failure(&serve(reply(503, dates, "")), AMPLE).await;
    assert_eq!(error.retry_after(), Some(Duration::from_secs(30)));
}
