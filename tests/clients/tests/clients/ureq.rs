//! ureq, a blocking client.

use crate::{
    facts::{MAYBE_SENT, NOT_SENT, NOTHING, POLICY, Repeated, assert_row},
    server::{AMPLE, End, PATIENCE, Server, full, half, html_502, nobody, reply},
    status,
};
use backoff_core::{Delivery, Fault, FaultKind, TimedOut, known_fault};
use std::{fmt::Display, sync::Mutex, time::Duration};
use ureq::{Agent, Error, Timeout, config::Config};
use ureq_3 as ureq;

/// A body of gzip, of which the first half is sent.
const GZIP: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48";

fn agent(limit: Duration) -> Agent {
    let config = Agent::config_builder().timeout_global(Some(limit));
    config.build().new_agent()
}

fn get(host: impl Display, agent: &Agent) -> Result<String, Error> {
    let mut response = agent.get(format!("http://{host}/")).call()?;
    response.body_mut().read_to_string()
}

/// The error of ureq when the server does this.
fn failure(bytes: impl Into<Vec<u8>>, end: End) -> Error {
    get(Server::of(bytes, end), &agent(end.patience())).expect_err("the failure")
}

#[test]
fn refused() {
    let error = get(nobody(), &agent(AMPLE)).expect_err("refused");
    assert!(matches!(error, Error::Io(_)), "{error:?}");
    assert_row(&error, NOT_SENT, Repeated::Always);
}

#[test]
fn dns() {
    // No resolver may know a name below it: RFC 6761, section 6.4.
    let config = Config::builder().timeout_global(Some(AMPLE));
    let error = get("no-such-host.invalid", &config.build().new_agent()).expect_err("no name");
    assert_row(&error, NOT_SENT, Repeated::Always);
    assert_row(&Error::HostNotFound, NOT_SENT, Repeated::Always);
}

#[test]
fn connect_timeout() {
    let (server, _socket, _queue) = full();
    let config = Agent::config_builder().timeout_connect(Some(PATIENCE));
    let error = get(server, &config.build().new_agent()).expect_err("nobody answers");
    assert!(
        matches!(error, Error::Timeout(Timeout::Connect)),
        "{error:?}"
    );
    assert_row(&error, NOT_SENT, Repeated::Always);
    // The time of the whole call does not say how far it came.
    for whole in [Timeout::Global, Timeout::PerCall] {
        assert_row(&Error::Timeout(whole), MAYBE_SENT, Repeated::IfIdempotent);
    }
}

