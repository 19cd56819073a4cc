//! Bodies that are too long, never end, or end too early. What is measured is the heap of the
//! client's thread; the servers have threads of their own.

use crate::server::{
    self, AMPLE as MINUTE, Act, End, MAYBE_SENT, Pieces,
    Repeated::{Always, IfIdempotent},
    assert_row, client, head, nobody, packed, reply, runtime, status,
};
use allocation_counter::measure;
use backoff_cloud::{Delivery, Fault, FaultKind, GrpcCode, Verdict, http, iam};
use http::{ApiError, Limits};
use hyper_1::body::Bytes;
use reqwest::header::HeaderMap;
use serde_json::Value;
use std::{
    fmt::Display,
    future::Future as _,
    task::{Poll, ready},
    time::{Duration, SystemTime},
};
use tokio::time::{Instant, sleep};

const MB: u64 = 1_000_000;

/// A limit that a body is to reach that stalls.
const QUICK: Limits = Limits::new().error_body_time(Duration::from_millis(200));

/// A limit that no body reaches that does not stall, on a slow machine either.
const AMPLE: Limits = Limits::new().error_body_time(MINUTE);

/// The URL of a server that answers so.
fn serve(act: Act) -> String {
    format!("http://{}", server::serve(act))
}

/// A head that announces a body of so many bytes, of which these come.
fn told(status: &str, length: impl Display, body: impl AsRef<[u8]>) -> Act {
    head(format!("{status}\r\ncontent-length: {length}"), body)
}

/// A body of gzip.
fn gzip(status: &str, body: &[u8]) -> Act {
    let first = format!("{status}\r\ncontent-encoding: gzip");
    told(&first, body.len(), body)
}

async fn get(url: &str, limits: Limits) -> Result<Value, ApiError> {
    limits.json(client().get(url).send().await?).await
}

/// What a read fails of, and the most heap that it had at a time.
fn measured(act: Act, limits: Limits) -> (ApiError, u64) {
    let (url, mut error) = (serve(act), None);
    let failure = async { get(&url, limits).await.expect_err("a failure") };
    let heap = measure(|| error = Some(runtime(false).block_on(failure))).bytes_max;
    (error.expect("it was read"), heap)
}

