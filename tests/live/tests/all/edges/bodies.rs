//! Bodies that are too long, never end, or end too early. What is measured is the heap of the
//! client's thread; the servers have threads of their own.

use crate::{
    clients::facts::{Facts, MAYBE_SENT, Repeated, assert_row, status},
    server::{
        AMPLE as MINUTE, Act, End, Pieces, client, head, nobody, reply, runtime, serve as served,
    },
};
use Repeated::{Always, IfIdempotent};
use allocation_counter::measure;
use backoff_cloud::{Delivery, Fault, FaultKind, GrpcCode, Policy, StopReason, Verdict, http, iam};
use backoff_core::testing::VirtualTime;
use flate2::{Compression, write::GzEncoder};
use http::{ApiError, Limits};
use hyper_1::body::Bytes;
use reqwest::header::HeaderMap;
use serde_json::Value;
use std::{
    fmt::Display,
    future::Future as _,
    io::Write as _,
    task::{Poll, ready},
    time::{Duration, Instant, SystemTime},
};
use tokio::time::sleep;

const MB: u64 = 1_000_000;

/// A limit that a body is to reach that stalls.
const QUICK: Limits = Limits::new().error_body_time(Duration::from_millis(200));

/// A limit that no body reaches that does not stall, on a slow machine either.
const AMPLE: Limits = Limits::new().error_body_time(MINUTE);

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
    let heap = measure(|| error = Some(runtime(false).block_on(failure(url, limits)))).bytes_max;
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

