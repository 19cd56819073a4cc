//! ureq, a blocking client.

use crate::{
    facts::{
        MAYBE_SENT, NOT_SENT, NOTHING, POLICY,
        Repeated::{Always, IfIdempotent, Never},
        assert_says,
    },
    forms::{Form, fails_on_the_way, failure, says},
    server::{AMPLE, End, Server, nobody, reply},
};
use backoff_core::{Fault, FaultKind};
use std::{fmt::Display, sync::Mutex, time::Duration};
use ureq::{Agent, Error, Timeout};
use ureq_3 as ureq;

fn agent() -> Agent {
    let config = Agent::config_builder().timeout_global(Some(AMPLE));
    config.build().new_agent()
}

fn get(host: impl Display, agent: &Agent) -> Result<String, Error> {
    read(&format!("http://{host}"), agent)
}

fn read(origin: &str, agent: &Agent) -> Result<String, Error> {
    let mut response = agent.get(format!("{origin}/")).call()?;
    response.body_mut().read_to_string()
}

struct Ureq;

impl Form for Ureq {
    type Error = Error;

    const HAS_TLS: bool = false;

    async fn read(origin: &str, connect: Duration, whole: Duration) -> Result<(), Error> {
        let config = Agent::config_builder().timeout_connect(Some(connect));
        let config = config.timeout_global(Some(whole)).build();
        read(origin, &config.new_agent()).map(drop)
    }

    fn fits(error: &Error, row: &str) -> bool {
        match row {
            "nobody listens" => matches!(error, Error::Io(_)),
            "nobody accepts" => matches!(error, Error::Timeout(Timeout::Connect)),
            "no reply" | "no second half" => matches!(error, Error::Timeout(_)),
            "no HTTP" => matches!(error, Error::Protocol(_)),
            _ => true,
        }
    }
}

#[tokio::test]
async fn on_the_way() {
    fails_on_the_way::<Ureq>().await;
    assert_says(&Error::HostNotFound, NOT_SENT, Always);
    // The time of the whole call does not say how far it came.
    for whole in [Timeout::Global, Timeout::PerCall] {
        assert_says(&Error::Timeout(whole), MAYBE_SENT, IfIdempotent);
    }
    let inside = std::io::Error::other(Error::Other(Box::new(Error::HostNotFound)));
    assert_says(&inside, NOT_SENT, Always);
}

#[tokio::test]
async fn statuses() {
    let rows = [
        // The header is lost.
        (503, "retry-after: 7\r\n", IfIdempotent),
        (429, "", Always),
        (409, "", Never),
    ];
    let said = |(code, headers, repeated)| (code, reply(code, headers, ""), None, repeated);
    says::<Ureq>(rows.map(said)).await;
    let conflict = failure::<Ureq>(reply(409, "", ""), End::Close).await;
    let also = POLICY.also_on(backoff_core::codes![409]);
    assert_ne!(also.judge(&conflict), false.into());
}

#[test]
fn a_response_that_is_kept_says_its_hint() {
    let throttled = reply(429, "retry-after: 7\r\n", "");
    let server = Server::in_turn(vec![throttled, reply(200, "", "done")]);
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
        (403, Never),
        (407, Never),
        (408, Always),
        (429, Always),
        (502, Always),
    ] {
        let proxy = Server::of(reply(code, "", ""), End::Close);
        let proxy = ureq::Proxy::new(&format!("http://{proxy}")).expect("a proxy");
        let config = Agent::config_builder().proxy(Some(proxy));
        let config = config.timeout_global(Some(AMPLE)).build();
        let error = get(nobody(), &config.new_agent()).expect_err("no tunnel");
        assert!(matches!(error, Error::ConnectProxyFailed(_)), "{error:?}");
        assert_says(&error, NOT_SENT, repeated);
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
    assert_says(&error, NOT_SENT, Always);
    assert_eq!(server.calls(), 1);
    assert_eq!(pay(0).expect("a response").status(), 303);
    assert_eq!(server.calls(), 2);
}

#[test]
fn own_doing() {
    let server = Server::of(reply(302, "location: /\r\n", ""), End::Close);
    let redirects = get(server, &agent()).expect_err("too many");
    let no_address = agent().get("no address").call().expect_err("no address");
    let no_host = agent().get("http:///a").call().expect_err("no host");
    let put = agent().put(format!("http://{}/", Server::of("", End::Stall)));
    let too_long = put.header("content-length", "1").send("two");
    for error in [
        redirects,
        no_address,
        no_host,
        too_long.expect_err("too long"),
    ] {
        assert_eq!(error.kind(), Some(FaultKind::Permanent), "{error:?}");
        assert_says(&error, NOTHING, Never);
    }
}
