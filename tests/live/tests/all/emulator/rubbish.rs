//! Requests that make no sense.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;

use emulator::{Call, Emulator, Reply};
use serde_json::json;

use crate::emulator::client::*;

#[test]
fn malformed_requests_get_googles_errors_and_use_up_no_fault() {
    let emulator = Emulator::start().unwrap();
    for call in [Call::SetIamPolicy, Call::CreateInstance] {
        emulator.script(call, [Reply::status(503)]);
    }
    let set = format!("/v1/{PROJECT}:setIamPolicy");
    let instances = "/v1/projects/p/locations/l/instances";
    let create = format!("{instances}?instanceId=cache");
    let cache = format!("{instances}/cache");
    let invalid = (400, "INVALID_ARGUMENT".to_owned());
    let deep = "[".repeat(100_000);
    for (path, body) in [
        (&*set, "[]"),
        (&set, "\u{0}"),
        (&set, r#"{"policy":{"bindings":"all"}}"#),
        (&set, &deep),
        (&create, ""),
        (&create, "[]"),
        (&create, "{"),
        (instances, r#"{"shardCount": 3}"#),
    ] {
        let refused = ask(&emulator, &request("POST", path, body));
        assert_eq!(refused.error(), invalid, "{path}: {body:.40}");
    }
    let missing = (404, "NOT_FOUND".to_owned());
    for (method, path) in [
        ("GET", "/"),
        ("POST", "/v1/a:testIamPermission"),
        ("GET", "/v1/a:testIamPermissions"),
        ("POST", "/v9/a:getIamPolicy"),
        ("GET", set.as_str()),
        ("DELETE", set.as_str()),
        ("PATCH", cache.as_str()),
        ("PATCH", "/v1/%ff%00:nothing?a=b"),
        ("OPTIONS", "*"),
        ("BREW", "/coffee"),
    ] {
        let refused = ask(&emulator, &request(method, path, "{}"));
        assert_eq!(refused.error(), missing, "{method} {path}");
    }
    let stats = emulator.stats();
    assert_eq!((stats.calls, stats.faults, stats.writes), (18, 0, 0));
    let created = request("POST", &create, r#"{"shardCount": 3}"#);
    for good in [write_request(&json!({})), created] {
        assert_eq!(ask(&emulator, &good).error().0, 503);
    }
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
