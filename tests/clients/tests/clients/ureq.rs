//! ureq, a blocking client.

use crate::assert_cut;
use std::io;
use support::{
    AMPLE, Column, NOT_SENT, NOTHING,
    Repeated::{Always, Never},
    STALL, Server, Target, assert_row, assert_says, fails_on_the_way, nobody, reply, serve, status,
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
    let inside = io::Error::other(Error::Other(Box::new(Error::HostNotFound)));
    assert_row("inside", inside, NOT_SENT, Always);
}

#[test]
fn a_response_that_is_kept_says_its_hint() {
    let throttled = serve(reply(429, "retry-after: 7\r\n", ""));
    let config = Agent::config_builder().http_status_as_error(false);
    let got = config
        .build()
        .new_agent()
        .get(format!("http://{throttled}"));
    let response = got.call().expect("a response");
    assert_says("kept", &response, status(429).after(7_000), Always);
}

#[test]
fn a_proxy_without_a_tunnel() {
    let refusals = [403, 407].map(|code| (code, Never));
    let others = [408, 429, 502].map(|code| (code, Always));
    for (code, repeated) in refusals.into_iter().chain(others) {
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