/// A value of JSON takes up to a hundred times the memory of its text.
#[test]
fn the_error_of_a_body_takes_at_most_twice_its_memory() {
    const WHOLE: usize = 64 << 10;
    let filled = |begin: &str, repeated: &str, end: &str| {
        let room = WHOLE - begin.len() - end.len();
        format!("{begin}{}{end}", repeated.repeat(room / repeated.len()))
    };
    let in_details = r#"{"error": {"details": ["#;
    for body in [
        filled(in_details, "{},", "{}]}}"),
        filled(in_details, r#"{"a":[]},"#, "{}]}}"),
        filled(in_details, "1,", "1]}}"),
        filled(r#"{"error": {"details": "#, "[", "}}"),
        filled(r#"{"error": {"message": ""#, "m", r#""}}"#),
        filled(r#"[{"error": {}},"#, "1,", "1]"),
        filled("[", "[],", "[]]"),
        filled("{", r#""a":1,"#, r#""b":1}"#),
        filled("", "x", ""),
    ] {
        let mut error = None;
        let make = || {
            ApiError::new(
                503,
                &HeaderMap::new(),
                body.as_bytes(),
                SystemTime::UNIX_EPOCH,
            )
        };
        let heap = measure(|| error = Some(make())).bytes_max;
        let most = 2 * WHOLE as u64;
        assert!(heap <= most, "{heap} bytes of {:.40}", body);
        assert_eq!(error.unwrap().status(), Some(503), "{body:.40}");
    }
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

fn pack(pieces: u64, piece: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    (0..pieces).for_each(|_| packed.write_all(piece).expect("it is written to memory"));
    packed.finish().expect("it is written to memory")
}

fn packed(status: &str, body: &[u8]) -> Act {
    let length = body.len();
    let first = format!("{status}\r\ncontent-encoding: gzip\r\ncontent-length: {length}");
    head(first, body)
}

#[test]
fn the_limits_count_what_is_unpacked() {
    let body = pack(50, &vec![b' '; MB as usize]);
    assert!(body.len() < 50_000, "{} bytes", body.len());
    assert_left("a bomb of an error", &serve(packed("503 Busy", &body)));
    let url = serve(packed("200 OK", &body));
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
        runtime(false).block_on(get(&url, Limits::new().body(100_000)))
    };
    let value = full(100_000).expect("it is allowed");
    assert_eq!(value.as_str().map(str::len), Some(99_998));
    let error = full(100_001).expect_err("too long");
    assert_eq!(error.kind(), Some(FaultKind::Permanent));
}

#[test]
fn a_length_that_is_told_costs_nothing() {
    // 64 MiB are allowed by default.
    for (length, delivery, part) in [
        (67_108_864, Some(Delivery::MaybeSent), ""),
        (67_108_865, None, "longer than 67108864 bytes"),
    ] {
        let url = serve(told("200 OK", length, "{"));
        let (error, heap, _) = measured("a length that is told", &url, Limits::new());
        assert!(heap < MB, "{heap} bytes");
        assert_eq!(error.delivery(), delivery, "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }
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
    assert_eq!(Facts::of(&error), status(429).after(3_600_000));
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

/// Twice as long as one may wait, in pieces. The time is virtual, so the body comes from memory.
#[tokio::test(start_paused = true)]
async fn a_success_that_keeps_coming_is_read_to_its_end() {
    let begin = tokio::time::Instant::now();
    let pause = || Box::pin(sleep(Duration::from_millis(100)));
    let (mut left, mut paused) = (10, pause());
    let slow = Pieces::new(move |context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        ready!(paused.as_mut().poll(context));
        (left, paused) = (left - 1, pause());
        Poll::Ready(Some(Ok(Bytes::from_static(b"1"))))
    });
    let reply = http_1::Response::builder().header("content-length", 10);
    let reply = reply.body(reqwest::Body::wrap(slow)).expect("a reply");
    let limits = Limits::new().read_timeout(Duration::from_millis(500));
    let value: Value = limits.json(reply.into()).await.expect("it comes");
    assert_eq!(value, serde_json::json!(1_111_111_111));
    assert!(begin.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn what_the_error_of_a_strange_body_says() {
    let stale = r#"{"error": {"status": "ALREADY_EXISTS", "details": ["#;
    let stalls = told("409 No", 1000, stale).then(End::Stall);
    let long = |beginning, end| format!("{beginning}\"{}\"{end}", "x".repeat(100_000));
    let too_long = reply(409, "", long(stale, "]}}"));
    let inside = |body: &str| reply(200, "retry-after: 3\r\n", body);
    let long = inside(&long(r#"{"error": {"message": "#, r#", "code": 503}}"#));
    let short = inside(r#"{"error": {"code": 503}}"#);
    let little = AMPLE.error_body(8);
    let dates = "date: Sun, 06 Nov 1994 08:49:07 GMT\r\n\
                 retry-after: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
    let dated = reply(503, dates, "");
    let over = status(503).after(0);
    let half = "{\"etag\": ";
    let [half_packed, nothing_packed] = [half, ""].map(|text| pack(1, text.as_bytes()));
    let half_packed = packed("200 OK", &half_packed);
    let nothing_packed = packed("200 OK", &nothing_packed);
    let half = reply(200, "", half);
    let busy = status(503).after(3_000);
    let cut = |after| {
        format!("HTTP 503, but its body was cut: it is longer than {after} bytes: {{\"error")
    };
    let aborted = status(409).code(GrpcCode::Aborted);
    for (act, limits, facts, beginning) in [
        // The missing part may say `ABORTED` or `ALREADY_EXISTS`, and only another attempt shows which.
        (stalls, QUICK, aborted, ""),
        (too_long, AMPLE, aborted, ""),
        (long, AMPLE, busy, &*cut("65536")),
        (short, little, busy, &cut("8")),
        // A clock that is years late is broken, so the client's clock counts.
        (dated, AMPLE, over, "HTTP 503"),
        (half, AMPLE, MAYBE_SENT, ""),
        (half_packed, AMPLE, MAYBE_SENT, ""),
        // A decoder takes away the header that says where the body ends: it may have been cut.
        (nothing_packed, AMPLE, MAYBE_SENT, ""),
    ] {
        let row = format!("{act:?}");
        let repeated = match facts == aborted {
            true => Always,
            false => IfIdempotent,
        };
        let error = failure(&serve(act), limits).await;
        let shown = error.to_string();
        assert!(shown.starts_with(beginning), "{row}: {shown}");
        assert_row(&row, error, facts, repeated);
    }
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