/// A value of JSON takes up to a hundred times the memory of its text.
#[test]
fn the_error_of_a_body_takes_at_most_twice_its_memory() {
    const WHOLE: usize = 64 << 10;
    let details = r#"{"error": {"details": ["#;
    for (begin, repeated, end) in [
        (details, "{},", "{}]}}"),
        (details, r#"{"a":[]},"#, "{}]}}"),
        (details, "1,", "1]}}"),
        (r#"{"error": {"details": "#, "[", "}}"),
        (r#"{"error": {"message": ""#, "m", r#""}}"#),
        (r#"[{"error": {}},"#, "1,", "1]"),
        ("[", "[],", "[]]"),
        ("{", r#""a":1,"#, r#""b":1}"#),
        ("", "x", ""),
    ] {
        let room = WHOLE - begin.len() - end.len();
        let body = format!("{begin}{}{end}", repeated.repeat(room / repeated.len()));
        let (mut error, none) = (None, HeaderMap::new());
        let make = || ApiError::new(503, &none, body.as_bytes(), SystemTime::UNIX_EPOCH);
        let heap = measure(|| error = Some(make())).bytes_max;
        assert!(heap <= 2 * WHOLE as u64, "{heap} bytes of {body:.40}");
        assert_eq!(error.unwrap().status(), Some(503), "{body:.40}");
    }
}

/// Little memory is used, and the status counts.
#[test]
fn an_error_is_left_at_the_limit() {
    let begun = r#"{"error": {"status": "UNAVAILABLE", "details": ["#;
    let bomb = packed(50, [b' '; MB as usize]);
    let told = |body| told("503 Busy", 100 * MB, body);
    for act in [
        told("").then(End::More(100 * MB, "x")),
        // As a tree, this would take 32 bytes for every two.
        told(begun).then(End::More(100 * MB, "0,")),
        head("503 Busy", "").then(End::More(u64::MAX, "x")),
        gzip("503 Busy", &bomb),
    ] {
        let row = format!("{act:?}");
        let (error, heap) = measured(act, AMPLE);
        assert!(heap < 2 * MB, "{row}: {heap} bytes");
        assert_eq!(error.status(), Some(503), "{row}");
        assert_ne!(iam::REQUEST.judge(&error), Verdict::Permanent, "{row}");
        let shown = error.to_string();
        let cut = "but its body was cut: it is longer than 65536 bytes";
        assert!(shown.contains(cut), "{row}: {shown}");
    }
}

/// Rows: the most bytes of a success, the most heap in MB, and what the error says.
#[test]
fn a_success_has_as_many_bytes_as_are_allowed() {
    let limits = |bytes| Limits::new().body(bytes);
    let endless = head("200 OK", "").then(End::More(u64::MAX, "x"));
    let bomb = gzip("200 OK", &packed(50, [b' '; MB as usize]));
    let longer = |bytes| {
        format!(
            "the body of the reply is longer than {bytes} bytes, the limit of `http::Limits`; to \
             read a longer one, pass `http::Limits::new().body(bytes)` to `.limits(..)` of the \
             request, or call its `json`, `open` or `success`"
        )
    };
    let (million, eight) = (1_000_000, 8_000_000);
    let string = reply(200, "", format!("\"{}\"", "x".repeat(99_999)));
    for (act, limits, heap, text) in [
        (endless, limits(eight), 13, longer(eight)),
        // Where the length is told, nothing is read.
        (
            told("200 OK", 8_000_001, "").then(End::Stall),
            limits(eight),
            1,
            longer(eight),
        ),
        (bomb, limits(million), 3, longer(million)),
        (string, limits(100_000), 1, longer(100_000)),
        // 64 MiB are allowed by default, and are not allocated before they come.
        (
            told("200 OK", 67_108_864, "{"),
            Limits::new(),
            1,
            String::new(),
        ),
        (
            told("200 OK", 67_108_865, "{"),
            Limits::new(),
            1,
            longer(67_108_864),
        ),
    ] {
        let (error, most) = measured(act, limits);
        assert!(most < heap * MB, "{most} bytes: {error}");
        let (kind, delivery) = match text.is_empty() {
            true => (None, Some(Delivery::MaybeSent)),
            false => (Some(FaultKind::Permanent), None),
        };
        assert_eq!((error.kind(), error.delivery()), (kind, delivery));
        assert!(text.is_empty() || error.to_string() == text, "{error}");
    }
    // Exactly so many are read.
    let url = serve(reply(200, "", format!("\"{}\"", "x".repeat(99_998))));
    let value = runtime(false).block_on(get(&url, limits(100_000)));
    let length = value.expect("it is allowed").as_str().map(str::len);
    assert_eq!(length, Some(99_998));
}

/// The time is virtual: it jumps to the end of the wait when nothing else is to be done.
#[tokio::test(start_paused = true)]
async fn a_body_that_stalls_is_left_after_its_time() {
    let stopped = "the body of the reply stopped: no byte arrived within 30s";
    for (head, seconds, status, delivery, text) in [
        ("503 Busy", 5, Some(503), None, "HTTP 503"),
        ("200 OK", 30, None, Some(Delivery::MaybeSent), stopped),
    ] {
        let url = serve(told(head, 100, "{").then(End::Stall));
        let begin = Instant::now();
        let response = client().get(&url).send().await.expect("a head");
        let error = http::success(response).await.expect_err("it stalls");
        assert_eq!((error.status(), error.delivery()), (status, delivery));
        assert_eq!(begin.elapsed().as_secs(), seconds);
        assert!(error.to_string().starts_with(text), "{error}");
        // Nobody knows whether a success that stops was applied, or what is behind a 503.
        let judged = iam::REQUEST.idempotent(false).judge(&error);
        assert_eq!(judged, Verdict::MaybeApplied);
    }
}

/// Twice as long as one may wait, in pieces. The time is virtual, so the body comes from memory.
#[tokio::test(start_paused = true)]
async fn a_success_that_keeps_coming_is_read_to_its_end() {
    let begin = Instant::now();
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
    let long = |beginning, end| format!("{beginning}\"{}\"{end}", "x".repeat(100_000));
    let too_long = reply(409, "", long(stale, "]}}"));
    let slow = told("429 Slow\r\nretry-after: 3600", 100, r#"{"error": {"#);
    let late = r#"HTTP 429, but its body was cut: it did not end within 200ms: {"error": {…"#;
    let inside = long(r#"{"error": {"message": "#, r#", "code": 503}}"#);
    let inside = reply(200, "retry-after: 3\r\n", inside);
    let too_late = "HTTP 503, but its body was cut: it is longer than 65536 bytes: {\"error";
    let secret = r#"{"message": "cannot reach https://SECRET:pw@h/"}"#;
    let hidden = "HTTP 500, but its body was cut: it is longer than 40 bytes: \
                  {\"message\": \"cannot reach https://…";
    // A decoder takes away the header that says where the body ends: it may have been cut.
    let [half, nothing] = ["{\"etag\": ", ""].map(|text| gzip("200 OK", &packed(1, text)));
    let (busy, slowed) = (status(503).after(3_000), status(429).after(3_600_000));
    // The missing part may say `ABORTED` or `ALREADY_EXISTS`, and only another attempt shows which.
    let aborted = status(409).code(GrpcCode::Aborted);
    let short = AMPLE.error_body(40);
    for (act, limits, facts, repeated, beginning) in [
        (too_long, AMPLE, aborted, Always, "HTTP 409, but"),
        (slow.then(End::Stall), QUICK, slowed, Always, late),
        (inside, AMPLE, busy, IfIdempotent, too_late),
        (
            reply(500, "", secret),
            short,
            status(500),
            IfIdempotent,
            hidden,
        ),
        (half, AMPLE, MAYBE_SENT, IfIdempotent, ""),
        (nothing, AMPLE, MAYBE_SENT, IfIdempotent, ""),
    ] {
        let row = format!("{act:?}");
        let error = get(&serve(act), limits).await.expect_err(&row);
        let shown = error.to_string();
        assert!(shown.starts_with(beginning), "{row}: {shown}");
        assert_row(&row, error, facts, repeated);
    }
}

#[tokio::test]
async fn no_text_of_an_error_shows_a_password_or_a_query() {
    for server in [
        server::serve(told("200 OK", 100, "{")),
        server::serve(told("503 Busy", 100, "{")),
        nobody(),
    ] {
        let secret = format!("http://ann:PASSWORD@{server}/a?key=QUERY#FRAGMENT");
        let error = get(&secret, AMPLE).await.expect_err("a failure");
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