#[test]
fn reset() {
    let error = failure("", End::Reset);
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[test]
fn closed_before_the_reply() {
    let error = failure("", End::Close);
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[test]
fn closed_in_the_middle_of_the_head() {
    let error = failure("HTTP/1.1 200 OK\r\ncontent-le", End::Close);
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[test]
fn truncated_body() {
    for (headers, body) in [("", &b"half"[..]), ("content-encoding: gzip\r\n", GZIP)] {
        for end in [End::Close, End::Reset] {
            let error = failure(half(headers, body), end);
            assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
        }
    }
}

#[test]
fn truncated_chunk() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\n{\"na";
    let error = failure(chunked, End::Close);
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
    let no_length = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nlong\r\n";
    let error = failure(no_length, End::Close);
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[test]
fn stall() {
    for bytes in [Vec::new(), half("", b"half")] {
        let error = failure(bytes, End::Stall);
        assert!(matches!(error, Error::Timeout(_)), "{error:?}");
        assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
    }
}

#[test]
fn no_http() {
    let error = failure("SSH-2.0-OpenSSH_9.2\r\n", End::Close);
    assert!(matches!(error, Error::Protocol(_)), "{error:?}");
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[test]
fn statuses() {
    let unavailable = failure(reply(503, "retry-after: 7\r\n", ""), End::Close);
    // The header is lost.
    assert_row(&unavailable, status(503), Repeated::IfIdempotent);
    let throttled = failure(reply(429, "", ""), End::Close);
    assert_row(&throttled, status(429), Repeated::Always);
    let conflict = failure(reply(409, "", ""), End::Close);
    assert_row(&conflict, status(409), Repeated::Never);
    assert_ne!(
        POLICY.also_on(backoff_core::codes![409]).judge(&conflict),
        false.into()
    );
    let page = failure(html_502(), End::Close);
    assert_row(&page, status(502), Repeated::IfIdempotent);
}

#[test]
fn a_response_that_is_kept_says_its_hint() {
    let first = Mutex::new([reply(429, "retry-after: 7\r\n", "")].to_vec());
    let server = Server::answering(move |_| {
        let next = first.lock().expect("no panic").pop();
        next.unwrap_or_else(|| reply(200, "", "done"))
    });
    let config = Agent::config_builder().http_status_as_error(false);
    let agent = config.build().new_agent();
    let hints = Mutex::new(Vec::new());
    let time = backoff_core::testing::VirtualTime::new();
    let response = POLICY
        .blocking(|| agent.get(format!("http://{server}/")).call())
        .responses()
        .runtime(time.clone())
        .notify(|event| {
            // The success after it has none.
            let Some(fault) = event.fault() else { return };
            hints
                .lock()
                .expect("no panic")
                .push((fault.status(), fault.retry_after()));
        })
        .call();
    let body = response.expect("a response").body_mut().read_to_string();
    assert_eq!(body.expect("its body"), "done");
    let seven = Duration::from_secs(7);
    assert_eq!(*hints.lock().expect("no panic"), [(Some(429), Some(seven))]);
    assert!(time.elapsed() >= seven, "{:?}", time.elapsed());
    assert_eq!(server.calls(), 2);
}

#[test]
fn a_proxy_without_a_tunnel() {
    for (code, repeated) in [
        (403, Repeated::Never),
        (407, Repeated::Never),
        (408, Repeated::Always),
        (429, Repeated::Always),
        (502, Repeated::Always),
    ] {
        let proxy = Server::of(reply(code, "", ""), End::Close);
        let proxy = ureq::Proxy::new(&format!("http://{proxy}")).expect("a proxy");
        let config = Agent::config_builder().proxy(Some(proxy));
        let config = config.timeout_global(Some(AMPLE)).build();
        let error = get(nobody(), &config.new_agent()).expect_err("no tunnel");
        assert!(matches!(error, Error::ConnectProxyFailed(_)), "{error:?}");
        assert_row(&error, NOT_SENT, repeated);
    }
}

/// As the page says: "not sent" may be said of the second request.
#[test]
fn a_redirect_after_a_post_that_was_applied() {
    let see = format!("location: http://{}/\r\n", nobody());
    let server = Server::of(reply(303, &see, ""), End::Close);
    let pay = |redirects| {
        let config = Agent::config_builder().timeout_global(Some(AMPLE));
        let agent = config.max_redirects(redirects).build().new_agent();
        agent.post(format!("http://{server}/")).send("one")
    };
    let error = pay(10).expect_err("nobody is there");
    assert_row(&error, NOT_SENT, Repeated::Always);
    assert_eq!(server.calls(), 1);
    assert_eq!(pay(0).expect("a response").status(), 303);
    assert_eq!(server.calls(), 2);
}

#[test]
fn own_doing() {
    let redirects = failure(reply(302, "location: /\r\n", ""), End::Close);
    let get = agent(AMPLE).get("no address").call();
    let no_address = get.expect_err("no address");
    let put = agent(AMPLE).put(format!("http://{}/", Server::of("", End::Stall)));
    let too_long = put.header("content-length", "1").send("two");
    for error in [redirects, no_address, too_long.expect_err("too long")] {
        assert_eq!(error.kind(), Some(FaultKind::Permanent), "{error:?}");
        assert_row(&error, NOTHING, Repeated::Never);
    }
}

#[test]
fn inside_other_errors() {
    let refused = || get(nobody(), &agent(AMPLE)).expect_err("refused");
    let inside = std::io::Error::other(Error::Other(Box::new(refused())));
    assert_row(&inside, NOT_SENT, Repeated::Always);
    let hidden: Box<dyn std::error::Error> = Box::new(refused());
    let found = known_fault(&*hidden).and_then(Fault::delivery);
    assert_eq!(found, Some(Delivery::NotSent));
    let cut = Error::from(TimedOut::new(PATIENCE));
    assert_row(&cut, MAYBE_SENT, Repeated::IfIdempotent);
}
