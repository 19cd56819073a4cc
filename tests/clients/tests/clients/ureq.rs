//! ureq, a blocking client.

use crate::assert_cut;
use backoff_core::{codes, testing::VirtualTime};
use std::{io, sync::Mutex, time::Duration};
use support::{
    AMPLE, Column, MAYBE_SENT, NOT_SENT, NOTHING, POLICY,
    Repeated::{Always, IfIdempotent, Never},
    STALL, Server, Target, assert_row, fails_on_the_way, failure, nobody, reply, says, serve,
};
use ureq::{Agent, Error, Timeout};
use ureq_3 as ureq;

fn agent() -> Agent {
    let config = Agent::config_builder().timeout_global(Some(AMPLE));
    config.build().new_agent()
}

struct Ureq;

impl Column for Ureq {
    type Error = Error;

    async fn read(target: Target) -> Result<(), Error> {
        let config = Agent::config_builder().timeout_connect(Some(target.connect));
        let config = config.timeout_global(Some(target.whole)).build();
        let mut response = config.new_agent().get(&target.origin).call()?;
        response.body_mut().read_to_string().map(drop)
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
    assert_cut::<Error>();
    // The time of the whole call does not say how far it came.
    for whole in [Timeout::Global, Timeout::PerCall] {
        assert_row("late", Error::Timeout(whole), MAYBE_SENT, IfIdempotent);
    }
    assert_row("no name", Error::HostNotFound, NOT_SENT, Always);
    let inside = io::Error::other(Error::Other(Box::new(Error::HostNotFound)));
    assert_row("inside", inside, NOT_SENT, Always);
}

#[tokio::test]
async fn statuses() {
    let rows = [
        // The header is lost.
        (503, "retry-after: 7\r\n", IfIdempotent),
        (502, "content-type: text/html\r\n", IfIdempotent),
        (429, "", Always),
        (409, "", Never),
    ];
    let said = |(code, headers, repeated)| (code, reply(code, headers, ""), None, repeated);
    says::<Ureq>(rows.map(said)).await;
    let conflict = failure::<Ureq>(reply(409, "", "")).await;
    assert_ne!(POLICY.also_on(codes![409]).judge(&conflict), false.into());
}

#[test]
fn a_response_that_is_kept_says_its_hint() {
    let throttled = reply(429, "retry-after: 7\r\n", "");
    let server = Server::start([throttled, reply(200, "", "done")]);
    let config = Agent::config_builder().http_status_as_error(false);
    let agent = config.build().new_agent();
    let (hints, time) = (Mutex::new(Vec::new()), VirtualTime::new());
    let call = POLICY.blocking(|| agent.get(server.url("")).call());
    let call = call.responses().runtime(time.clone()).notify(|event| {
        // The success after it has none.
        let Some(fault) = event.fault() else { return };
        let mut hints = hints.lock().expect("no panic");
        hints.push((fault.status(), fault.retry_after()));
    });
    let mut response = call.call().expect("a response");
    let body = response.body_mut().read_to_string();
    assert_eq!(body.expect("its body"), "done");
    let seven = Duration::from_secs(7);
    assert_eq!(*hints.lock().expect("no panic"), [(Some(429), Some(seven))]);
    assert!(time.elapsed() >= seven, "{:?}", time.elapsed());
    assert_eq!(server.requests(), 2);
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
        let proxy = format!("http://{}", serve(reply(code, "", "")));
        let proxy = ureq::Proxy::new(&proxy).expect("a proxy");
        let config = Agent::config_builder().proxy(Some(proxy));
        let config = config.timeout_global(Some(AMPLE)).build();
        let got = config.new_agent().get(format!("http://{}", nobody()));
        let error = got.call().expect_err("no tunnel");
        assert!(matches!(error, Error::ConnectProxyFailed(_)), "{error:?}");
        assert_row(&format!("{code}"), error, NOT_SENT, repeated);
    }
}

/// As the page says: "not sent" may be said of the second request.
#[test]
fn a_redirect_after_a_post_that_was_applied() {
    let see = format!("location: http://{}/\r\n", nobody());
    let server = Server::always(reply(303, &see, ""));
    let pay = |redirects| {
        let config = Agent::config_builder().timeout_global(Some(AMPLE));
        let agent = config.max_redirects(redirects).build().new_agent();
        agent.post(server.url("")).send("one")
    };
    let error = pay(10).expect_err("nobody is there");
    assert_row("the second request", error, NOT_SENT, Always);
    assert_eq!(server.requests(), 1);
    assert_eq!(pay(0).expect("a response").status(), 303);
    assert_eq!(server.requests(), 2);
}

#[tokio::test]
async fn own_doing() {
    let circle = serve(reply(302, "location: /\r\n", ""));
    let redirects = Ureq::read(Target::at(circle)).await;
    let put = agent().put(format!("http://{}/", serve(STALL)));
    let put = put.header("content-length", "1").send("two");
    for (row, error) in [
        ("redirects", redirects.expect_err("a circle")),
        ("no address", agent().get("no address").call().unwrap_err()),
        ("no host", agent().get("http:///a").call().unwrap_err()),
        ("too long", put.expect_err("too long")),
    ] {
        assert_row(row, error, NOTHING, Never);
    }
}
