//! The emulator as its callers meet it: over real sockets, by hand and through a client.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use backoff_cloud::emulator::{Call, Emulator, FaultCounts, Faults, Reply, Stats};
use serde_json::{Value, json};
use tokio::sync::Barrier;

const SECRET: &str = "projects/p/secrets/s";
const FOREVER: Duration = Duration::MAX;
/// Far above what anything here takes, so that a hang fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(20);

/// One HTTP reply, read by hand.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The status, and Google's name for it in a body that agrees with it.
    fn error(&self) -> (u16, String) {
        assert_eq!(
            self.header("content-type"),
            Some("application/json; charset=UTF-8")
        );
        let error = self.json()["error"].take();
        assert_eq!(error["code"], self.status);
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|message| !message.is_empty())
        );
        (self.status, error["status"].as_str().unwrap().to_owned())
    }
}

fn connect(emulator: &Emulator) -> TcpStream {
    let stream = TcpStream::connect(emulator.addr()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn request(method: &str, path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}

fn read_request() -> String {
    request("GET", &format!("/v1/{SECRET}:getIamPolicy"), "")
}

fn write_request(policy: &Value) -> String {
    let body = json!({ "policy": policy }).to_string();
    request("POST", &format!("/v1/{SECRET}:setIamPolicy"), &body)
}

/// Every byte of the reply, and how it ended.
fn exchange(emulator: &Emulator, request: &str) -> (Vec<u8>, io::Result<usize>) {
    let mut stream = connect(emulator);
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let end = stream.read_to_end(&mut bytes);
    (bytes, end)
}

fn parse(bytes: &[u8]) -> Answer {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let (head, body) = text
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("no head: {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer {
        status,
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

fn ask(emulator: &Emulator, request: &str) -> Answer {
    let (bytes, end) = exchange(emulator, request);
    end.unwrap();
    parse(&bytes)
}

fn faults_only(stats: &Stats) -> Vec<u64> {
    let FaultCounts {
        statuses,
        delays,
        stalls,
        body_stalls,
        resets,
        cuts,
        ..
    } = stats.faults;
    vec![statuses, delays, stalls, body_stalls, resets, cuts]
}

/// Waits until the emulator's own thread got as far as the test needs.
fn wait_for(emulator: &Emulator, seen: impl Fn(&Stats) -> bool) {
    let start = Instant::now();
    while !seen(&emulator.stats()) {
        assert!(start.elapsed() < PATIENCE, "{:?}", emulator.stats());
        std::thread::yield_now();
    }
}

#[test]
fn it_listens_on_loopback_only() {
    let emulator = Emulator::start().unwrap();
    assert_eq!(emulator.addr().ip(), IpAddr::V4(Ipv4Addr::LOCALHOST));
    assert_eq!(
        emulator.url(),
        format!("http://127.0.0.1:{}", emulator.addr().port())
    );
}

#[test]
fn a_policy_is_read_written_and_read_back() {
    let emulator = Emulator::start().unwrap();
    let fresh = ask(&emulator, &read_request());
    assert_eq!((fresh.status, fresh.json()), (200, json!({"etag": "ACAB"})));

    let policy = json!({
        "version": 3,
        "etag": "ACAB",
        "bindings": [{"role": "roles/viewer", "members": ["user:ann@example.com"],
                      "condition": {"title": "t", "expression": "true", "new": [1, {"a": null}]}}],
        "auditConfigs": [{"service": "allServices"}],
    });
    let written = ask(&emulator, &write_request(&policy));
    assert_eq!(written.status, 200);
    let written = written.json();
    assert_ne!(written["etag"], policy["etag"]);
    assert_eq!(written["bindings"], policy["bindings"]);
    assert_eq!(written["auditConfigs"], policy["auditConfigs"]);

    for version in ["v1", "v2", "v3"] {
        let path = format!("/{version}/{SECRET}:getIamPolicy");
        assert_eq!(ask(&emulator, &request("GET", &path, "")).json(), written);
        for body in ["", "{}", r#"{"options":{"requestedPolicyVersion":3}}"#] {
            assert_eq!(
                ask(&emulator, &request("POST", &path, body)).json(),
                written
            );
        }
    }
    assert_eq!(emulator.policy(SECRET), written);
    assert_eq!(emulator.policy("projects/other"), json!({"etag": "ACAB"}));

    let stats = emulator.stats();
    assert_eq!(
        (stats.calls, stats.reads, stats.writes, stats.blind_writes),
        (14, 13, 1, 0)
    );
    assert_eq!(emulator.stats_of(SECRET), stats);
    assert_eq!(emulator.stats_of("projects/other"), Stats::default());
    emulator.reset_stats();
    assert_eq!(emulator.stats(), Stats::default());
}

#[test]
fn a_stale_etag_conflicts_and_no_etag_overwrites() {
    let emulator = Emulator::start().unwrap();
    let read = ask(&emulator, &read_request()).json();
    emulator.set_policy(
        SECRET,
        json!({"bindings": [{"role": "r", "members": ["user:b"]}]}),
    );
    let theirs = emulator.policy(SECRET);

    let conflict = ask(&emulator, &write_request(&read));
    assert_eq!(conflict.error(), (409, "ABORTED".to_owned()));
    assert_eq!(emulator.policy(SECRET), theirs);

    assert_eq!(
        ask(&emulator, &write_request(&json!({"bindings": []}))).status,
        200
    );
    assert_eq!(emulator.policy(SECRET)["bindings"], json!([]));
    let stats = emulator.stats();
    assert_eq!(
        (stats.conflicts, stats.writes, stats.blind_writes),
        (1, 1, 1)
    );
}

#[test]
fn a_status_comes_with_its_hints_and_its_name() {
    let emulator = Emulator::start().unwrap();
    let rubbish = "in a while";
    emulator.script(
        Call::SetIamPolicy,
        [
            Reply::status(429).retry_after("7").retry_info("3.5s"),
            Reply::status(503).retry_after(rubbish),
            Reply::status(502).html(),
            Reply::status(403),
            Reply::status(204),
            Reply::pass(),
        ],
    );
    let write = || ask(&emulator, &write_request(&json!({"etag": "ACAB"})));

    let busy = write();
    assert_eq!(busy.error(), (429, "RESOURCE_EXHAUSTED".to_owned()));
    assert_eq!(busy.header("retry-after"), Some("7"));
    let detail = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3.5s"});
    assert_eq!(busy.json()["error"]["details"], json!([detail]));

    let down = write();
    assert_eq!(down.error(), (503, "UNAVAILABLE".to_owned()));
    assert_eq!(down.header("retry-after"), Some(rubbish));
    assert!(down.json()["error"].get("details").is_none());

    let proxy = write();
    assert_eq!((proxy.status, proxy.header("retry-after")), (502, None));
    assert_eq!(
        proxy.header("content-type"),
        Some("text/html; charset=UTF-8")
    );
    assert!(proxy.body.starts_with("<!DOCTYPE html>"), "{proxy:?}");

    assert_eq!(write().error(), (403, "PERMISSION_DENIED".to_owned()));
    let empty = write();
    assert_eq!((empty.status, empty.body.as_str()), (204, ""));

    // None of them was applied, or this would conflict.
    assert_eq!(write().status, 200);
    let stats = emulator.stats();
    assert_eq!((stats.calls, stats.writes, stats.lost_replies), (6, 1, 0));
    assert_eq!(faults_only(&stats), [5, 0, 0, 0, 0, 0]);
}

#[test]
fn a_reset_is_an_rst_before_any_byte() {
    let emulator = Emulator::start().unwrap();
    emulator.script(
        Call::SetIamPolicy,
        [Reply::reset(), Reply::reset().applied()],
    );
    for written in [0, 1] {
        let (bytes, end) = exchange(&emulator, &write_request(&json!({"etag": "ACAB"})));
        assert_eq!(bytes, b"");
        assert_eq!(end.unwrap_err().kind(), ErrorKind::ConnectionReset);
        assert_eq!(
            (emulator.stats().writes, emulator.stats().lost_replies),
            (written, written)
        );
    }
    assert_eq!(faults_only(&emulator.stats()), [0, 0, 0, 0, 2, 0]);
}

#[test]
fn a_cut_reply_ends_short_of_its_length_in_good_order() {
    let emulator = Emulator::start().unwrap();
    emulator.script(Call::SetIamPolicy, [Reply::cut()]);
    let (bytes, end) = exchange(&emulator, &write_request(&json!({"etag": "ACAB"})));
    end.unwrap();
    let answer = parse(&bytes);
    assert_eq!(answer.status, 200);
    let promised: usize = answer.header("content-length").unwrap().parse().unwrap();
    assert_eq!(answer.body.len(), promised / 2);
    assert!(answer.body.starts_with('{'));
    let stats = emulator.stats();
    assert_eq!(
        (stats.writes, stats.lost_replies, stats.faults.cuts),
        (1, 1, 1)
    );
}

#[test]
fn an_applied_status_hides_a_write() {
    let emulator = Emulator::start().unwrap();
    emulator.script(
        Call::SetIamPolicy,
        [Reply::status(503).applied(), Reply::pass()],
    );
    let policy = json!({"etag": "ACAB", "bindings": [{"role": "r"}]});
    assert_eq!(ask(&emulator, &write_request(&policy)).error().0, 503);
    assert_eq!(emulator.policy(SECRET)["bindings"], policy["bindings"]);
    // The caller who sends the same again is told off for its own write.
    assert_eq!(ask(&emulator, &write_request(&policy)).error().0, 409);
    let stats = emulator.stats();
    assert_eq!(
        (stats.writes, stats.lost_replies, stats.conflicts),
        (1, 1, 1)
    );
}

#[test]
fn a_delay_holds_the_reply_back() {
    let emulator = Emulator::start().unwrap();
    let delay = Duration::from_millis(30);
    emulator.script(Call::SetIamPolicy, [Reply::delay(delay)]);
    let start = Instant::now();
    assert_eq!(
        ask(&emulator, &write_request(&json!({"etag": "ACAB"}))).status,
        200
    );
    assert!(start.elapsed() >= delay);
    let stats = emulator.stats();
    assert_eq!(
        (stats.writes, stats.lost_replies, stats.faults.delays),
        (1, 0, 1)
    );
}

#[test]
fn latency_is_for_every_call() {
    let latency = Duration::from_millis(20);
    let emulator = Emulator::builder().latency(latency).start().unwrap();
    for request in [read_request(), write_request(&json!({}))] {
        let start = Instant::now();
        assert_eq!(ask(&emulator, &request).status, 200);
        assert!(start.elapsed() >= latency);
    }
}

#[test]
fn a_delayed_write_is_not_done_for_a_caller_who_left() {
    let emulator = Emulator::start().unwrap();
    emulator.script(
        Call::SetIamPolicy,
        [Reply::delay(FOREVER), Reply::delay(FOREVER).applied()],
    );
    for (delays, writes) in [(1, 0), (2, 1)] {
        let mut stream = connect(&emulator);
        stream
            .write_all(write_request(&json!({"etag": "ACAB"})).as_bytes())
            .unwrap();
        wait_for(&emulator, |stats| {
            stats.faults.delays == delays && stats.writes == writes
        });
        // The emulator answers the hang-up by closing, which shows that it gave the call up.
        stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(stream.read(&mut [0; 16]).unwrap(), 0);
        assert_eq!(emulator.stats().writes, writes);
    }
}

#[test]
fn a_stall_sends_nothing_and_then_closes() {
    let emulator = Emulator::start().unwrap();
    let time = Duration::from_millis(30);
    emulator.script(
        Call::SetIamPolicy,
        [Reply::stall(time), Reply::stall(time).applied()],
    );
    for written in [0, 1] {
        let start = Instant::now();
        let (bytes, end) = exchange(&emulator, &write_request(&json!({"etag": "ACAB"})));
        assert_eq!((bytes.as_slice(), end.unwrap()), (&b""[..], 0));
        assert!(start.elapsed() >= time);
        assert_eq!(
            (emulator.stats().writes, emulator.stats().lost_replies),
            (written, written)
        );
    }
    assert_eq!(faults_only(&emulator.stats()), [0, 0, 2, 0, 0, 0]);
}

#[test]
fn a_stalled_body_stops_half_way() {
    let emulator = Emulator::start().unwrap();
    let time = Duration::from_millis(30);
    emulator.script(Call::SetIamPolicy, [Reply::stall_body(time)]);
    let start = Instant::now();
    let (bytes, end) = exchange(&emulator, &write_request(&json!({"etag": "ACAB"})));
    end.unwrap();
    assert!(start.elapsed() >= time);
    let answer = parse(&bytes);
    let promised: usize = answer.header("content-length").unwrap().parse().unwrap();
    assert_eq!((answer.status, answer.body.len()), (200, promised / 2));
    let stats = emulator.stats();
    assert_eq!(
        (stats.writes, stats.lost_replies, stats.faults.body_stalls),
        (1, 1, 1)
    );
}

#[test]
fn dropping_it_cuts_every_kind_of_open_connection() {
    let emulator = Emulator::builder()
        .latency(Duration::from_millis(1))
        .start()
        .unwrap();
    let addr = emulator.addr();
    emulator.script(
        Call::GetIamPolicy,
        [
            Reply::stall(FOREVER),
            Reply::stall_body(FOREVER),
            Reply::delay(FOREVER),
        ],
    );
    let mut open: Vec<_> = (0..3)
        .map(|_| {
            let mut stream = connect(&emulator);
            stream.write_all(read_request().as_bytes()).unwrap();
            stream
        })
        .collect();
    // One that says nothing, and one that stops in the middle of its request.
    open.push(connect(&emulator));
    let mut half = connect(&emulator);
    half.write_all(&write_request(&json!({})).as_bytes()[..60])
        .unwrap();
    open.push(half);
    wait_for(&emulator, |stats| {
        stats.faults.total() == 3 && stats.reads == 1
    });

    let start = Instant::now();
    drop(emulator);
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
    for mut stream in open {
        let mut bytes = Vec::new();
        if let Err(error) = stream.read_to_end(&mut bytes) {
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        }
    }
    assert_eq!(
        TcpStream::connect(addr).unwrap_err().kind(),
        ErrorKind::ConnectionRefused
    );
}

#[test]
fn a_rate_limit_refuses_with_its_hint() {
    let emulator = Emulator::builder()
        .rate_limit(1, 3)
        .throttle_with(Reply::status(429).retry_after("1").retry_info("1s"))
        .start()
        .unwrap();
    let answers: Vec<_> = (0..20).map(|_| ask(&emulator, &read_request())).collect();
    let refused: Vec<_> = answers
        .iter()
        .filter(|answer| answer.status == 429)
        .collect();
    assert!(answers[..3].iter().all(|answer| answer.status == 200));
    assert!(!refused.is_empty());
    for answer in &refused {
        assert_eq!(answer.error().1, "RESOURCE_EXHAUSTED");
        assert_eq!(answer.header("retry-after"), Some("1"));
        assert_eq!(answer.json()["error"]["details"][0]["retryDelay"], "1s");
    }
    let stats = emulator.stats();
    assert_eq!(stats.throttled, refused.len() as u64);
    assert_eq!((stats.calls, stats.reads), (20, 20 - stats.throttled));
    assert_eq!(stats.faults.total(), 0);

    emulator.script(Call::GetIamPolicy, [Reply::pass()]);
    assert_eq!(ask(&emulator, &read_request()).status, 200);
}

#[test]
fn a_seed_gives_the_same_faults_again() {
    let run = |seed| -> Vec<u16> {
        let faults = Faults::none().status(503, 0.3).applied_then(500, 0.2);
        let emulator = Emulator::builder()
            .seed(seed)
            .faults(faults)
            .start()
            .unwrap();
        (0..40)
            .map(|_| ask(&emulator, &read_request()).status)
            .collect()
    };
    let first = run(7);
    assert_eq!(first, run(7));
    assert_ne!(first, run(8));
    for status in [200, 500, 503] {
        assert!(first.contains(&status), "{first:?}");
    }
}

#[test]
fn faults_can_be_switched_on_and_off() {
    let emulator = Emulator::start().unwrap();
    assert_eq!(ask(&emulator, &read_request()).status, 200);
    emulator.set_faults(Faults::none().status(500, 1.0));
    assert_eq!(
        ask(&emulator, &read_request()).error(),
        (500, "INTERNAL".to_owned())
    );
    emulator.set_faults(Faults::none());
    assert_eq!(ask(&emulator, &read_request()).status, 200);
}

#[test]
fn malformed_requests_get_googles_errors_and_use_up_no_fault() {
    let emulator = Emulator::start().unwrap();
    emulator.script(Call::SetIamPolicy, [Reply::status(503)]);
    let set = format!("/v1/{SECRET}:setIamPolicy");
    let invalid = (400, "INVALID_ARGUMENT".to_owned());
    for body in [
        "",
        "{",
        "null",
        "[]",
        "{}",
        "\u{0}",
        r#"{"policy":7}"#,
        r#"{"policy":{"bindings":"all"}}"#,
        r#"{"policy":{"bindings":[{"role":7}]}}"#,
        r#"{"policy":{"etag":7}}"#,
        &"[".repeat(100_000),
        &format!("{{\"policy\":{{\"etag\":\"{}\"}}}}", "A".repeat(2 << 20)),
    ] {
        let mut stream = connect(&emulator);
        // The reply to a body that is too long may come before all of it is sent.
        let sent = stream.write_all(request("POST", &set, body).as_bytes());
        let mut bytes = Vec::new();
        let end = stream.read_to_end(&mut bytes);
        if body.len() < 1 << 20 {
            sent.unwrap();
            end.unwrap();
        }
        if !bytes.is_empty() {
            assert_eq!(parse(&bytes).error(), invalid);
        }
    }
    let missing = (404, "NOT_FOUND".to_owned());
    for (method, path) in [
        ("GET", "/"),
        ("POST", "/v1/a:testIamPermissions"),
        ("POST", "/v9/a:getIamPolicy"),
        ("GET", set.as_str()),
        ("DELETE", set.as_str()),
        ("PATCH", "/v1/%ff%00:nothing?a=b"),
        ("OPTIONS", "*"),
        ("BREW", "/coffee"),
    ] {
        assert_eq!(
            ask(&emulator, &request(method, path, "{}")).error(),
            missing,
            "{method} {path}"
        );
    }
    let stats = emulator.stats();
    assert_eq!((stats.calls, stats.rejected), (20, 20));
    assert_eq!(ask(&emulator, &write_request(&json!({}))).error().0, 503);
}

#[test]
fn bytes_that_are_no_http_do_not_kill_it() {
    let emulator = Emulator::start().unwrap();
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(1 << 20));
    for rubbish in [
        &b"\0\xff\xfe\r\n\r\n"[..],
        b"GET",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/a:setIamPolicy HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        b"POST /v1/a:setIamPolicy HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        long.as_bytes(),
    ] {
        let mut stream = connect(&emulator);
        let _ = stream.write_all(rubbish);
        let _ = stream.shutdown(Shutdown::Write);
        // However it ends, it ends: a timeout would be an error of another kind.
        if let Err(error) = stream.read_to_end(&mut Vec::new()) {
            assert_ne!(error.kind(), ErrorKind::WouldBlock, "{rubbish:?}");
        }
    }
    assert_eq!(ask(&emulator, &read_request()).status, 200);
}

#[test]
fn one_connection_carries_many_calls() {
    let emulator = Emulator::start().unwrap();
    let mut stream = connect(&emulator);
    let keep = read_request().replace("connection: close\r\n", "");
    stream
        .write_all(format!("{keep}{keep}{}", read_request()).as_bytes())
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(text.matches("HTTP/1.1 200 OK").count(), 3);
    assert_eq!(emulator.stats().reads, 3);
}

fn client() -> reqwest::Client {
    reqwest::Client::builder()
        .retry(reqwest::retry::never())
        .build()
        .unwrap()
}

/// Sends a call and gives its status and body, or nothing if the connection failed.
async fn send(client: &reqwest::Client, emulator: &Emulator, body: &Value) -> Option<(u16, Value)> {
    let verb = if body.get("policy").is_some() {
        "setIamPolicy"
    } else {
        "getIamPolicy"
    };
    let url = format!("{}/v1/{SECRET}:{verb}", emulator.url());
    let response = client.post(url).body(body.to_string()).send().await.ok()?;
    let status = response.status().as_u16();
    let text = response.text().await.ok()?;
    Some((status, serde_json::from_str(&text).unwrap_or_default()))
}

/// Adds a member the way a careful caller does, by hand. `met` is called once, after the first
/// read.
async fn add_member(emulator: &Emulator, member: &str, met: Option<&Barrier>) {
    let client = client();
    let mut met = met;
    loop {
        let Some((200, mut policy)) = send(&client, emulator, &json!({})).await else {
            continue;
        };
        if let Some(barrier) = met.take() {
            barrier.wait().await;
        }
        if policy.get("bindings").is_none() {
            policy["bindings"] = json!([{"role": "roles/viewer", "members": []}]);
        }
        let members = policy["bindings"][0]["members"].as_array_mut().unwrap();
        if members.iter().any(|there| there == member) {
            return;
        }
        members.push(json!(member));
        if let Some((200, _)) = send(&client, emulator, &json!({"policy": policy})).await {
            return;
        }
    }
}

async fn sixteen_writers(emulator: Emulator, met: Option<Arc<Barrier>>) -> Emulator {
    let emulator = Arc::new(emulator);
    let writers: Vec<_> = (0..16)
        .map(|writer| {
            let (emulator, met) = (Arc::clone(&emulator), met.clone());
            tokio::spawn(async move {
                add_member(&emulator, &format!("user:{writer}"), met.as_deref()).await;
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let policy = emulator.policy(SECRET);
    let mut members: Vec<_> = policy["bindings"][0]["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|member| member.as_str().unwrap().to_owned())
        .collect();
    members.sort();
    let mut expected: Vec<_> = (0..16).map(|writer| format!("user:{writer}")).collect();
    expected.sort();
    assert_eq!(members, expected);
    Arc::into_inner(emulator).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_writers_lose_nothing() {
    let emulator = Emulator::start().unwrap();
    let emulator = sixteen_writers(emulator, Some(Arc::new(Barrier::new(16)))).await;
    let stats = emulator.stats();
    assert_eq!((stats.writes, stats.blind_writes), (16, 0));
    // All had read the same policy, so all but one first writes were stale.
    assert!(stats.conflicts >= 15, "{stats:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_writers_lose_nothing_on_a_bad_day() {
    let faults = Faults::none()
        .status(503, 0.10)
        .applied_then(503, 0.10)
        .with(Reply::reset(), 0.05)
        .with(Reply::reset().applied(), 0.05)
        .with(Reply::cut(), 0.05)
        .with(Reply::delay(Duration::from_millis(2)), 0.05)
        .with(Reply::stall(Duration::from_millis(2)), 0.05)
        .with(Reply::stall_body(Duration::from_millis(2)), 0.05);
    let emulator = Emulator::builder().seed(7).faults(faults).start().unwrap();
    let emulator = sixteen_writers(emulator, None).await;
    let stats = emulator.stats();
    assert_eq!((stats.writes, stats.blind_writes), (16, 0));
    assert!(stats.faults.total() > 0, "{stats:?}");
}

#[tokio::test(start_paused = true)]
async fn a_paused_clock_does_not_pause_it() {
    let latency = Duration::from_millis(10);
    let emulator = Emulator::builder().latency(latency).start().unwrap();
    let start = Instant::now();
    let read = send(&client(), &emulator, &json!({})).await;
    assert_eq!(read, Some((200, json!({"etag": "ACAB"}))));
    assert!(start.elapsed() >= latency);
}

#[tokio::test]
async fn it_may_be_dropped_inside_a_runtime() {
    let emulator = Emulator::start().unwrap();
    emulator.script(Call::GetIamPolicy, [Reply::stall(FOREVER)]);
    let addr = emulator.url().to_owned();
    let call = tokio::spawn(async move {
        client()
            .get(format!("{addr}/v1/{SECRET}:getIamPolicy"))
            .send()
            .await
    });
    while emulator.stats().faults.stalls == 0 {
        tokio::task::yield_now().await;
    }
    drop(emulator);
    assert!(call.await.unwrap().is_err());
}

#[test]
fn emulators_do_not_share_anything() {
    let (one, other) = (Emulator::start().unwrap(), Emulator::start().unwrap());
    assert_ne!(one.addr(), other.addr());
    assert_eq!(ask(&one, &write_request(&json!({}))).status, 200);
    assert_eq!(other.stats(), Stats::default());
    assert_eq!(other.policy(SECRET), json!({"etag": "ACAB"}));
}
