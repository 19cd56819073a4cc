//! Bodies that are too long, never end, or end too early. What is measured is the heap of the
//! client's thread; the servers have threads of their own.

use crate::edges::server::{bytes, serve, stalls_after, text};
use allocation_counter::measure;
use backoff_cloud::{Delivery, Fault, FaultKind, GrpcCode, Policy, StopReason, Verdict, http, iam};
use backoff_core::testing::VirtualTime;
use flate2::{Compression, write::GzEncoder};
use http::{ApiError, Limits};
use hyper_1::body::{Body, Bytes, Frame};
use reqwest::Client;
use serde_json::Value;
use std::{
    convert::Infallible,
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
const AMPLE: Limits = Limits::new().error_body_time(Duration::from_secs(60));

fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

fn client() -> Client {
    Client::builder()
        .retry(reqwest::retry::never())
        .build()
        .expect("a client")
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
fn an_error_of_a_hundred_megabytes_is_left_at_the_limit() {
    let head = "503 Busy\r\ncontent-length: 100000000";
    assert_left("100 MB of text", &serve(head, bytes(100 * MB)));
    // As a tree, this would take 32 bytes for every two.
    let zeros = serve(head, |stream| {
        stream.write_all(br#"{"error": {"status": "UNAVAILABLE", "details": ["#)?;
        let piece = "0,".repeat(50_000);
        (0..1_000).try_for_each(|_| stream.write_all(piece.as_bytes()))
    });
    assert_left("100 MB of JSON", &zeros);
}

#[test]
fn an_error_without_end_is_left_at_the_limit() {
    assert_left("no end", &serve("503 Busy", bytes(u64::MAX)));
}

fn bomb(megabytes: u64) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    let piece = vec![b' '; MB as usize];
    (0..megabytes).for_each(|_| packed.write_all(&piece).expect("it is written to memory"));
    packed.finish().expect("it is written to memory")
}

fn packed(status: &str, body: Vec<u8>) -> String {
    let length = body.len();
    let head = format!("{status}\r\ncontent-encoding: gzip\r\ncontent-length: {length}");
    serve(head, move |stream| stream.write_all(&body))
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
    let unknown = serve("200 OK", bytes(u64::MAX));
    let (error, heap, _) = measured("a success without end", &unknown, limits);
    assert!(heap < 13 * MB, "{heap} bytes");
    let expected = "the body of the reply is longer than 8000000 bytes, the limit of `http::Limits`; to \
                    read a longer body, pass `http::Limits::new().body(bytes)` to `.limits(..)` of the \
                    request, or call its `json` or `success`";
    assert_eq!(error.to_string(), expected);
    assert_eq!(
        (error.kind(), error.delivery()),
        (Some(FaultKind::Permanent), None)
    );
    // Where the length is told, nothing is read.
    let told = serve("200 OK\r\ncontent-length: 8000001", stalls_after(""));
    let (error, heap, _) = measured("a success that tells its length", &told, limits);
    assert!(heap < MB, "{heap} bytes");
    assert_eq!(error.to_string(), expected);
    // Exactly so many are read.
    let full = |length: usize| {
        let body = format!("\"{}\"", "x".repeat(length - 2));
        let url = serve(format!("200 OK\r\ncontent-length: {length}"), text(body));
        runtime().block_on(get(&url, Limits::new().body(100_000)))
    };
    let value = full(100_000).expect("it is allowed");
    assert_eq!(value.as_str().map(str::len), Some(99_998));
    assert_eq!(
        full(100_001).expect_err("too long").kind(),
        Some(FaultKind::Permanent)
    );
}

#[test]
fn a_length_that_is_told_costs_nothing() {
    let url = serve("200 OK\r\ncontent-length: 67108864", text("{"));
    let (error, heap, _) = measured("a length that is told", &url, Limits::new());
    assert!(heap < MB, "{heap} bytes");
    assert_eq!(error.delivery(), Some(Delivery::MaybeSent));
}

#[tokio::test]
async fn the_default_of_a_success_is_64_mib() {
    let told = |length: u64| serve(format!("200 OK\r\ncontent-length: {length}"), text("{"));
    let error = failure(&told((64 << 20) + 1), Limits::new()).await;
    assert!(
        error.to_string().contains("longer than 67108864 bytes"),
        "{error}"
    );
    let error = failure(&told(64 << 20), Limits::new()).await;
    assert_eq!(error.delivery(), Some(Delivery::MaybeSent), "{error}");
}

#[tokio::test]
async fn a_stalled_429_keeps_its_retry_after_and_ends_before_the_deadline() {
    let head = "429 Slow\r\nretry-after: 3600\r\ncontent-length: 100";
    let url = serve(head, stalls_after(r#"{"error": {"#));
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
async fn a_stalled_error_is_left_after_five_seconds() {
    let url = serve("503 Busy\r\ncontent-length: 100", stalls_after("{"));
    let begin = tokio::time::Instant::now();
    let response = client().get(&url).send().await.expect("a head");
    let error = http::success(response).await.expect_err("a 503");
    assert_eq!(error.status(), Some(503));
    let time = begin.elapsed();
    assert!((5_000..5_010).contains(&time.as_millis()), "{time:?}");
}

/// Without a limit, the call would not end: the deadline is only asked between attempts.
#[tokio::test]
async fn a_success_that_stops_is_a_lost_reply() {
    let url = serve("200 OK\r\ncontent-length: 100", stalls_after("{"));
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
    assert_eq!(
        policy.idempotent(false).judge(&error),
        Verdict::MaybeApplied
    );
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

/// The time is virtual: it jumps to the end of the wait when nothing else is to be done.
#[tokio::test(start_paused = true)]
async fn a_stalled_success_is_left_after_thirty_seconds() {
    let url = serve("200 OK\r\ncontent-length: 100", stalls_after("{"));
    let begin = tokio::time::Instant::now();
    let response = client().get(&url).send().await.expect("a head");
    let error = http::success(response).await.expect_err("a cut body");
    assert_eq!(error.delivery(), Some(Delivery::MaybeSent));
    let time = begin.elapsed();
    assert!((30_000..30_010).contains(&time.as_millis()), "{time:?}");
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
        let head = format!("200 OK\r\ncontent-length: {}", half.len());
        let plain = (serve(head, text(half)), of_plain);
        for (url, said) in [plain, (packed("200 OK", pack(half.as_bytes())), cut)] {
            let error = failure(&url, AMPLE).await;
            assert_eq!((error.delivery(), error.kind()), said, "{error}");
        }
    }
}

#[tokio::test]
async fn an_error_that_is_cut_is_judged_by_its_status() {
    for (status, verdict) in [(404, Verdict::Permanent), (403, Verdict::Permanent)] {
        let head = format!("{status} No\r\nretry-after: 3\r\ncontent-length: 100");
        let url = serve(head, text(r#"{"error": {"code": 4"#));
        let error = failure(&url, AMPLE).await;
        let said = (error.status(), Fault::grpc_code(&error), error.delivery());
        assert_eq!(said, (Some(status), None, None), "{error}");
        assert_eq!(error.retry_after(), Some(Duration::from_secs(3)));
        assert_eq!(Policy::exponential().judge(&error), verdict);
        let shown = error.to_string();
        let beginning =
            format!("HTTP {status}, but its body was cut: error decoding response body");
        assert!(shown.starts_with(&beginning), "{shown}");
        assert!(shown.ends_with(r#": {"error": {"code": 4"#), "{shown}");
    }
}

/// The missing part may say `ABORTED` or `ALREADY_EXISTS`, and only another attempt shows which.
#[tokio::test]
async fn a_conflict_that_is_cut_counts_as_aborted() {
    let half = r#"{"error": {"status": "ALREADY_EXISTS", "details": ["#;
    let lost = serve("409 No\r\ncontent-length: 1000", text(half));
    let stalled = serve("409 No\r\ncontent-length: 1000", stalls_after(half));
    let long = format!("{half}\"{}\"]}}}}", "x".repeat(100_000));
    let long = serve(
        format!("409 No\r\ncontent-length: {}", long.len()),
        text(long),
    );
    for (url, limits) in [(lost, AMPLE), (stalled, QUICK), (long, AMPLE)] {
        let error = failure(&url, limits).await;
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
        let head = format!("200 OK\r\nretry-after: 3\r\ncontent-length: {}", body.len());
        let error = failure(&serve(head, text(body)), limits).await;
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
    let url = serve("200 OK\r\ncontent-length: 6", text("\u{feff}[1]"));
    assert_eq!(
        get(&url, AMPLE).await.expect("JSON"),
        serde_json::json!([1])
    );
}

#[tokio::test]
async fn no_text_of_an_error_shows_a_password_or_a_query() {
    let url = serve("200 OK\r\ncontent-length: 100", text("{"));
    let secret = url.replace("http://", "http://ann:PASSWORD@") + "/a?key=QUERY#FRAGMENT";
    let cut = failure(&secret, AMPLE).await;
    let url = serve("503 Busy\r\ncontent-length: 100", text("{"));
    let secret = url.replace("http://", "http://ann:PASSWORD@") + "/a?key=QUERY#FRAGMENT";
    let half = failure(&secret, AMPLE).await;
    let nobody = "http://ann:PASSWORD@127.0.0.1:1/a?key=QUERY#FRAGMENT";
    let refused = failure(nobody, AMPLE).await;
    for error in [cut, half, refused] {
        let mut texts = vec![error.to_string(), format!("{error:?}")];
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            texts.push(cause.to_string());
            source = cause.source();
        }
        assert!(
            texts.len() > 3 && texts[0].contains("127.0.0.1"),
            "{texts:?}"
        );
        for secret in ["PASSWORD", "QUERY", "FRAGMENT"] {
            assert!(texts.iter().all(|text| !text.contains(secret)), "{texts:?}");
        }
    }
}

#[tokio::test]
async fn a_date_is_read_by_the_clock_of_the_server() {
    let head = "503 Busy\r\ncontent-length: 0\r\ndate: Sun, 06 Nov 1994 08:49:07 GMT\r\n\
                retry-after: Sun, 06 Nov 1994 08:49:37 GMT";
    let error = failure(&serve(head, text("")), AMPLE).await;
    assert_eq!(error.retry_after(), Some(Duration::from_secs(30)));
}
